{{- /*
Profiles of the user's own, where no hooks run to judge them: what the schema cannot say because one part of a profile depends on
another, as far as it spoils what the chart makes of it. profile.Validate in Go says the same, and more: it has a CEL compiler.
*/ -}}
{{- define "gpu-dra.checkCustomDrivers" -}}
{{- $found := .found -}}
{{- range $i, $own := .ctx.settings.customDrivers -}}
{{- $in := dict "found" $found "path" (printf "customDrivers[%d]" $i) "profile" $own -}}
{{- include "gpu-dra.checkOwnClasses" $in -}}
{{- include "gpu-dra.checkOwnGates" $in -}}
{{- if $own.plugin -}}
{{- if gt (len $own.name) 56 -}}
{{- include "gpu-dra.ownFault" (list $in "name" (quote $own.name) "at most 56 characters: its pods have the label driver-<name>, and a label no more than 63") -}}
{{- end -}}
{{- include "gpu-dra.checkOwnContainers" $in -}}
{{- include "gpu-dra.checkOwnConditions" $in -}}
{{- end -}}
{{- if $own.exporter -}}
{{- include "gpu-dra.checkOwnExporter" $in -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Two profiles of one DRA driver. Where hooks run they leave the second out, and the controller says so; without them nothing keeps
its DeviceClasses from being created. As in settings.Profiles, an entry is compared with the chart's profiles and the entries
before it.
*/ -}}
{{- define "gpu-dra.checkDriverNames" -}}
{{- $in := . -}}
{{- $known := dict -}}
{{- range $name, $profile := .ctx.chartProfiles -}}
{{- $_ := set $known $name $profile -}}
{{- end -}}
{{- range $i, $own := .ctx.settings.customDrivers -}}
{{- $claimed := prepend ($own.otherDrivers | default list) $own.driverName -}}
{{- range $name, $profile := $known -}}
{{- if ne $name $own.name -}}
{{- $taken := prepend ($profile.otherDrivers | default list) $profile.driverName -}}
{{- range $j, $driver := $claimed -}}
{{- if has $driver $taken -}}
{{- $path := ternary "driverName" (printf "otherDrivers[%d]" (sub $j 1)) (eq $j 0) -}}
{{- include "gpu-dra.fault" (list $in.found (printf "customDrivers[%d].%s: found %q, which the profile %q describes already; name the entry %q to replace that profile, or remove it" $i $path $driver $name $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $known $own.name $own -}}
{{- end -}}
{{- end -}}

{{- /* A fault of a profile, in the words of profile.Validate. Takes (list in field found expected). */ -}}
{{- define "gpu-dra.ownFault" -}}
{{- $in := index . 0 -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s.%s: found %v, expected %s" $in.path (index . 1) (index . 2) (index . 3))) -}}
{{- end -}}

{{- define "gpu-dra.checkOwnClasses" -}}
{{- $in := . -}}
{{- $names := dict -}}
{{- $choices := dict -}}
{{- range $i, $class := .profile.classes -}}
{{- if hasKey $names $class.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "classes[%d].name" $i) (quote $class.name) "a name that no other class of the profile has") -}}
{{- end -}}
{{- $_ := set $names $class.name true -}}
{{- if $class.choice -}}
{{- if hasKey $choices $class.choice -}}
{{- include "gpu-dra.ownFault" (list $in (printf "classes[%d].choice" $i) (quote $class.choice) "one class for each choice") -}}
{{- end -}}
{{- $_ := set $choices $class.choice true -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-dra.checkOwnGates" -}}
{{- $in := . -}}
{{- $known := dict -}}
{{- range $i, $gate := .profile.gates -}}
{{- if hasKey $known $gate.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "gates[%d].name" $i) (quote $gate.name) "a gate that the profile does not already have") -}}
{{- end -}}
{{- $_ := set $known $gate.name true -}}
{{- end -}}
{{- range $i, $gate := .profile.gates -}}
{{- range $list := list "excludes" "requires" -}}
{{- range $j, $other := get $gate $list | default list -}}
{{- if or (not (hasKey $known $other)) (eq $other $gate.name) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "gates[%d].%s[%d]" $i $list $j) (quote $other) "another gate that the profile lists in gates") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Conditions of parts of the plugin name gates of the driver. */ -}}
{{- define "gpu-dra.checkOwnConditions" -}}
{{- $in := . -}}
{{- $plugin := .profile.plugin -}}
{{- $parts := list -}}
{{- range $i, $container := $plugin.containers -}}
{{- $path := printf "plugin.containers[%d]" $i -}}
{{- $parts = append $parts (list $path $container) -}}
{{- range $list := list "env" "mounts" -}}
{{- range $j, $part := get $container $list | default list -}}
{{- $parts = append $parts (list (printf "%s.%s[%d]" $path $list $j) $part) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $list := list "rules" "namespaceRules" -}}
{{- range $j, $part := get $plugin $list | default list -}}
{{- $parts = append $parts (list (printf "plugin.%s[%d]" $list $j) $part) -}}
{{- end -}}
{{- end -}}
{{- $known := dict -}}
{{- range .profile.gates -}}
{{- $_ := set $known .name true -}}
{{- end -}}
{{- range $parts -}}
{{- $when := (index . 1).when | default dict -}}
{{- if or $when.profiling $when.adminClaim -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.when" (index . 0)) "profiling or adminClaim" "neither: they are for parts of an exporter") -}}
{{- end -}}
{{- $gate := $when.gate -}}
{{- if and $gate (not (hasKey $known $gate)) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.when.gate" (index . 0)) (quote $gate) "a gate that the profile lists in gates") -}}
{{- end -}}
{{- end -}}
{{- end -}}
