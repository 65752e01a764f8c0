{{- /*
What is structurally wrong with the settings and no schema can say to Helm. On Deckhouse the module's openapi refuses it earlier.
What depends on the cluster is never refused here: it is a condition.
*/ -}}
{{- define "gpu-dra.check" -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.nodeGroups "path" "nodeGroups") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.customDrivers "path" "customDrivers") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.claimTemplates "path" "claimTemplates") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.deviceClasses.extra "path" "deviceClasses.extra") -}}
{{- if not .underHooks -}}
{{- include "gpu-dra.checkDriverNames" . -}}
{{- end -}}
{{- if not .distribution.nodeGroupLabel -}}
{{- $distribution := .distribution.name -}}
{{- range $i, $group := .settings.nodeGroups -}}
{{- if not $group.nodeSelector -}}
{{- fail (printf "nodeGroups[%d].nodeSelector: found none, expected labels of the nodes of %q: the distribution %s does not label nodes with the name of their group" $i $group.name $distribution) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Two profiles of one DRA driver. Where hooks run they leave the second out, and the controller says so; without them nothing keeps
its DeviceClasses from being created. As in settings.Profiles, an entry is compared with the chart's profiles and the entries
before it.
*/ -}}
{{- define "gpu-dra.checkDriverNames" -}}
{{- $known := dict -}}
{{- range $name, $profile := .chartProfiles -}}
{{- $_ := set $known $name $profile -}}
{{- end -}}
{{- range $i, $own := .settings.customDrivers -}}
{{- $claimed := prepend ($own.otherDrivers | default list) $own.driverName -}}
{{- range $name, $profile := $known -}}
{{- if ne $name $own.name -}}
{{- $taken := prepend ($profile.otherDrivers | default list) $profile.driverName -}}
{{- range $j, $driver := $claimed -}}
{{- if has $driver $taken -}}
{{- $path := ternary "driverName" (printf "otherDrivers[%d]" (sub $j 1)) (eq $j 0) -}}
{{- fail (printf "customDrivers[%d].%s: found %q, which the profile %q describes already; name the entry %q to replace that profile, or remove it" $i $path $driver $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $known $own.name $own -}}
{{- end -}}
{{- end -}}

{{- define "gpu-dra.checkNames" -}}
{{- $path := .path -}}
{{- $seen := dict -}}
{{- range $i, $item := .list -}}
{{- if hasKey $seen $item.name -}}
{{- fail (printf "%s[%d].name: found %q, which %s[%d] has already" $path $i $item.name $path (get $seen $item.name | int)) -}}
{{- end -}}
{{- $_ := set $seen $item.name $i -}}
{{- end -}}
{{- end -}}
