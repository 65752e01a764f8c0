{{- /*
Recording rules of a driver: its exporter's metrics under common names, as exporter.metricNames of the profile says. Sets out.groups.
Takes a dict: ctx, root, name, metricNames, out.

Series are those of our own PodMonitors only (job): names such as gpu_health are anybody's. Labels are made equal before entries of
one key are joined by `or`, so that the first entry which a device has wins.
*/ -}}
{{- define "gpu-dra.recordingGroups" -}}
{{- $names := .root.Files.Get "monitoring/metrics.yaml" | fromYaml -}}
{{- $by := join ", " $names.labels -}}
{{- $job := `job=~"gpu-dra-exporter|gpu-dra-sidecar"` -}}
{{- $seriesLabels := .ctx.distribution.monitoring.seriesLabels | default dict -}}
{{- $from := .metricNames.labels | default dict -}}
{{- $rules := list -}}
{{- range .metricNames.renamed -}}
{{- /* What is recorded has the old name too; the label keeps it from looking at itself. */ -}}
{{- $expr := printf `%s{%s}%s unless on (instance) %s{%s, renamed=""}` (get . "now") $job (include "gpu-dra.factor" .) .was $job -}}
{{- $rules = append $rules (dict "record" .was "expr" $expr "labels" (merge (dict "renamed" "true") $seriesLabels)) -}}
{{- end -}}
{{- range $key, $entries := .metricNames.series | default dict -}}
{{- $alternatives := list -}}
{{- range $entries -}}
{{- $matchers := list -}}
{{- range $label, $value := .match -}}
{{- $matchers = append $matchers (printf `%s="%s"` $label $value) -}}
{{- end -}}
{{- $selector := join ", " (concat $matchers (list $job)) -}}
{{- $terms := list -}}
{{- range .metrics -}}
{{- $terms = append $terms (printf "%s{%s}" . $selector) -}}
{{- end -}}
{{- $expr := join " + " $terms -}}
{{- $factor := include "gpu-dra.factor" . -}}
{{- if $factor -}}
{{- $expr = printf "%s%s" (ternary (printf "(%s)" $expr) $expr (gt (len $terms) 1)) $factor -}}
{{- end -}}
{{- range $common, $own := $from -}}
{{- if ne $common $own -}}
{{- $expr = printf `label_replace(%s, "%s", "$1", "%s", "(.+)")` $expr $common $own -}}
{{- end -}}
{{- end -}}
{{- $alternatives = append $alternatives (printf "%s by (%s) (%s)" (.aggregate | default "max") $by $expr) -}}
{{- end -}}
{{- $record := get $names.recorded $key -}}
{{- if and $record $alternatives -}}
{{- $rules = append $rules (dict "record" $record "expr" (join "\nor\n" $alternatives) "labels" (merge (dict "profile" $.name) $seriesLabels)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set .out "groups" (list) -}}
{{- if $rules -}}
{{- $_ := set .out "groups" (list (dict "name" (printf "gpu-dra.recorded.%s" .name) "rules" $rules)) -}}
{{- end -}}
{{- end -}}

{{- /* What a value is multiplied by, as the end of an expression; nothing for 1. Takes a dict that may have factor. */ -}}
{{- define "gpu-dra.factor" -}}
{{- with .factor -}}
{{- if ne (float64 .) 1.0 }} * {{ ternary (printf "%d" (int64 .)) (printf "%v" .) (eq (float64 (int64 .)) (float64 .)) }}{{- end -}}
{{- end -}}
{{- end -}}
