{{- /* Whether there is a webhook: "true" or nothing. It has nothing to do but in the exporter's mode Sidecar. */ -}}
{{- define "gpu-dra.webhookRuns" -}}
{{- if and (eq .gpuDra.settings.exporter.mode "Sidecar") .gpuDra.settings.exporter.sidecar.namespaces -}}true{{- end -}}
{{- end -}}

{{- /* Who makes its certificate: CertManager, Hook or Controller. */ -}}
{{- define "gpu-dra.webhookCertificates" -}}
{{- if eq .gpuDra.settings.controller.webhook.certificates "CertManager" -}}CertManager
{{- else if .gpuDra.underHooks -}}Hook
{{- else -}}Controller
{{- end -}}
{{- end -}}

{{- /* Its object. No other part of the cluster's scope may hold a colon here. */ -}}
{{- define "gpu-dra.webhookName" -}}
{{- if .gpuDra.underHooks }}d8-{{ end }}gpu-dra-sidecar
{{- end -}}

{{- /* The Secret with its certificate. One that cert-manager made is of another type, and not Helm's to change: it has another name. */ -}}
{{- define "gpu-dra.webhookSecret" -}}
controller-webhook-certificate{{ if eq (include "gpu-dra.webhookCertificates" .) "CertManager" }}-cert-manager{{ end }}
{{- end -}}

{{- /*
Block `sidecar` of the controller's file (settings.SidecarConfig in Go) as YAML, empty without a webhook: images are put together
here, where registries, mirrors and digests are known.
*/ -}}
{{- define "gpu-dra.sidecarConfig" -}}
{{- if include "gpu-dra.webhookRuns" . -}}
{{- $root := . -}}
{{- $images := dict -}}
{{- $files := dict -}}
{{- range $name, $profile := .gpuDra.profiles -}}
{{- with $profile.exporter -}}
{{- if hasKey . "sidecar" -}}
{{- $override := dig "exporter" "image" dict (get $root.gpuDra.settings.drivers $name | default dict) -}}
{{- $_ := set $images $name (include "gpu-dra.image" (dict "root" $root "name" (printf "exporter-%s" $name | camelcase | untitle) "override" $override "repository" .image.repository "tag" (.image.tag | toString))) -}}
{{- $driver := dict "name" $name "exporter" . -}}
{{- include "gpu-dra.loadExporterMetrics" (dict "ctx" $root.gpuDra "driver" $driver "sidecar" true) -}}
{{- if $driver.files -}}
{{- $_ := set $files $name $driver.files -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
image: {{ include "gpu-dra.ourImage" . | quote }}
pullSecrets: {{ include "gpu-dra.sidecarPullSecrets" . }}
exporterImages: {{ toJson $images }}
exporterFiles: {{ toJson $files }}
webhook:
  name: {{ include "gpu-dra.webhookName" . }}
  service: controller-webhook
  secret: {{ include "gpu-dra.webhookSecret" . }}
  ownCertificate: {{ eq (include "gpu-dra.webhookCertificates" .) "Controller" }}
{{- end -}}
{{- end -}}

{{- /* Names of the pull secrets that pods with the sidecar need, as JSON. */ -}}
{{- define "gpu-dra.sidecarPullSecrets" -}}
{{- $names := list -}}
{{- range (include "gpu-dra.imagePullSecrets" . | fromYaml).imagePullSecrets -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- toJson (uniq $names) -}}
{{- end -}}
