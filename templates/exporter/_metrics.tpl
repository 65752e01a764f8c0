{{- /*
What an exporter is asked for. Adds to the dict `driver`:

  profiling     whether profiling metrics are among it
  counters      a line `name,type,"help"` for each metric
  metrics       the names as JSON; an empty list: nothing special
  files         texts of its configuration by name, tokens filled in; for a sidecar those are left that differ in each pod

Takes a dict: ctx, driver, sidecar (whether it is for a sidecar).
*/ -}}
{{- define "gpu-dra.loadExporterMetrics" -}}
{{- $settings := .ctx.settings.exporter -}}
{{- $exporter := .driver.exporter -}}
{{- $lists := $exporter.metrics | default dict -}}
{{- $mine := list -}}
{{- if eq $settings.metrics "Custom" -}}
{{- range $settings.customMetrics -}}
{{- if include "gpu-dra.hasPrefix" (dict "name" . "prefixes" ($lists.prefixes | default (list ""))) -}}
{{- $mine = append $mine . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $profiling := eq $settings.metrics "Profiling" -}}
{{- $counters := $lists.default | default list -}}
{{- if $mine -}}
{{- $known := dict -}}
{{- range concat $counters ($lists.profiling | default list) ($lists.optional | default list) -}}
{{- $_ := set $known .name . -}}
{{- end -}}
{{- $counters = list -}}
{{- range $mine -}}
{{- $counters = append $counters (get $known . | default (dict "name" . "type" "gauge" "help" .)) -}}
{{- if include "gpu-dra.hasPrefix" (dict "name" . "prefixes" ($lists.profilingPrefixes | default list)) -}}
{{- $profiling = true -}}
{{- end -}}
{{- end -}}
{{- else if $profiling -}}
{{- $counters = concat $counters ($lists.profiling | default list) -}}
{{- end -}}
{{- $lines := list -}}
{{- range $counters -}}
{{- /* Schema and Go keep quotation marks and line breaks out; a comma is what the quotation marks are for. */ -}}
{{- $lines = append $lines (printf "%s,%s,\"%s\"" .name .type .help) -}}
{{- end -}}
{{- $_ := set .driver "profiling" $profiling -}}
{{- $_ := set .driver "counters" (join "\n" $lines) -}}
{{- $_ := set .driver "metrics" (toJson $mine) -}}
{{- $tokens := list -}}
{{- if not .sidecar -}}
{{- $tokens = include "gpu-dra.exporterTokens" (dict "ctx" .ctx "exporter" $exporter) | fromJsonArray -}}
{{- end -}}
{{- /* What holds words of a user or a profile comes last: a token in it stays as it is. */ -}}
{{- $tokens = append $tokens (list "{profiling}" (toString $profiling)) -}}
{{- $tokens = append $tokens (list "{metrics}" .driver.metrics) -}}
{{- $tokens = append $tokens (list "{counters}" (printf "%s\n" .driver.counters)) -}}
{{- $files := dict -}}
{{- range $name, $text := ($exporter.config | default dict).files -}}
{{- $out := dict -}}
{{- include "gpu-dra.fillTokens" (dict "text" $text "tokens" $tokens "out" $out) -}}
{{- $_ := set $files $name $out.text -}}
{{- end -}}
{{- $_ := set .driver "files" $files -}}
{{- end -}}

{{- /* "true" where a name begins with one of the prefixes, or nothing. Takes a dict: name, prefixes. */ -}}
{{- define "gpu-dra.hasPrefix" -}}
{{- $name := .name -}}
{{- $found := false -}}
{{- range .prefixes -}}
{{- $found = or $found (hasPrefix . $name) -}}
{{- end -}}
{{- if $found -}}true{{- end -}}
{{- end -}}

{{- /* Tokens of exporters that are the same on every node group, as a JSON list of [token, value]. Takes a dict: ctx, exporter. */ -}}
{{- define "gpu-dra.exporterTokens" -}}
{{- $interval := .ctx.settings.exporter.interval -}}
{{- $factor := 1 -}}
{{- if hasSuffix "ms" $interval -}}
{{- else if hasSuffix "s" $interval -}}
{{- $factor = 1000 -}}
{{- else -}}
{{- $factor = 60000 -}}
{{- end -}}
{{- $ms := mul (regexFind "^[0-9]+" $interval | int64) $factor -}}
{{- $port := int .exporter.port | toString -}}
{{- list
  (list "{listen}" (printf ":%s" $port))
  (list "{port}" $port)
  (list "{intervalMs}" (toString $ms))
  (list "{intervalSeconds}" (div (add $ms 999) 1000 | toString))
  (list "{interval}" $interval)
  (list "{namespace}" .ctx.namespace)
| toJson -}}
{{- end -}}
