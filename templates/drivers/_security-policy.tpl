{{- /*
What the pods of a component are allowed on one node group beyond the strictest pod security standard, with the reason of each: Deckhouse
after 1.75 looks at the pods of system namespaces so (module admission-policy-engine). Pods are bound to it by a label, and a path is
allowed as it is mounted, read-only or not. Takes a dict: root, driver, run, and why it runs as root.
*/ -}}
{{- define "gpu-dra.securityPolicyException" -}}
{{- $ctx := .root.gpuDra -}}
{{- $variant := .run.variant -}}
{{- /* Groups that share a variant share the text. */ -}}
{{- if not (hasKey $variant "exception") -}}
{{- $_ := set $variant "exception" (include "gpu-dra.exceptionSpec" (dict "name" .driver.name "variant" $variant "why" .why) | trim) -}}
{{- end -}}
{{- if $variant.exception }}
---
apiVersion: deckhouse.io/v1alpha1
kind: SecurityPolicyException
metadata:
  name: {{ include "gpu-dra.exceptionName" (list .driver.component .run.group.name) | quote }}
  namespace: {{ $ctx.namespace | quote }}
  labels:
    {{- include "gpu-dra.labels" (list .root .driver.component) | nindent 4 }}
    gpu-dra.deckhouse.io/driver: {{ .driver.name | quote }}
    gpu-dra.deckhouse.io/node-group: {{ .run.group.name | quote }}
spec:
  {{- $variant.exception | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Name of an exception, which is also the value of a label. Takes (list component group). */ -}}
{{- define "gpu-dra.exceptionName" -}}
{{- $name := printf "%s-%s" (index . 0) (index . 1) -}}
{{- if gt (len $name) 63 -}}
{{- $name = printf "%s-%s" (trunc 54 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- /* Spec of an exception, or nothing. Takes a dict: name (of the profile), variant, why. */ -}}
{{- define "gpu-dra.exceptionSpec" -}}
{{- $name := .name -}}
{{- $privileged := list -}}
{{- $writable := list -}}
{{- $capabilities := list -}}
{{- $root := false -}}
{{- $paths := dict -}}
{{- range .variant.asks -}}
{{- $root = or $root .root -}}
{{- $capabilities = concat $capabilities (.capabilities | default list) -}}
{{- with .from.privileged -}}
{{- $privileged = append $privileged . -}}
{{- end -}}
{{- with .from.writableRoot -}}
{{- $writable = append $writable . -}}
{{- end -}}
{{- end -}}
{{- range .variant.hostPaths -}}
{{- $key := printf "%s %t" .path .readOnly -}}
{{- $known := get $paths $key | default (dict "path" .path "readOnly" .readOnly "by" list) -}}
{{- $_ := set $paths $key (merge (dict "by" (concat $known.by .by | uniq)) $known) -}}
{{- end -}}
{{- if or $privileged $writable $capabilities $root }}
securityContext:
  {{- with $privileged | uniq | join "; " }}
  privileged:
    allowedValue: true
    {{- include "gpu-dra.exceptionReason" . | nindent 4 }}
  allowPrivilegeEscalation:
    allowedValue: true
    {{- include "gpu-dra.exceptionReason" (printf "a privileged container cannot be without it: %s" .) | nindent 4 }}
  {{- end }}
  {{- with $writable | uniq | join "; " }}
  readOnlyRootFilesystem:
    allowedValue: false
    {{- include "gpu-dra.exceptionReason" . | nindent 4 }}
  {{- end }}
  {{- with $capabilities | uniq | sortAlpha }}
  capabilities:
    allowedValues:
      add: {{ toJson . }}
      drop: [ALL]
    {{- include "gpu-dra.exceptionReason" (printf "the profile %s gives reasons for %s; all others are dropped" $name (join ", " .)) | nindent 4 }}
  {{- end }}
  {{- if $root }}
  runAsUser:
    allowedValues: [0]
    {{- include "gpu-dra.exceptionReason" .why | nindent 4 }}
  runAsNonRoot:
    allowedValue: false
    {{- include "gpu-dra.exceptionReason" .why | nindent 4 }}
  {{- end }}
{{- end }}
{{- with $paths }}
volumes:
  types:
    allowedValues: [hostPath]
    {{- include "gpu-dra.exceptionReason" "accelerators, their driver and the kubelet are on the host" | nindent 4 }}
  hostPath:
    allowedValues:
    {{- range . }}
    - path: {{ .path | quote }}
      readOnly: {{ .readOnly }}
      {{- include "gpu-dra.exceptionReason" (printf "%s by %s" (ternary "read" "read and written" .readOnly) (join ", " .by)) | nindent 6 }}
    {{- end }}
{{- end }}
{{- end -}}

{{- define "gpu-dra.exceptionReason" -}}
metadata:
  description: {{ . | quote }}
{{- end -}}
