{{- /*
Rules of a driver that are on in any of its groups: they share one ServiceAccount. Sets out.list, and out.getsNodes where one of
them already lets the guard read its node. Takes a dict: ctx, driver, rules, out.
*/ -}}
{{- define "gpu-dra.driverRules" -}}
{{- $ctx := .ctx -}}
{{- $variants := .driver.variants -}}
{{- $out := .out -}}
{{- $list := list -}}
{{- range $rule := .rules -}}
{{- $on := not $rule.when -}}
{{- range $variant := $variants -}}
{{- if not $on -}}
{{- $on = eq "true" (include "gpu-dra.when" (dict "when" $rule.when "variant" $variant "ctx" $ctx)) -}}
{{- end -}}
{{- end -}}
{{- if $on -}}
{{- $list = append $list $rule -}}
{{- if and (has "" $rule.apiGroups) (has "nodes" $rule.resources) (has "get" $rule.verbs) (not $rule.resourceNames) -}}
{{- $_ := set $out "getsNodes" true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $out "list" $list -}}
{{- end -}}

{{- /* One rule as an item of a list. */ -}}
{{- define "gpu-dra.rule" -}}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  {{- with .resourceNames }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: {{ toJson .verbs }}
{{- end -}}
