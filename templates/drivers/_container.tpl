{{- /*
One container of a plugin, as an item of a list. Adds its host folders to the dict `volumes`. Takes a dict: ctx, variant, container,
index (among those that run), volumes.
*/ -}}
{{- define "gpu-dra.driverContainer" -}}
{{- $ctx := .ctx -}}
{{- $variant := .variant -}}
{{- $container := .container -}}
{{- $suffix := ternary "" (printf "-%d" .index) (eq .index 0) -}}
- name: {{ $container.name | quote }}
  image: {{ $variant.image | quote }}
  imagePullPolicy: IfNotPresent
{{- with $container.command }}
  command:
  {{- range . }}
  - {{ . | quote }}
  {{- end }}
{{- end }}
{{- include "gpu-dra.driverArgs" (dict "variant" $variant "args" $container.args) }}
{{- include "gpu-dra.driverEnv" (dict "ctx" $ctx "variant" $variant "env" $container.env) }}
{{- if or $container.healthPort $container.metricsPort }}
  ports:
  {{- with $container.healthPort }}
  - name: health{{ $suffix }}
    containerPort: {{ int . }}
  {{- end }}
  {{- with $container.metricsPort }}
  - name: metrics{{ $suffix }}
    containerPort: {{ int . }}
  {{- end }}
{{- end }}
{{- with $container.healthPort }}
  # The service answers by asking the plugin's own sockets. The first answer may take minutes on a host with many cards.
  startupProbe:
    grpc:
      port: {{ int . }}
      service: liveness
    periodSeconds: 5
    timeoutSeconds: 10
    failureThreshold: 120
  livenessProbe:
    grpc:
      port: {{ int . }}
      service: liveness
    periodSeconds: 30
    timeoutSeconds: 10
    failureThreshold: 3
{{- end }}
{{- if $variant.outlives }}
  # The exporter has a claim, and its pod ends within 10 s. Without a driver it would hang in Terminating for ever.
  lifecycle:
    preStop:
      sleep:
        seconds: 15
{{- end }}
  resources:
    {{- with $variant.config.resources | default $container.resources }}
    {{- include "gpu-dra.data" . | nindent 4 }}
    {{- else }}
    requests:
      cpu: 25m
      memory: 64Mi
      ephemeral-storage: 50Mi
    {{- end }}
  securityContext:
    readOnlyRootFilesystem: {{ not $container.writableRoot }}
    {{- if $container.privileged }}
    privileged: true
    {{- else }}
    allowPrivilegeEscalation: false
    {{- end }}
    # Where a container is privileged, runtimes pass over both of these. Policies look at them all the same.
    seccompProfile:
      type: RuntimeDefault
    capabilities:
      drop: [ALL]
      {{- with $container.capabilities }}
      add: {{ toJson . }}
      {{- end }}
{{- include "gpu-dra.driverMounts" (dict "ctx" $ctx "variant" $variant "container" $container.name "mounts" $container.mounts "volumes" .volumes) }}
{{- end -}}

{{- define "gpu-dra.driverArgs" -}}
{{- $tokens := .variant.tokens -}}
{{- $args := list -}}
{{- range .args -}}
{{- $out := dict -}}
{{- include "gpu-dra.fillTokens" (dict "text" . "tokens" $tokens "out" $out) -}}
{{- if not $out.missing -}}
{{- $args = append $args $out.text -}}
{{- end -}}
{{- end -}}
{{- with $args }}
  args:
  {{- range . }}
  - {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* The profile's environment, then the user's: a name stands once, and what was said last holds. */ -}}
{{- define "gpu-dra.driverEnv" -}}
{{- $ctx := .ctx -}}
{{- $variant := .variant -}}
{{- $env := list -}}
{{- $seen := dict -}}
{{- range reverse ($variant.config.extraEnv | default list) -}}
{{- if not (hasKey $seen .name) -}}
{{- $_ := set $seen .name true -}}
{{- $env = append $env (dict "name" .name "value" (.value | default "")) -}}
{{- end -}}
{{- end -}}
{{- $extra := reverse $env -}}
{{- $env = list -}}
{{- range .env -}}
{{- if and (not (hasKey $seen .name)) (or (not .when) (include "gpu-dra.when" (dict "when" .when "variant" $variant "ctx" $ctx))) -}}
{{- if .field -}}
{{- $env = append $env (dict "name" .name "field" .field) -}}
{{- else -}}
{{- $out := dict -}}
{{- include "gpu-dra.fillTokens" (dict "text" (.value | default "") "tokens" $variant.tokens "out" $out) -}}
{{- if not $out.missing -}}
{{- $env = append $env (dict "name" .name "value" $out.text) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with concat $env $extra }}
  env:
  {{- range . }}
  - name: {{ .name | quote }}
    {{- if hasKey . "field" }}
    valueFrom:
      fieldRef:
        fieldPath: {{ .field | quote }}
    {{- else }}
    value: {{ .value | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "gpu-dra.driverMounts" -}}
{{- $ctx := .ctx -}}
{{- $variant := .variant -}}
{{- $volumes := .volumes -}}
{{- $mounts := list -}}
{{- range .mounts -}}
{{- if or (not .when) (include "gpu-dra.when" (dict "when" .when "variant" $variant "ctx" $ctx)) -}}
{{- $host := include "gpu-dra.path" (dict "path" .hostPath "tokens" $variant.tokens) -}}
{{- $path := include "gpu-dra.path" (dict "path" (.path | default .hostPath) "tokens" $variant.tokens) -}}
{{- $name := .name -}}
{{- $readOnly := .readOnly | default false -}}
{{- if ne $readOnly (dig $name "readOnly" $readOnly $volumes) -}}
{{- /* A volume is mounted in one way everywhere: of one that is mounted in both, Deckhouse's policies cannot be told. */ -}}
{{- $name = printf "%s-%s" (ternary "read-only" "writable" $readOnly) (sha256sum .name | trunc 8) -}}
{{- end -}}
{{- $by := append (dig $name "by" list $volumes) $.container | uniq -}}
{{- $_ := set $volumes $name (dict "path" $host "type" .type "readOnly" $readOnly "by" $by) -}}
{{- $mounts = append $mounts (dict "name" $name "path" $path "readOnly" $readOnly "propagation" .propagation) -}}
{{- end -}}
{{- end -}}
{{- with $mounts }}
  volumeMounts:
  {{- range . }}
  - name: {{ .name | quote }}
    mountPath: {{ .path | quote }}
    {{- if .readOnly }}
    readOnly: true
    {{- end }}
    {{- with .propagation }}
    mountPropagation: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Volumes of a pod, by name. */ -}}
{{- define "gpu-dra.driverVolumes" -}}
{{- $first := true -}}
{{- range $name, $volume := . -}}
{{- if not $first }}
{{ end -}}
{{- $first = false -}}
- name: {{ $name | quote }}
  hostPath:
    path: {{ $volume.path | quote }}
    {{- with $volume.type }}
    type: {{ . | quote }}
    {{- end }}
{{- end -}}
{{- end -}}
