{{- /*
The groups of rules: alerts from monitoring/rules as far as they have something to look at, and recording rules of the exporters
that run. Sets out.groups. Takes a dict: ctx, root, out.
*/ -}}
{{- define "gpu-dra.ruleGroups" -}}
{{- $ctx := .ctx -}}
{{- $root := .root -}}
{{- $monitoring := $ctx.distribution.monitoring -}}
{{- $found := dict -}}
{{- include "gpu-dra.monitoredExporters" (dict "root" $root "out" $found) -}}
{{- $files := list "cluster" -}}
{{- if not $ctx.underHooks -}}
{{- $files = append $files "runtime" -}}
{{- end -}}
{{- if include "gpu-dra.monitoringWanted" (list $ctx "podMonitor") -}}
{{- $files = append $files "controller" -}}
{{- if and $found.exporters (eq $ctx.settings.exporter.mode "DaemonSet") -}}
{{- $files = append $files "exporter" -}}
{{- end -}}
{{- if and (eq $ctx.settings.exporter.mode "Sidecar") $ctx.settings.exporter.sidecar.namespaces -}}
{{- $files = append $files "sidecar" -}}
{{- end -}}
{{- end -}}
{{- $watched := list -}}
{{- if has "exporter" $files -}}
{{- range $ctx.exporterRuns -}}
{{- range .runs -}}
{{- if not .passive -}}
{{- $watched = append $watched .group.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $groups := list -}}
{{- range $files -}}
{{- range $group := ($root.Files.Get (printf "monitoring/rules/%s.yaml" .) | fromYaml).groups -}}
{{- range $rule := $group.rules -}}
{{- $runbook := printf "%s/blob/main/docs/runbooks.md#%s" (trimSuffix "/" $root.Chart.Home) (lower $rule.alert) -}}
{{- $_ := set $rule "expr" ($rule.expr | replace "{exporterGroups}" (uniq $watched | sortAlpha | join "|")) -}}
{{- $_ := set $rule "annotations" (merge (dict "runbook_url" $runbook) $rule.annotations ($monitoring.alertAnnotations | default dict)) -}}
{{- with get ($monitoring.severityLevels | default dict) $rule.labels.severity -}}
{{- $_ := set $rule.labels "severity_level" . -}}
{{- end -}}
{{- end -}}
{{- $groups = append $groups $group -}}
{{- end -}}
{{- end -}}
{{- range $name, $exporter := $found.exporters -}}
{{- $recorded := dict -}}
{{- include "gpu-dra.recordingGroups" (dict "ctx" $ctx "root" $root "name" $name "metricNames" $exporter.metricNames "claims" $exporter.claims "out" $recorded) -}}
{{- $groups = concat $groups $recorded.groups -}}
{{- end -}}
{{- $_ := set .out "groups" $groups -}}
{{- end -}}
