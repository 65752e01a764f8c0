{{- /*
The controller's file: settings.ControllerConfig in Go. The user's own profiles stand in the settings. Made once a render: it is
wanted twice, and with hundreds of node groups it is most of the work.
*/ -}}
{{- define "gpu-dra.controllerConfig" -}}
{{- $ctx := .gpuDra -}}
{{- if not (hasKey $ctx "controllerConfig") -}}
{{- $config := dict
  "underHooks" $ctx.underHooks
  "namespace" $ctx.namespace
  "distribution" $ctx.distribution
  "settings" $ctx.settings
  "drivers" $ctx.chartProfiles
-}}
{{- with include "gpu-dra.sidecarConfig" . | fromYaml -}}
{{- $_ := set $config "sidecar" . -}}
{{- end -}}
{{- $_ := set $ctx "controllerConfig" (include "gpu-dra.data" $config) -}}
{{- end -}}
{{- $ctx.controllerConfig -}}
{{- end -}}

{{- /* What the controller gets when the settings say nothing. 300 MiB are enough for 280,000 devices. */ -}}
{{- define "gpu-dra.controllerResources" -}}
requests:
  cpu: 50m
  memory: 128Mi
  ephemeral-storage: 50Mi
limits:
  memory: 1Gi
{{- end -}}
