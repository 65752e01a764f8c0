{{- /* Labels of every object. Takes (list $ component). */ -}}
{{- define "gpu-dra.labels" -}}
{{ include "gpu-dra.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service | quote }}
{{- if (index . 0).gpuDra.underHooks }}
heritage: deckhouse
module: gpu-dra
{{- end }}
{{- end -}}

{{- /* Labels by which pods of a component are selected: they may never change. Takes (list $ component). */ -}}
{{- define "gpu-dra.selectorLabels" -}}
app.kubernetes.io/name: gpu-dra
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- /* Name of a cluster-scoped object of a component, as Deckhouse wants it there. Takes (list $ component). */ -}}
{{- define "gpu-dra.clusterName" -}}
{{- if (index . 0).gpuDra.underHooks }}d8:{{ end }}gpu-dra:{{ index . 1 -}}
{{- end -}}

{{- /*
Image of a component. Takes a dict: root, name (in images_digests.json), repository, tag, and override (image from the settings).
On Deckhouse it is the module's own by digest, unless the settings name another.
*/ -}}
{{- define "gpu-dra.image" -}}
{{- $override := .override | default dict -}}
{{- $registry := .root.gpuDra.registry -}}
{{- $own := get $registry.digests .name -}}
{{- if and $own $registry.base (not $override.repository) (not $override.tag) (not $override.digest) -}}
{{- printf "%s@%s" $registry.base $own -}}
{{- else -}}
{{- $repository := $override.repository | default .repository -}}
{{- with .root.gpuDra.settings.imageRegistry -}}
{{- $parts := splitList "/" $repository -}}
{{- $host := first $parts -}}
{{- if and (gt (len $parts) 1) (or (contains "." $host) (contains ":" $host) (eq $host "localhost")) -}}
{{- $parts = rest $parts -}}
{{- end -}}
{{- $repository = printf "%s/%s" . (join "/" $parts) -}}
{{- end -}}
{{- if $override.digest -}}
{{- printf "%s@%s" $repository $override.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($override.tag | default .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Our own image: controller, guard. */ -}}
{{- define "gpu-dra.ourImage" -}}
{{- include "gpu-dra.image" (dict "root" . "name" "controller" "override" .gpuDra.settings.controller.image "repository" "ghcr.io/gpu-dra/gpu-dra" "tag" (printf "v%s" .Chart.AppVersion)) -}}
{{- end -}}

{{- /* A toleration as an item of a list. Takes the toleration, as the schema lets it be. */ -}}
{{- define "gpu-dra.toleration" -}}
- operator: {{ .operator | default "Equal" | quote }}
{{- with .key }}
  key: {{ . | quote }}
{{- end }}
{{- with .value }}
  value: {{ . | quote }}
{{- end }}
{{- with .effect }}
  effect: {{ . | quote }}
{{- end }}
{{- if not (kindIs "invalid" .tolerationSeconds) }}
  tolerationSeconds: {{ int64 .tolerationSeconds }}
{{- end }}
{{- end -}}

{{- /* Pull secrets of a pod: the module's own where Deckhouse gave its registry a login, then the user's. */ -}}
{{- define "gpu-dra.imagePullSecrets" -}}
{{- $secrets := list -}}
{{- if .gpuDra.registry.dockercfg -}}
{{- $secrets = append $secrets (dict "name" "gpu-dra-module-registry") -}}
{{- end -}}
{{- $secrets = concat $secrets .gpuDra.settings.imagePullSecrets -}}
{{- if $secrets -}}
imagePullSecrets:
{{ toYaml $secrets }}
{{- end -}}
{{- end -}}

{{- /*
Data as YAML, or as JSON where YAML would not bring it through a template: toYaml cuts the last newline off, so text that ends in
several would change (`|+`), and it leaves Unicode's own line breaks as they are. JSON leaves characters as they are that YAML refuses.
*/ -}}
{{- define "gpu-dra.data" -}}
{{- $yaml := toYaml . -}}
{{- if or (regexMatch `(?m)[|>][0-9]*\+$` $yaml) (ne (toJson .) (printf "%s\n" $yaml | fromYaml | toJson)) -}}
{{- $json := toJson . | replace "\x7f" "\\u007f" -}}
{{- range regexFindAll "[\u0080-\u009f\ufeff\ufffe\uffff]" $json -1 | uniq -}}
{{- $json = replace . (printf "%+q" . | trimAll `"`) $json -}}
{{- end -}}
{{- $json -}}
{{- else -}}
{{- $yaml -}}
{{- end -}}
{{- end -}}

{{- /*
A whole text as the value of a key, readable where it can be: a block holds no control characters and no line breaks of Unicode's, it
takes blanks at its beginning for its indent, and those at its end are lost with the end of a document. Takes text without its last
line break, which the value has, and indent.
*/ -}}
{{- define "gpu-dra.text" -}}
{{- if or (regexMatch "[\u2028\u2029\ufeff\ufffe\uffff\x00-\x08\x0b-\x1f\x7f-\u009f]" .text) (regexMatch `^\n*[ \t]` .text) (not (regexMatch `[^ \t\n]$` .text)) -}}
{{- printf "%s\n" .text | quote -}}
{{- else -}}
|
{{ indent (int .indent) .text }}
{{- end -}}
{{- end -}}

{{- /* A list of names as text for a person, who reads no more than ten. */ -}}
{{- define "gpu-dra.notesList" -}}
{{- if gt (len .) 10 -}}
{{- slice . 0 10 | join ", " }} and {{ sub (len .) 10 }} more
{{- else -}}
{{- join ", " . -}}
{{- end -}}
{{- end -}}
