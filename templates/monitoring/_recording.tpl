{{- /*
Recording rules of a driver: its exporter's metrics under common names, as exporter.metricNames of the profile says. Sets out.groups.
Takes a dict: ctx, root, name, metricNames, claims, out.

Series are those of our own PodMonitors only (job): names such as gpu_health are anybody's. Labels are made equal before entries of
one key are joined by `or`, so that the first entry which a device has wins. An exporter with a claim of its own gives a series without
a pod for every device (gpu-dra.ownPodOff): it counts where the device has no other.
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
{{- $claims := and .claims $from.namespace -}}
{{- range $key, $entries := .metricNames.series | default dict -}}
{{- $alternatives := list -}}
{{- $unused := list -}}
{{- range $entries -}}
{{- $entry := dict "entry" . "job" $job "from" $from "by" $by -}}
{{- if $claims -}}
{{- $alternatives = append $alternatives (include "gpu-dra.recordedEntry" (merge (dict "pod" (printf `%s!=""` $from.namespace)) $entry)) -}}
{{- $unused = append $unused (include "gpu-dra.recordedEntry" (merge (dict "pod" (printf `%s=""` $from.namespace)) $entry)) -}}
{{- else -}}
{{- $alternatives = append $alternatives (include "gpu-dra.recordedEntry" $entry) -}}
{{- end -}}
{{- end -}}
{{- $record := get $names.recorded $key -}}
{{- if and $record $alternatives -}}
{{- $expr := join "\nor\n" $alternatives -}}
{{- if $unused -}}
{{- $expr = printf "%s\nor on (node, accelerator, partition)\n(%s)" $expr (join "\nor\n" $unused) -}}
{{- end -}}
{{- $rules = append $rules (dict "record" $record "expr" $expr "labels" (merge (dict "profile" $.name) $seriesLabels)) -}}
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

{{- /* One entry of exporter.metricNames.series as an expression. Takes a dict: entry, job, from, by; pod, a matcher more. */ -}}
{{- define "gpu-dra.recordedEntry" -}}
{{- $matchers := list -}}
{{- range $label, $value := .entry.match -}}
{{- $matchers = append $matchers (printf `%s="%s"` $label $value) -}}
{{- end -}}
{{- $matchers = append $matchers .job -}}
{{- with .pod -}}
{{- $matchers = append $matchers . -}}
{{- end -}}
{{- $selector := join ", " $matchers -}}
{{- $terms := list -}}
{{- range .entry.metrics -}}
{{- $terms = append $terms (printf "%s{%s}" . $selector) -}}
{{- end -}}
{{- $expr := join " + " $terms -}}
{{- $factor := include "gpu-dra.factor" .entry -}}
{{- if $factor -}}
{{- $expr = printf "%s%s" (ternary (printf "(%s)" $expr) $expr (gt (len $terms) 1)) $factor -}}
{{- end -}}
{{- range $common, $own := .from -}}
{{- if ne $common $own -}}
{{- $expr = printf `label_replace(%s, "%s", "$1", "%s", "(.+)")` $expr $common $own -}}
{{- end -}}
{{- end -}}
{{- printf "%s by (%s) (%s)" (.entry.aggregate | default "max") .by $expr -}}
{{- end -}}
