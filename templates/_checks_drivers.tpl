{{- /*
Settings of one driver that its plugin has no use for, or does not start with; settings.Problems says the same in Go. A driver without
a plugin is installed by other means: its gates are said so that gpu-dra knows of them. Takes a dict: in, driver, config (settings of
the driver), path (of them).
*/ -}}
{{- define "gpu-dra.checkTaken" -}}
{{- $in := . -}}
{{- $config := .config | default dict -}}
{{- $level := $config.logLevel -}}
{{- $said := not (kindIs "invalid" $level) -}}
{{- $plugin := (get .in.ctx.profiles .driver | default dict).plugin -}}
{{- if and $plugin (or $config.featureGates $said) (not (has .driver .in.ctx.facts.refusedDrivers)) -}}
{{- $out := dict -}}
{{- include "gpu-dra.pluginTakes" (dict "ctx" .in.ctx "driver" .driver "plugin" $plugin "out" $out) -}}
{{- range $name, $on := $config.featureGates -}}
{{- if not (or $out.takes.featureGates (hasKey $out.takes.gates $name)) -}}
{{- include "gpu-dra.fault" (list $in.in.found (printf "%s.featureGates.%s: found %t, expected none: the plugin of the driver %s takes no such gate; remove it" $in.path $name $on $in.driver)) -}}
{{- end -}}
{{- end -}}
{{- if and $said (not $out.takes.logLevel) -}}
{{- include "gpu-dra.fault" (list .in.found (printf "%s.logLevel: found %d, expected none: the plugin of the driver %s takes no log level; remove it" .path (int $level) .driver)) -}}
{{- else if and $said $plugin.logLevels -}}
{{- $min := int $plugin.logLevels.min -}}
{{- $max := int $plugin.logLevels.max -}}
{{- if or (lt (int $level) $min) (gt (int $level) $max) -}}
{{- include "gpu-dra.fault" (list .in.found (printf "%s.logLevel: found %d, expected %d to %d: the plugin of the driver %s starts with no other" .path (int $level) $min $max .driver)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
What of the settings reaches a plugin, found out once a render. Sets out.takes: logLevel and featureGates (all that are set), and gates,
those that a part of the plugin depends on by name. Takes a dict: ctx, driver, plugin, out.
*/ -}}
{{- define "gpu-dra.pluginTakes" -}}
{{- $ctx := .ctx -}}
{{- $plugin := .plugin -}}
{{- if not (hasKey $ctx "pluginTakes") -}}
{{- $_ := set $ctx "pluginTakes" dict -}}
{{- end -}}
{{- if not (hasKey $ctx.pluginTakes .driver) -}}
{{- $texts := list -}}
{{- $parts := concat $plugin.containers ($plugin.rules | default list) ($plugin.namespaceRules | default list) -}}
{{- range $plugin.containers -}}
{{- $texts = concat $texts (.args | default list) -}}
{{- $parts = concat $parts (.env | default list) (.mounts | default list) -}}
{{- range .env -}}
{{- $texts = append $texts (.value | default "") -}}
{{- end -}}
{{- end -}}
{{- $gates := dict -}}
{{- range $parts -}}
{{- with (.when | default dict).gate -}}
{{- $_ := set $gates . true -}}
{{- end -}}
{{- end -}}
{{- $text := join "\n" $texts -}}
{{- $_ := set $ctx.pluginTakes .driver (dict "logLevel" (contains "{logLevel}" $text) "featureGates" (contains "{featureGates}" $text) "gates" $gates) -}}
{{- end -}}
{{- $_ := set .out "takes" (get $ctx.pluginTakes .driver) -}}
{{- end -}}
