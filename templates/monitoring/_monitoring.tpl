{{- /*
Whether objects of monitoring are wanted: "true", or nothing. Takes (list $ctx what), what one of podMonitor, rules, dashboards.
Auto is where their API is served. ConfigMaps with dashboards are wanted where Prometheus Operator is: every cluster serves
ConfigMaps, and one that no Grafana looks for is litter.
*/ -}}
{{- define "gpu-dra.monitoringWanted" -}}
{{- $ctx := index . 0 -}}
{{- $apis := $ctx.facts.monitoringAPIs -}}
{{- $served := dict
  "podMonitor" $apis.podMonitor
  "rules" $apis.prometheusRule
  "dashboards" (ternary $apis.grafanaDashboard $apis.prometheusRule (eq $ctx.distribution.monitoring.dashboards "GrafanaDashboardDefinition"))
-}}
{{- $said := get $ctx.settings.monitoring (index . 1) -}}
{{- if or (eq $said "Always") (and (eq $said "Auto") (get $served (index . 1))) -}}true{{- end -}}
{{- end -}}

{{- /*
Labels of an object of monitoring: ours, those by which the distribution finds it, the user's. Takes (list $ found). A key of ours
stays ours: one that stood twice would be no YAML. PodMonitors of exporters add the driver's.
*/ -}}
{{- define "gpu-dra.monitoringLabels" -}}
{{- include "gpu-dra.labels" (list (index . 0) "monitoring") }}
{{- $own := include "gpu-dra.labels" (list (index . 0) "monitoring") | fromYaml -}}
{{- $_ := set $own "gpu-dra.deckhouse.io/driver" "" -}}
{{- range $key, $value := merge dict (index . 0).gpuDra.settings.monitoring.labels (index . 1 | default dict) }}
{{- if not (hasKey $own $key) }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
Drivers whose exporters are scraped, by profile name: {name: {path, metricNames, claims}}; claims: a pod of the exporter may have a
claim of its own. Sets out.exporters: those that have a DaemonSet, or
those that pods may carry, by mode. Takes a dict: root, out.
*/ -}}
{{- define "gpu-dra.monitoredExporters" -}}
{{- $ctx := .root.gpuDra -}}
{{- $names := list -}}
{{- $claims := dict -}}
{{- if eq $ctx.settings.exporter.mode "DaemonSet" -}}
{{- include "gpu-dra.loadExporterRuns" .root -}}
{{- range $ctx.exporterRuns -}}
{{- if .runs -}}
{{- $names = append $names .name -}}
{{- $_ := set $claims .name (not (empty .claims)) -}}
{{- end -}}
{{- end -}}
{{- else if eq $ctx.settings.exporter.mode "Sidecar" -}}
{{- range $ctx.settings.nodeGroups -}}
{{- $names = concat $names .drivers -}}
{{- end -}}
{{- end -}}
{{- $found := dict -}}
{{- range $name := uniq $names -}}
{{- with (get $ctx.profiles $name | default dict).exporter -}}
{{- $_ := set $found $name (dict "path" (.path | default "/metrics") "metricNames" (.metricNames | default dict) "claims" (get $claims $name)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set .out "exporters" $found -}}
{{- end -}}

{{- /*
Takes the exporter's own pod off the series of devices. Its claim with admin access has every device of the node, so an exporter that
goes by the kubelet's word names itself as a user of each; a device that nobody else uses has no other series. Label by label, the
namespace last; without groups in the regex the default replacement, $1, is nothing. Takes a dict: ctx, labels.
*/ -}}
{{- define "gpu-dra.ownPodOff" -}}
{{- $labels := .labels -}}
{{- $ns := .ctx.namespace -}}
{{- range $common := list "claim" "pod" "container" "namespace" }}
{{- with get $labels $common }}
- sourceLabels: [{{ $labels.namespace }}, {{ $labels.container }}]
  regex: {{ printf "%s;%s" $ns (ternary "" "exporter" (eq $common "namespace")) | quote }}
  targetLabel: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A series' job, and what the distribution wants on each, as relabelings. Takes (list $ctx job). */ -}}
{{- define "gpu-dra.seriesRelabelings" -}}
- targetLabel: job
  replacement: {{ index . 1 }}
{{- range $key, $value := (index . 0).distribution.monitoring.seriesLabels }}
- targetLabel: {{ $key }}
  replacement: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- /* Labels that a newer exporter renamed get their old names beside the new ones. Takes a list of {was, now}. */ -}}
{{- define "gpu-dra.renamedLabels" -}}
{{- range . }}
- sourceLabels: [{{ get . "now" }}]
  regex: (.+)
  targetLabel: {{ .was }}
{{- end }}
{{- end -}}
