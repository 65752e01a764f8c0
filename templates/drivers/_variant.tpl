{{- /*
A variant is a driver with one set of settings on one root directory of the kubelet. Groups that differ in nothing else share it, and
the text of their pods is made once. Adds to the dict `variant`, which has config, gates and kubeletRoot:

  defaults      defaults of the driver's gates by name
  version       of the driver
  image         with its registry
  tokens        list of {token, value}
  containers    those that are on, as text of the pod's spec
  initContainers, volumes   the same
  containerNames
  rules, namespaceRules   of its own ServiceAccounts, beside those of all groups
  asks, hostPaths   what its containers and volumes are allowed more than others (_security-policy.tpl)

Takes a dict: root, driver, variant.
*/ -}}
{{- define "gpu-dra.loadVariant" -}}
{{- $ctx := .root.gpuDra -}}
{{- $plugin := .driver.plugin -}}
{{- $own := .driver.rules.own -}}
{{- $variant := .variant -}}
{{- $config := $variant.config -}}
{{- $defaults := dict -}}
{{- range .driver.profile.gates -}}
{{- $_ := set $defaults .name (.default | default false) -}}
{{- end -}}
{{- $_ := set $variant "defaults" $defaults -}}
{{- $_ := set $variant "version" (include "gpu-dra.driverVersion" (dict "plugin" $plugin "config" $config)) -}}
{{- /* A name in images_digests.json is in camel case. */ -}}
{{- $name := .driver.component | camelcase | untitle -}}
{{- $_ := set $variant "image" (include "gpu-dra.image" (dict "root" .root "name" $name "override" $config.image "repository" $plugin.image.repository "tag" ($plugin.image.tag | toString))) -}}
{{- include "gpu-dra.loadTokens" . -}}
{{- /* Driver and exporter may be taken off a node together, and only the driver's plugin can give back what the exporter's pod has. */ -}}
{{- $exporter := .driver.profile.exporter -}}
{{- $_ := set $variant "outlives" "" -}}
{{- if and $exporter (eq $ctx.settings.exporter.mode "DaemonSet") -}}
{{- $_ := set $variant "outlives" (include "gpu-dra.exporterClaims" (dict "ctx" $ctx "exporter" $exporter)) -}}
{{- end -}}
{{- $volumes := dict -}}
{{- $containers := list -}}
{{- range $plugin.containers -}}
{{- if include "gpu-dra.when" (dict "when" .when "variant" $variant "ctx" $ctx) -}}
{{- $containers = append $containers . -}}
{{- end -}}
{{- end -}}
{{- $text := list -}}
{{- $names := list -}}
{{- $asks := list -}}
{{- range $i, $container := $containers -}}
{{- $text = append $text (include "gpu-dra.driverContainer" (dict "ctx" $ctx "variant" $variant "container" $container "index" $i "volumes" $volumes)) -}}
{{- $names = append $names $container.name -}}
{{- $asks = append $asks (dict "container" $container.name "from" $container "capabilities" $container.capabilities "root" true) -}}
{{- end -}}
{{- $_ := set $variant "initContainers" (include "gpu-dra.guardContainer" (dict "root" .root "driver" .driver "variant" $variant "volumes" $volumes) | indent 6) -}}
{{- $_ := set $variant "containers" (join "\n" $text | indent 6) -}}
{{- $_ := set $variant "containerNames" $names -}}
{{- range $name := list "rules" "namespaceRules" -}}
{{- $rules := dict -}}
{{- include "gpu-dra.driverRules" (dict "ctx" $ctx "driver" (dict "variants" (list $variant)) "rules" (get $own $name | default list) "out" $rules) -}}
{{- $_ := set $variant $name $rules.list -}}
{{- end -}}
{{- $_ := set $variant "asks" $asks -}}
{{- $_ := set $variant "hostPaths" $volumes -}}
{{- $_ := set $variant "volumes" "" -}}
{{- if $volumes -}}
{{- $_ := set $variant "volumes" (include "gpu-dra.driverVolumes" $volumes | indent 6) -}}
{{- end -}}
{{- end -}}

{{- /* What the tokens of a profile stand for. An empty value: there is none. */ -}}
{{- define "gpu-dra.loadTokens" -}}
{{- $ctx := .root.gpuDra -}}
{{- $config := .variant.config -}}
{{- $gates := list -}}
{{- range $name, $on := .variant.gates -}}
{{- $gates = append $gates (printf "%s=%t" $name $on) -}}
{{- end -}}
{{- $secrets := list -}}
{{- if $ctx.registry.dockercfg -}}
{{- $secrets = append $secrets "gpu-dra-module-registry" -}}
{{- end -}}
{{- range $ctx.settings.imagePullSecrets -}}
{{- $secrets = append $secrets .name -}}
{{- end -}}
{{- $logLevel := "" -}}
{{- if hasKey $config "logLevel" -}}
{{- $logLevel = int $config.logLevel | toString -}}
{{- end -}}
{{- $driverRoot := clean ($config.driverRoot | default "/") -}}
{{- /* What a user writes comes last: a token in it stays as it is. */ -}}
{{- $_ := set .variant "tokens" (list
  (list "{image}" .variant.image)
  (list "{pullSecrets}" (join "," $secrets))
  (list "{namespace}" $ctx.namespace)
  (list "{logLevel}" $logLevel)
  (list "{cdiRoot}" ($ctx.distribution.cdiRoot | default "/var/run/cdi"))
  (list "{kubeletRoot}" (trimSuffix "/" .variant.kubeletRoot))
  (list "{driverRootParent}" (dir $driverRoot))
  (list "{driverRootName}" (base $driverRoot))
  (list "{driverRoot}" $driverRoot)
  (list "{featureGates}" (join "," $gates))
) -}}
{{- end -}}

{{- /*
Fills tokens in. Sets out.text, and out.missing where a token has no value. Takes a dict: text, tokens, out.
*/ -}}
{{- define "gpu-dra.fillTokens" -}}
{{- $text := .text | toString -}}
{{- $missing := false -}}
{{- if contains "{" $text -}}
{{- range .tokens -}}
{{- if contains (index . 0) $text -}}
{{- if not (index . 1) -}}
{{- $missing = true -}}
{{- end -}}
{{- $text = replace (index . 0) (index . 1) $text -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set .out "text" $text -}}
{{- $_ := set .out "missing" $missing -}}
{{- end -}}

{{- /* A path with tokens, without doubled slashes: the root of a driver is often the root itself. Takes a dict: path, tokens. */ -}}
{{- define "gpu-dra.path" -}}
{{- $out := dict -}}
{{- include "gpu-dra.fillTokens" (dict "text" .path "tokens" .tokens "out" $out) -}}
{{- clean $out.text -}}
{{- end -}}
