{{- /*
One DeviceClass, where the settings want it. Takes a dict: root, seen (names rendered so far), driver (profile), name, selectors,
extendedResourceName, config. A name that two profiles share is rendered once: the controller reports the second.
*/ -}}
{{- define "gpu-dra.deviceClass" -}}
{{- $ctx := .root.gpuDra -}}
{{- $all := $ctx.settings.deviceClasses -}}
{{- $own := get $all.classes .name | default dict -}}
{{- $create := $own.create | default $all.create -}}
{{- $extended := $own.extendedResources | default $all.extendedResources -}}
{{- /* Under addon-operator Helm takes over objects of others without a word, and removes them when the module is disabled. */ -}}
{{- $foreign := and (eq $create "Auto") (has .name $ctx.facts.foreignDeviceClasses) -}}
{{- if not (or (eq $create "Never") $foreign (hasKey .seen .name)) -}}
{{- $_ := set .seen .name true -}}
{{- $spec := dict "selectors" list -}}
{{- range .selectors -}}
{{- $_ := set $spec "selectors" (append $spec.selectors (dict "cel" (dict "expression" .))) -}}
{{- end -}}
{{- with .config -}}
{{- $opaque := list -}}
{{- range . -}}
{{- $opaque = append $opaque (dict "opaque" (pick . "driver" "parameters")) -}}
{{- end -}}
{{- $_ := set $spec "config" $opaque -}}
{{- end -}}
{{- $works := include "gpu-dra.extendedResourcesWork" (dict "ctx" $ctx "driver" .driver) -}}
{{- if and .extendedResourceName (or (eq $extended "Always") (and (eq $extended "Auto") $works)) -}}
{{- $_ := set $spec "extendedResourceName" .extendedResourceName -}}
{{- end }}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: {{ .name | quote }}
  labels:
    {{- include "gpu-dra.labels" (list .root "device-classes") | nindent 4 }}
spec:
  {{- include "gpu-dra.data" $spec | nindent 2 }}
{{- end }}
{{- end -}}
