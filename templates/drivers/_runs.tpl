{{- /*
Which drivers run where, found out once a render: $.gpuDra.driverRuns, a list by profile name of

  name, profile, plugin
  component     driver-<name>
  rules         of the plugin, shared by all groups and not (_rules.tpl)
  runs          one a node group: group, account (also the name of the DaemonSet), facts (of the group, from hooks), variant, passive

A group that is passive has its DaemonSet too: it runs where a person said so by the label of a node.
*/ -}}
{{- define "gpu-dra.loadDriverRuns" -}}
{{- $root := . -}}
{{- $ctx := .gpuDra -}}
{{- if not (hasKey $ctx "driverRuns") -}}
{{- $byDriver := dict -}}
{{- range $group := $ctx.settings.nodeGroups -}}
{{- $facts := get $ctx.facts.nodeGroups $group.name | default dict -}}
{{- range $name := $group.drivers -}}
{{- $profile := get $ctx.profiles $name | default dict -}}
{{- if $profile.plugin -}}
{{- if not (hasKey $byDriver $name) -}}
{{- $rules := dict -}}
{{- include "gpu-dra.splitRules" (dict "plugin" $profile.plugin "out" $rules) -}}
{{- $_ := set $byDriver $name (dict "name" $name "profile" $profile "plugin" $profile.plugin "component" (printf "driver-%s" $name) "rules" $rules "runs" list "byKey" dict) -}}
{{- end -}}
{{- $driver := get $byDriver $name -}}
{{- $kubeletRoot := $profile.plugin.kubeletRoot | default $facts.kubeletRootDir | default $group.kubeletRootDir | default $ctx.distribution.kubeletRootDir -}}
{{- $out := dict -}}
{{- include "gpu-dra.driverConfigIn" (dict "ctx" $ctx "group" $group "driver" $name "out" $out) -}}
{{- $key := printf "%s %s" $kubeletRoot $out.key -}}
{{- if not (hasKey $driver.byKey $key) -}}
{{- $variant := dict "config" $out.config "gates" $out.gates "kubeletRoot" (clean $kubeletRoot) -}}
{{- include "gpu-dra.loadVariant" (dict "root" $root "driver" $driver "variant" $variant) -}}
{{- $_ := set $driver.byKey $key $variant -}}
{{- end -}}
{{- $variant := get $driver.byKey $key -}}
{{- /* A group for which no container of the plugin is on has no pod. */ -}}
{{- if $variant.containerNames -}}
{{- $run := dict "group" $group "account" (printf "%s-%s" $driver.component $group.name) "facts" $facts "variant" $variant "passive" ($group.passive | default false) -}}
{{- $_ := set $driver "runs" (append $driver.runs $run) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $runs := list -}}
{{- range $name, $driver := $byDriver -}}
{{- if $driver.runs -}}
{{- $runs = append $runs $driver -}}
{{- end -}}
{{- end -}}
{{- $_ := set $ctx "driverRuns" $runs -}}
{{- end -}}
{{- end -}}

{{- /* The tolerations of a run, each once: the group's, then the profile's own. Sets out.list. Takes a dict: driver, run, out. */ -}}
{{- define "gpu-dra.runTolerations" -}}
{{- $own := .run.group.tolerations | default list -}}
{{- if hasKey .run.facts "tolerations" -}}
{{- $own = .run.facts.tolerations -}}
{{- end -}}
{{- $_ := set .out "list" (concat $own (.driver.plugin.tolerations | default list) | uniq) -}}
{{- end -}}

{{- /* Labels that select the nodes of a run. Sets out.selector. Takes a dict: ctx, run, out. */ -}}
{{- define "gpu-dra.runSelector" -}}
{{- $selector := .run.facts.nodeSelector | default .run.group.nodeSelector -}}
{{- if not $selector -}}
{{- $selector = dict .ctx.distribution.nodeGroupLabel .run.group.name -}}
{{- end -}}
{{- $_ := set .out "selector" $selector -}}
{{- end -}}

{{- /* Which nodes of those that are selected a run is for. Takes a dict: driver, run. */ -}}
{{- define "gpu-dra.runAffinity" -}}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        # The label of a node goes over the setting of its group.
        - key: gpu-dra.deckhouse.io/passive
          {{- if .run.passive }}
          operator: In
          values: ["false", "False", "no", "0"]
          {{- else }}
          operator: NotIn
          values: ["true", "True", "yes", "1"]
          {{- end }}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    # A node in two groups has driver and exporter of one.
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchExpressions:
        - key: gpu-dra.deckhouse.io/driver
          operator: In
          values: [{{ .driver.name | quote }}]
        - key: gpu-dra.deckhouse.io/node-group
          operator: NotIn
          values: [{{ .run.group.name | quote }}]
{{- end -}}
