{{- /* The container of an exporter, as an item of a list. Adds its host folders to the dict `volumes`. Takes a dict: ctx, driver, variant, volumes. */ -}}
{{- define "gpu-dra.exporterContainer" -}}
{{- $ctx := .ctx -}}
{{- $variant := .variant -}}
{{- $exporter := .driver.exporter -}}
{{- $resources := dict -}}
{{- include "gpu-dra.exporterResources" (dict "exporter" $exporter "variant" $variant "out" $resources) -}}
- name: exporter
  image: {{ $variant.image | quote }}
  imagePullPolicy: IfNotPresent
{{- with $exporter.command }}
  command:
  {{- range . }}
  - {{ . | quote }}
  {{- end }}
{{- end }}
{{- include "gpu-dra.driverArgs" (dict "variant" $variant "args" $exporter.args) }}
{{- include "gpu-dra.driverEnv" (dict "ctx" $ctx "variant" $variant "env" (concat ($exporter.env | default list) $resources.env)) }}
  ports:
  - name: metrics
    containerPort: {{ int $exporter.port }}
  {{- with $exporter.health }}
  {{- if and .port (ne (int .port) (int $exporter.port)) }}
  - name: health
    containerPort: {{ int .port }}
  {{- end }}
  {{- end }}
{{- include "gpu-dra.exporterProbes" $exporter }}
  resources:
    {{- include "gpu-dra.data" $resources.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: {{ ne (int64 $exporter.runAsUser) 0 }}
    runAsUser: {{ int64 $exporter.runAsUser }}
    runAsGroup: {{ int64 $exporter.runAsUser }}
    readOnlyRootFilesystem: {{ not $exporter.writableRoot }}
    {{- if $exporter.privileged }}
    privileged: true
    {{- else }}
    allowPrivilegeEscalation: false
    {{- end }}
    # Where a container is privileged, runtimes pass over both of these. Policies look at them all the same.
    seccompProfile:
      type: RuntimeDefault
    capabilities:
      drop: [ALL]
      {{- with $variant.capabilities }}
      add: {{ toJson . }}
      {{- end }}
{{- $mounts := include "gpu-dra.driverMounts" (dict "ctx" $ctx "variant" $variant "container" "exporter" "mounts" $exporter.mounts "volumes" .volumes) }}
{{- $mounts }}
{{- if and (not $mounts) (or $exporter.config $variant.token) }}
  volumeMounts:
{{- end }}
{{- with $exporter.config }}
  # The folder, not the files: what is mounted by subPath would never change.
  - name: gpu-dra-config
    mountPath: {{ .path | quote }}
    readOnly: true
{{- end }}
{{- if $variant.token }}
  - name: gpu-dra-token
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
{{- end }}
{{- end -}}

{{- /* An exporter may take a while to find its devices; later it is restarted when it hangs, and not when it is slow once. */ -}}
{{- define "gpu-dra.exporterProbes" -}}
{{- $check := printf "tcpSocket:\n  port: metrics" -}}
{{- with .health -}}
{{- $check = printf "httpGet:\n  path: %s\n  port: %s" (quote .path) (ternary "health" "metrics" (and .port (ne (int .port) (int $.port)) | empty | not)) -}}
{{- end }}
  startupProbe:
    {{- $check | nindent 4 }}
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: 60
  readinessProbe:
    {{- $check | nindent 4 }}
    periodSeconds: 15
    timeoutSeconds: 10
  {{- if .health }}
  livenessProbe:
    {{- $check | nindent 4 }}
    periodSeconds: 30
    timeoutSeconds: 15
    failureThreshold: 4
  {{- end }}
{{- end -}}
