{{- /*
What is structurally wrong with the settings and no schema can say to Helm. What depends on the cluster is never refused here: it is
a condition. Everything that is wrong is said at once, each fault with its settings path; settings.Problems says the same in Go
where both know of it.

The checks below take a dict: ctx, found (the dict that gathers the faults), known (every profile's name that the settings may say).
*/ -}}
{{- define "gpu-dra.check" -}}
{{- $found := dict "list" list -}}
{{- $known := dict -}}
{{- range $name, $_ := .chartProfiles -}}
{{- $_ := set $known $name true -}}
{{- end -}}
{{- /* One that hooks refused is a condition: what names it is no fault of its own. */ -}}
{{- range .settings.customDrivers -}}
{{- $_ := set $known .name true -}}
{{- end -}}
{{- $in := dict "ctx" . "found" $found "known" $known -}}
{{- include "gpu-dra.checkNames" (dict "found" $found "list" .settings.nodeGroups "path" "nodeGroups" "do" "merge the two") -}}
{{- include "gpu-dra.checkNames" (dict "found" $found "list" .settings.customDrivers "path" "customDrivers" "do" "keep one") -}}
{{- include "gpu-dra.checkNames" (dict "found" $found "list" .settings.claimTemplates "path" "claimTemplates" "do" "rename one") -}}
{{- include "gpu-dra.checkNames" (dict "found" $found "list" .settings.deviceClasses.extra "path" "deviceClasses.extra" "do" "rename one") -}}
{{- if not .underHooks -}}
{{- /* Where hooks run they leave a faulty profile out, and the controller says so. */ -}}
{{- include "gpu-dra.checkDriverNames" $in -}}
{{- include "gpu-dra.checkCustomDrivers" $in -}}
{{- end -}}
{{- include "gpu-dra.checkGroups" $in -}}
{{- include "gpu-dra.checkDrivers" $in -}}
{{- include "gpu-dra.checkExporterImages" $in -}}
{{- include "gpu-dra.checkSidecarMetrics" $in -}}
{{- include "gpu-dra.checkClasses" $in -}}
{{- include "gpu-dra.checkSettingsResources" $in -}}
{{- range $key, $_ := .settings.monitoring.labels -}}
{{- if not (include "gpu-dra.isLabelKey" $key) -}}
{{- include "gpu-dra.labelFault" (list $found "monitoring.labels" $key) -}}
{{- end -}}
{{- end -}}
{{- range $i, $template := .settings.claimTemplates -}}
{{- include "gpu-dra.checkProfile" (dict "in" $in "name" $template.driver "path" (printf "claimTemplates[%d].driver" $i)) -}}
{{- end -}}
{{- $faults := $found.list | uniq -}}
{{- if $faults -}}
{{- $more := "" -}}
{{- if gt (len $faults) 20 -}}
{{- $more = printf "\n- and %d more" (sub (len $faults) 20) -}}
{{- $faults = slice $faults 0 20 -}}
{{- end -}}
{{- fail (printf "the settings are refused:\n- %s%s" (join "\n- " $faults) $more) -}}
{{- end -}}
{{- end -}}

{{- /* Keeps a fault. Takes (list found text). */ -}}
{{- define "gpu-dra.fault" -}}
{{- $found := index . 0 -}}
{{- $_ := set $found "list" (append $found.list (index . 1)) -}}
{{- end -}}

{{- /* Whether text is the key of a label or the name of a resource, as IsQualifiedName of Kubernetes: "true", or nothing. */ -}}
{{- define "gpu-dra.isLabelKey" -}}
{{- if and (regexMatch `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$` .) (regexMatch `^([^/]{1,253}/)?[^/]+$` .) -}}true{{- end -}}
{{- end -}}

{{- /* A key that no label has. Takes (list found path key). */ -}}
{{- define "gpu-dra.labelFault" -}}
{{- include "gpu-dra.fault" (list (index . 0) (printf "%s.%s: no label has such a key; expected a name of at most 63 letters, digits, dashes, dots and underscores, with or without domain/ before it" (index . 1) (index . 2))) -}}
{{- end -}}

