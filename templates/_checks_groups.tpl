{{- /*
Node groups: their nodes, their drivers, and what one setting says against another. The gates of a driver are looked at once for all
groups that say the same of it: a cluster may have hundreds. Takes what the checks in _checks.tpl take.
*/ -}}
{{- define "gpu-dra.checkGroups" -}}
{{- $in := . -}}
{{- $ctx := .ctx -}}
{{- $found := .found -}}
{{- $known := .known -}}
{{- $checked := dict -}}
{{- $labels := dict -}}
{{- $objects := dict -}}
{{- range $i, $group := $ctx.settings.nodeGroups -}}
{{- $path := printf "nodeGroups[%d]" $i -}}
{{- if not (or $group.nodeSelector $ctx.distribution.nodeGroupLabel) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.nodeSelector: found none, expected labels of the group's nodes: the distribution %s does not label nodes with the name of their group" $path $ctx.distribution.name)) -}}
{{- end -}}
{{- range $key, $_ := $group.nodeSelector -}}
{{- if not (hasKey $labels $key) -}}
{{- $_ := set $labels $key (include "gpu-dra.isLabelKey" $key) -}}
{{- end -}}
{{- if not (get $labels $key) -}}
{{- include "gpu-dra.labelFault" (list $found (printf "%s.nodeSelector" $path) $key) -}}
{{- end -}}
{{- end -}}
{{- $partitioning := $group.partitioning | default "None" -}}
{{- $passthrough := $group.passthrough | default false -}}
{{- $forMachines := false -}}
{{- range $j, $name := $group.drivers -}}
{{- if not (hasKey $known $name) -}}
{{- include "gpu-dra.checkProfile" (dict "in" $in "name" $name "path" (printf "%s.drivers[%d]" $path $j)) -}}
{{- end -}}
{{- $profile := get $ctx.profiles $name | default dict -}}
{{- if $passthrough -}}
{{- range concat ($profile.classes | default list) ($profile.gates | default list) -}}
{{- if or (eq (.choice | default "") "Passthrough") .passthrough -}}
{{- $forMachines = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $own := pick (get ($group.driverOverrides | default dict) $name | default dict) "featureGates" "image" -}}
{{- if and $profile.name (or $profile.gates $own.featureGates) (not (has $name $ctx.facts.refusedDrivers)) -}}
{{- $key := printf "%s %s %t" $name $partitioning $passthrough -}}
{{- if $own -}}
{{- $key = printf "%s %s" $key (toJson $own) -}}
{{- end -}}
{{- if not (hasKey $checked $key) -}}
{{- $_ := set $checked $key true -}}
{{- include "gpu-dra.checkGates" (dict "in" $in "path" $path "group" $group "profile" $profile "own" $own) -}}
{{- end -}}
{{- end -}}
{{- if and $group.kubeletRootDir $profile.plugin -}}
{{- $fixed := $profile.plugin.kubeletRoot -}}
{{- if and $fixed (ne (clean $group.kubeletRootDir) (clean $fixed)) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.kubeletRootDir: found %q, expected %q: the plugin of the driver %s works with no other; move the kubelets, or take the driver off %s.drivers" $path $group.kubeletRootDir $fixed $name $path)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "gpu-dra.checkObjects" (dict "in" $in "index" $i "group" $group "objects" $objects) -}}
{{- range $name, $config := $group.driverOverrides -}}
{{- include "gpu-dra.checkTaken" (dict "in" $in "driver" $name "config" $config "path" (printf "%s.driverOverrides.%s" $path $name)) -}}
{{- if not (has $name $group.drivers) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.driverOverrides.%s: the group does not run this driver; add it to %s.drivers or remove the override" $path $name $path)) -}}
{{- end -}}
{{- end -}}
{{- if and $passthrough (not $forMachines) -}}
{{- include "gpu-dra.checkPassthrough" (dict "in" $in "path" $path "group" $group) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
DaemonSets of two pairs that would have one name: the driver `a` on `b-c`, and `a-b` on `c`. Gathers the pairs in objects, by that
name. Takes a dict: in, index, group, objects.
*/ -}}
{{- define "gpu-dra.checkObjects" -}}
{{- $in := . -}}
{{- $group := .group.name -}}
{{- range $name := .group.drivers -}}
{{- $profile := get $in.in.ctx.profiles $name | default dict -}}
{{- range $prefix, $what := dict "driver" "plugin" "exporter" "exporter" -}}
{{- if get $profile $what -}}
{{- $object := printf "%s-%s-%s" $prefix $name $group -}}
{{- $other := get $in.objects $object -}}
{{- if not $other -}}
{{- $_ := set $in.objects $object (dict "index" $in.index "group" $group "driver" $name) -}}
{{- else if ne $other.group $group -}}
{{- include "gpu-dra.fault" (list $in.in.found (printf "nodeGroups[%d].name: found %q, with which the DaemonSet of %s is called %s, as that of %s on nodeGroups[%d]; rename the group" $in.index $group $name $object $other.driver (int $other.index))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
A group for virtual machines none of whose drivers has a class or a gate for them. A driver without a profile is another fault, or a
condition. Takes a dict: in, path, group.
*/ -}}
{{- define "gpu-dra.checkPassthrough" -}}
{{- $ctx := .in.ctx -}}
{{- $judged := true -}}
{{- range .group.drivers -}}
{{- if or (not (hasKey $ctx.profiles .)) (has . $ctx.facts.refusedDrivers) -}}
{{- $judged = false -}}
{{- end -}}
{{- end -}}
{{- if $judged -}}
{{- include "gpu-dra.fault" (list .in.found (printf "%s.passthrough: found true, expected a driver with a class for virtual machines (choice Passthrough) or a gate for it, which %s has not; set it to false, or add a driver that has one" .path (join ", " .group.drivers))) -}}
{{- end -}}
{{- end -}}
