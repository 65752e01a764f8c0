{{- /*
Rules of a plugin by those who have them. Sets out.shared and out.own, each with rules and namespaceRules as in the profile: what
hangs on no setting of a group all groups have, and the rest only the ServiceAccounts of those groups where it is on. Takes a dict:
plugin, out.
*/ -}}
{{- define "gpu-dra.splitRules" -}}
{{- $out := .out -}}
{{- $_ := set $out "shared" dict -}}
{{- $_ := set $out "own" dict -}}
{{- range $name, $rules := pick .plugin "rules" "namespaceRules" -}}
{{- $shared := list -}}
{{- $own := list -}}
{{- range $rules -}}
{{- $when := .when | default dict -}}
{{- if or $when.gate $when.computeDomains $when.since -}}
{{- $own = append $own . -}}
{{- else -}}
{{- $shared = append $shared . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $out.shared $name $shared -}}
{{- $_ := set $out.own $name $own -}}
{{- end -}}
{{- end -}}

{{- /*
Rules that are on in any variant of a driver. Sets out.list, and out.getsNodes where one of them already lets the guard read its node.
Takes a dict: ctx, driver (its variants), rules, out.
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

{{- /*
A role and its binding. Takes a dict: ctx, kind (Role or ClusterRole), name, labels (as text, from a new line), rules, guard (whether the
guard's own rule is missing among them), runs (whose ServiceAccounts have it).
*/ -}}
{{- define "gpu-dra.grant" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name | quote }}
  {{- if eq .kind "Role" }}
  namespace: {{ .ctx.namespace | quote }}
  {{- end }}
  labels:
    {{- .labels }}
rules:
{{- if .guard }}
# The guard looks at its own node.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
{{- end }}
{{- range .rules }}
{{ include "gpu-dra.rule" . }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name | quote }}
  {{- if eq .kind "Role" }}
  namespace: {{ .ctx.namespace | quote }}
  {{- end }}
  labels:
    {{- .labels }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name | quote }}
subjects:
{{- range .runs }}
- kind: ServiceAccount
  name: {{ .account | quote }}
  namespace: {{ $.ctx.namespace | quote }}
{{- end }}
{{- end -}}
