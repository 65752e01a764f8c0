{{- /*
What is structurally wrong with the settings and no schema can say to Helm. On Deckhouse the module's openapi refuses it earlier.
What depends on the cluster is never refused here: it is a condition.
*/ -}}
{{- define "gpu-dra.check" -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.nodeGroups "path" "nodeGroups") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.customDrivers "path" "customDrivers") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.claimTemplates "path" "claimTemplates") -}}
{{- include "gpu-dra.checkNames" (dict "list" .settings.deviceClasses.extra "path" "deviceClasses.extra") -}}
{{- if not .distribution.nodeGroupLabel -}}
{{- $distribution := .distribution.name -}}
{{- range $i, $group := .settings.nodeGroups -}}
{{- if not $group.nodeSelector -}}
{{- fail (printf "nodeGroups[%d].nodeSelector: found none, expected labels of the nodes of %q: the distribution %s does not label nodes with the name of their group" $i $group.name $distribution) -}}
{{- end -}}
{{- end -}}
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
