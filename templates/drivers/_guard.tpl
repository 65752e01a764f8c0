{{- /*
The init container that keeps a plugin from starting beside another manager of the same cards, or before the files are there that
it needs. Adds the host folders it looks into to the dict `volumes`. Takes a dict: root, driver, variant, volumes, and token, the name
of a volume with a token where the pod does not mount one everywhere.
*/ -}}
{{- define "gpu-dra.guardContainer" -}}
{{- $root := .root -}}
{{- $ctx := $root.gpuDra -}}
{{- $profile := .driver.profile -}}
{{- $variant := .variant -}}
{{- $volumes := .volumes -}}
{{- $args := list "guard" "--node=$(NODE_NAME)" -}}
{{- range $profile.pluginResources -}}
{{- $args = append $args (printf "--plugin-resource=%s" .) -}}
{{- end -}}
{{- range concat ($profile.managers | default list) ($ctx.distribution.managers | default list) -}}
{{- if .nodeLabel -}}
{{- $values := "" -}}
{{- with .nodeLabelValues -}}
{{- $values = printf "=%s" (join "," .) -}}
{{- end -}}
{{- $args = append $args (printf "--manager-label=%s%s" .nodeLabel $values) -}}
{{- end -}}
{{- end -}}
{{- $mounts := dict -}}
{{- range $i, $wait := .driver.plugin.waitFor -}}
{{- $host := include "gpu-dra.path" (dict "path" .hostPath "tokens" $variant.tokens) -}}
{{- if not (hasKey $mounts $host) -}}
{{- $name := printf "guard-wait-%d" $i -}}
{{- range $known, $volume := $volumes -}}
{{- if and $volume.readOnly (eq $volume.path $host) -}}
{{- $name = $known -}}
{{- end -}}
{{- end -}}
{{- $_ := set $mounts $host $name -}}
{{- $volume := get $volumes $name | default (dict "path" $host "readOnly" true "by" list) -}}
{{- $_ := set $volumes $name (merge (dict "by" (append $volume.by "guard")) $volume) -}}
{{- end -}}
{{- $paths := list -}}
{{- range $wait.anyOf -}}
{{- $paths = append $paths (include "gpu-dra.path" (dict "path" (printf "/host/%s/%s" $host .) "tokens" $variant.tokens)) -}}
{{- end -}}
{{- $args = append $args (printf "--wait-for=%s=%s" .what (join "," $paths)) -}}
{{- end -}}
- name: guard
  image: {{ include "gpu-dra.ourImage" $root | quote }}
  imagePullPolicy: IfNotPresent
  args:
  {{- range $args }}
  - {{ . | quote }}
  {{- end }}
  env:
  - name: NODE_NAME
    valueFrom:
      fieldRef:
        fieldPath: spec.nodeName
  resources:
    requests:
      cpu: 10m
      memory: 32Mi
      ephemeral-storage: 10Mi
    limits:
      memory: 128Mi
  securityContext:
    runAsNonRoot: true
    runAsUser: 64535
    runAsGroup: 64535
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    seccompProfile:
      type: RuntimeDefault
    capabilities:
      drop: [ALL]
  {{- if or $mounts .token }}
  volumeMounts:
  {{- end }}
  {{- range $host, $volume := $mounts }}
  # What is mounted there later has to be seen here: a driver may come in a container of its own.
  - name: {{ $volume | quote }}
    mountPath: {{ clean (printf "/host/%s" $host) | quote }}
    readOnly: true
    mountPropagation: HostToContainer
  {{- end }}
  {{- with .token }}
  - name: {{ . | quote }}
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
  {{- end }}
{{- end -}}
