{{- /*
Resources of containers that the API server refuses: profile.ResourceFaults and settings.Problems say the same in Go. Takes what the
checks in _checks.tpl take.
*/ -}}
{{- define "gpu-dra.checkSettingsResources" -}}
{{- $found := .found -}}
{{- $settings := .ctx.settings -}}
{{- include "gpu-dra.checkResources" (dict "found" $found "path" "controller.resources" "resources" $settings.controller.resources) -}}
{{- range $name, $config := $settings.drivers -}}
{{- include "gpu-dra.checkDriverResources" (dict "found" $found "path" (printf "drivers.%s" $name) "config" $config) -}}
{{- end -}}
{{- range $i, $group := $settings.nodeGroups -}}
{{- range $name, $config := $group.driverOverrides -}}
{{- include "gpu-dra.checkDriverResources" (dict "found" $found "path" (printf "nodeGroups[%d].driverOverrides.%s" $i $name) "config" $config) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-dra.checkDriverResources" -}}
{{- $config := .config | default dict -}}
{{- include "gpu-dra.checkResources" (dict "found" .found "path" (printf "%s.resources" .path) "resources" $config.resources) -}}
{{- include "gpu-dra.checkResources" (dict "found" .found "path" (printf "%s.exporter.resources" .path) "resources" ($config.exporter | default dict).resources) -}}
{{- end -}}

{{- /* Resources of one container. Takes a dict: found, path, resources (may be nothing). */ -}}
{{- define "gpu-dra.checkResources" -}}
{{- $in := . -}}
{{- $limits := (.resources | default dict).limits | default dict -}}
{{- $asks := false -}}
{{- range $list := list "requests" "limits" -}}
{{- range $name, $_ := get ($in.resources | default dict) $list | default dict -}}
{{- $asks = or $asks (has $name (list "cpu" "memory")) -}}
{{- end -}}
{{- end -}}
{{- range $list := list "requests" "limits" -}}
{{- range $name, $amount := get ($in.resources | default dict) $list | default dict -}}
{{- $field := printf "%s.%s[%s]" $in.path $list $name -}}
{{- $found := $amount | toString | quote -}}
{{- $pages := regexMatch `^hugepages-[1-9][0-9]*(k|M|G|Ki|Mi|Gi)?$` $name -}}
{{- /* Of what is none of Kubernetes' own, and of huge pages, nothing is given twice. */ -}}
{{- $shared := regexMatch `^(cpu|memory|ephemeral-storage)$|kubernetes\.io/` $name -}}
{{- if or (not (or $pages (regexMatch `/|^(cpu|memory|ephemeral-storage)$` $name))) (hasPrefix "requests." $name) (not (include "gpu-dra.isLabelKey" $name)) -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %q, expected cpu, memory, ephemeral-storage, hugepages-<size>, or a domain, a slash and a name" $field $name)) -}}
{{- else if and (not $shared) (ne (include "gpu-dra.amount" $amount | float64) (include "gpu-dra.amount" $amount | float64 | floor)) -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected a whole number" $field $found)) -}}
{{- else if and $pages (mod (include "gpu-dra.amount" $amount | float64 | int64) (include "gpu-dra.amount" (trimPrefix "hugepages-" $name) | float64 | int64)) -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected a multiple of the size of the pages" $field $found)) -}}
{{- else if and $pages (not $asks) -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected cpu or memory beside huge pages" $field $found)) -}}
{{- else if eq $list "requests" -}}
{{- $limited := hasKey $limits $name -}}
{{- $limit := get $limits $name -}}
{{- $asked := include "gpu-dra.amount" $amount | float64 -}}
{{- $most := include "gpu-dra.amount" (ternary $limit $amount $limited) | float64 -}}
{{- if $shared -}}
{{- if gt $asked $most -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected at most the limit %v" $field $found $limit)) -}}
{{- end -}}
{{- else if not $limited -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected the same amount as limits[%s], of which there is none" $field $found $name)) -}}
{{- else if ne $asked $most -}}
{{- include "gpu-dra.fault" (list $in.found (printf "%s: found %s, expected the same amount as limits[%s], which is %v" $field $found $name $limit)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
