{{- /*
What is in force for one driver on one group. The helpers that end in -In put their answer into the dict `out`: printed and parsed
again, it would cost more than all the rest at hundreds of groups. Those that print are for checks of single settings.
*/ -}}

{{- /* Settings of a driver in force, as YAML. Takes a dict: ctx, group (entry of nodeGroups), driver (name of a profile). */ -}}
{{- define "gpu-dra.driverConfig" -}}
{{- $out := dict -}}
{{- include "gpu-dra.driverConfigIn" (dict "ctx" .ctx "group" .group "driver" .driver "out" $out) -}}
{{- toJson $out.config -}}
{{- end -}}

{{- /*
Gates of a driver in force, as YAML: name to bool, those that differ from the profile's default or that somebody set. Takes what
gpu-dra.driverConfig takes.
*/ -}}
{{- define "gpu-dra.driverGates" -}}
{{- $out := dict -}}
{{- include "gpu-dra.driverConfigIn" (dict "ctx" .ctx "group" .group "driver" .driver "out" $out) -}}
{{- toJson $out.gates -}}
{{- end -}}

{{- /*
Sets out.config (drivers.<name> with driverOverrides.<name> over it, key by key, feature gates one by one) and out.gates (what the
group's partitioning and passthrough switch on, then the settings). Groups that say the same share one answer: it is not to be
changed.
*/ -}}
{{- define "gpu-dra.driverConfigIn" -}}
{{- $ctx := .ctx -}}
{{- $group := .group -}}
{{- $out := .out -}}
{{- if not (hasKey $ctx "driverConfigs") -}}
{{- $_ := set $ctx "driverConfigs" dict -}}
{{- end -}}
{{- $partitioning := $group.partitioning | default "None" -}}
{{- $passthrough := $group.passthrough | default false -}}
{{- $override := get ($group.driverOverrides | default dict) .driver | default dict -}}
{{- $key := printf "%s %s %t" .driver $partitioning $passthrough -}}
{{- if $override -}}
{{- $key = printf "%s %s" $key (toJson $override) -}}
{{- end -}}
{{- if not (hasKey $ctx.driverConfigs $key) -}}
{{- $config := dict -}}
{{- $set := dict -}}
{{- range $from := list (get $ctx.settings.drivers .driver | default dict) $override -}}
{{- range $name, $value := $from -}}
{{- if and (eq $name "featureGates") $value -}}
{{- range $gate, $on := $value -}}
{{- $_ := set $set $gate $on -}}
{{- end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $config $name $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "featureGates" $set -}}
{{- $gates := dict -}}
{{- range (get $ctx.profiles .driver | default dict).gates -}}
{{- $wanted := or (and .partitioning (eq .partitioning $partitioning)) (and .passthrough $passthrough) -}}
{{- if and $wanted (not .default) -}}
{{- $_ := set $gates .name true -}}
{{- end -}}
{{- end -}}
{{- range $gate, $on := $set -}}
{{- $_ := set $gates $gate $on -}}
{{- end -}}
{{- $_ := set $ctx.driverConfigs $key (dict "config" $config "gates" $gates "key" $key) -}}
{{- end -}}
{{- range $name, $value := get $ctx.driverConfigs $key -}}
{{- $_ := set $out $name $value -}}
{{- end -}}
{{- end -}}

{{- /*
Version of a driver in force: that of the image's tag, or the profile's own where the settings name a digest alone or a tag that
is no version. Empty where neither is one. Takes a dict: plugin, config.
*/ -}}
{{- define "gpu-dra.driverVersion" -}}
{{- $version := `^v?((0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){1,2})(-.*)?$` -}}
{{- $tag := (.config.image | default dict).tag | default "" -}}
{{- if not (regexMatch $version $tag) -}}
{{- $tag = .plugin.image.tag | toString -}}
{{- end -}}
{{- if regexMatch $version $tag -}}
{{- regexReplaceAll $version $tag "${1}" -}}
{{- end -}}
{{- end -}}

{{- /* Whether a part of a plugin or an exporter is on: "true", or nothing. Takes a dict: when (may be nothing), variant (_variant.tpl, exporter/_variant.tpl), ctx. */ -}}
{{- define "gpu-dra.when" -}}
{{- $variant := .variant -}}
{{- $on := true -}}
{{- with .when -}}
{{- if .gate -}}
{{- $on = get $variant.defaults .gate -}}
{{- if hasKey $variant.gates .gate -}}
{{- $on = get $variant.gates .gate -}}
{{- end -}}
{{- end -}}
{{- if and .computeDomains (not $variant.config.computeDomains) -}}
{{- $on = false -}}
{{- end -}}
{{- if or (and .profiling (not $variant.profiling)) (and .adminClaim (not $variant.adminClaim)) -}}
{{- $on = false -}}
{{- end -}}
{{- /* A version that nobody can tell is taken for a new one: who builds an image of their own seldom builds an old one. */ -}}
{{- if and .since $variant.version -}}
{{- if not (semverCompare (printf ">=%s" .since) $variant.version) -}}
{{- $on = false -}}
{{- end -}}
{{- end -}}
{{- if .kubernetesSince -}}
{{- if not (semverCompare (printf ">=%s-0" .kubernetesSince) $.ctx.facts.kubernetesVersion) -}}
{{- $on = false -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $on -}}true{{- end -}}
{{- end -}}