{{- define "gpu-dra.checkNames" -}}
{{- $in := . -}}
{{- $seen := dict -}}
{{- range $i, $item := .list -}}
{{- if hasKey $seen $item.name -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s[%d].name: found %q, which %s[%d] has already; %s" $in.path $i $item.name $in.path (get $seen $item.name | int) $in.do)) -}}
{{- else -}}
{{- $_ := set $seen $item.name $i -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A profile that nobody knows. Takes a dict: in, name, path. */ -}}
{{- define "gpu-dra.checkProfile" -}}
{{- if not (hasKey .in.known .name) -}}
{{- include "gpu-dra.fault" (list .in.found (printf "%s: found %q, expected one of: %s, or a profile of your own in customDrivers" .path .name (keys .in.ctx.profiles | sortAlpha | join ", "))) -}}
{{- end -}}
{{- end -}}

{{- /* Settings of drivers for every group. */ -}}
{{- define "gpu-dra.checkDrivers" -}}
{{- $in := . -}}
{{- range $name, $config := .ctx.settings.drivers -}}
{{- $path := printf "drivers.%s" $name -}}
{{- include "gpu-dra.checkProfile" (dict "in" $in "name" $name "path" $path) -}}
{{- include "gpu-dra.checkTaken" (dict "in" $in "driver" $name "config" $config "path" $path) -}}
{{- $config = $config | default dict -}}
{{- if and $config.featureGates (not (has $name $in.ctx.facts.refusedDrivers)) -}}
{{- include "gpu-dra.checkGateNames" (dict "in" $in "driver" $name "gates" $config.featureGates "path" $path "image" $config.image "imagePath" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* DeviceClasses of the user's own, and choices for classes that there are not. */ -}}
{{- define "gpu-dra.checkClasses" -}}
{{- $in := . -}}
{{- $found := .found -}}
{{- $classes := .ctx.settings.deviceClasses -}}
{{- $known := dict -}}
{{- range $name, $profile := .ctx.profiles -}}
{{- range $profile.classes -}}
{{- $other := get $known .name -}}
{{- if and $other (ne $other $name) -}}
{{- include "gpu-dra.fault" (list $found (printf "customDrivers: profiles %q and %q both have a class %q; rename one" $other $name .name)) -}}
{{- end -}}
{{- $_ := set $known .name $name -}}
{{- end -}}
{{- end -}}
{{- range $i, $class := $classes.extra -}}
{{- $path := printf "deviceClasses.extra[%d]" $i -}}
{{- if hasKey $known $class.name -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.name: found %q, which is a class of a driver profile; choose another name" $path $class.name)) -}}
{{- end -}}
{{- $extended := (get $classes.classes $class.name | default dict).extendedResources | default $classes.extendedResources -}}
{{- if $class.driver -}}
{{- include "gpu-dra.checkProfile" (dict "in" $in "name" $class.driver "path" (printf "%s.driver" $path)) -}}
{{- else if and $class.extendedResourceName (eq $extended "Auto") -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.driver: found none, expected the profile whose devices the class selects: with extendedResources Auto it decides whether pods may ask for %q; name it, or set deviceClasses.classes.%s.extendedResources to Always or Never" $path $class.extendedResourceName $class.name)) -}}
{{- end -}}
{{- end -}}
{{- /* Classes of a refused profile are known, too. */ -}}
{{- range concat $classes.extra .ctx.settings.customDrivers -}}
{{- $_ := set $known .name true -}}
{{- range .classes -}}
{{- $_ := set $known .name true -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := $classes.classes -}}
{{- if not (hasKey $known $name) -}}
{{- include "gpu-dra.fault" (list $found (printf "deviceClasses.classes.%s: no driver profile and no entry of deviceClasses.extra has a class of this name" $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
