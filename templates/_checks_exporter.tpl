{{- /*
Images of exporters that the settings name and that are too old for DRA: they hang, or show devices without pods. settings.Problems
says the same in Go. Takes what the checks in _checks.tpl take.
*/ -}}
{{- define "gpu-dra.checkExporterImages" -}}
{{- $in := . -}}
{{- range $name, $config := .ctx.settings.drivers -}}
{{- include "gpu-dra.checkExporterImage" (dict "in" $in "driver" $name "config" $config "path" (printf "drivers.%s" $name)) -}}
{{- end -}}
{{- range $i, $group := .ctx.settings.nodeGroups -}}
{{- range $name, $config := $group.driverOverrides -}}
{{- include "gpu-dra.checkExporterImage" (dict "in" $in "driver" $name "config" $config "path" (printf "nodeGroups[%d].driverOverrides.%s" $i $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Profiling metrics among those of the user's choice: sidecars have none, and would leave them out without a word. settings.Problems says
the same in Go. Takes what the checks in _checks.tpl take.
*/ -}}
{{- define "gpu-dra.checkSidecarMetrics" -}}
{{- $in := . -}}
{{- $settings := .ctx.settings.exporter -}}
{{- if and (eq $settings.mode "Sidecar") (eq $settings.metrics "Custom") -}}
{{- range $i, $metric := $settings.customMetrics -}}
{{- $drivers := list -}}
{{- range $name, $profile := $in.ctx.profiles -}}
{{- with $profile.exporter -}}
{{- if and (hasKey . "sidecar") .metrics -}}
{{- if include "gpu-dra.hasPrefix" (dict "name" $metric "prefixes" .metrics.profilingPrefixes) -}}
{{- $drivers = append $drivers $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $drivers -}}
{{- include "gpu-dra.fault" (list $in.found (printf "exporter.customMetrics[%d]: found %q, a profiling metric of the driver %s, expected none with exporter.mode Sidecar: one process on a card can serve them; use the mode DaemonSet" $i $metric (first $drivers))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-dra.checkExporterImage" -}}
{{- $exporter := (get .in.ctx.profiles .driver | default dict).exporter -}}
{{- $tag := (((.config | default dict).exporter | default dict).image | default dict).tag | default "" -}}
{{- if and $exporter $tag -}}
{{- $versions := regexFindAll `[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}` $tag -1 -}}
{{- if and $exporter.minVersion $versions -}}
{{- if not (semverCompare (printf ">=%s" $exporter.minVersion) (regexReplaceAll `(^|\.)0+([0-9])` (last $versions) "${1}${2}")) -}}
{{- include "gpu-dra.fault" (list .in.found (printf "%s.exporter.image.tag: found %q, expected version %s or newer: an older exporter does not work with DRA" .path $tag $exporter.minVersion)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The exporter in a profile of the user's own, as profile.Validate. Takes a dict: found, path (of the profile), profile. */ -}}
{{- define "gpu-dra.checkOwnExporter" -}}
{{- $in := . -}}
{{- $exporter := .profile.exporter -}}
{{- $pathTokens := list "{driverRootName}" "{kubeletRoot}" "{cdiRoot}" "{driverRoot}" "{driverRootParent}" -}}
{{- $runTokens := list "{listen}" "{port}" "{interval}" "{intervalMs}" "{intervalSeconds}" -}}
{{- $tokens := concat (list "{namespace}") $runTokens $pathTokens -}}
{{- if gt (len .profile.name) 54 -}}
{{- include "gpu-dra.ownFault" (list $in "name" (quote .profile.name) "at most 54 characters: pods of its exporter have the label exporter-<name>, and a label no more than 63") -}}
{{- end -}}
{{- range $i, $text := $exporter.args -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "exporter.args[%d]" $i) "text" $text "allowed" $tokens) -}}
{{- end -}}
{{- include "gpu-dra.checkOwnEnv" (dict "in" $in "field" "exporter." "env" $exporter.env "allowed" $tokens) -}}
{{- range $i, $wait := $exporter.waitFor -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "exporter.waitFor[%d].hostPath" $i) "text" $wait.hostPath "allowed" $pathTokens) -}}
{{- range $j, $file := $wait.anyOf -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "exporter.waitFor[%d].anyOf[%d]" $i $j) "text" $file "allowed" (list "{driverRootName}")) -}}
{{- end -}}
{{- end -}}
{{- include "gpu-dra.checkOwnMounts" (dict "in" $in "field" "exporter" "container" $exporter "volumes" dict "allowed" $pathTokens) -}}
{{- range $i, $mount := $exporter.mounts -}}
{{- if hasPrefix "gpu-dra-" $mount.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.mounts[%d].name" $i) (quote $mount.name) "a name that does not begin with gpu-dra-, which volumes of the chart have") -}}
{{- end -}}
{{- end -}}
{{- if eq (($exporter.health | default dict).port | default 0 | int) (int $exporter.port) -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.health.port" (int $exporter.port) "a port that nothing else in the pod listens on") -}}
{{- end -}}
{{- $classes := dict -}}
{{- range .profile.classes -}}
{{- $_ := set $classes .name true -}}
{{- end -}}
{{- with $exporter.adminClaim -}}
{{- if not (hasKey $classes .class) -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.adminClaim.class" (quote .class) "one of the profile's classes") -}}
{{- end -}}
{{- if and .staticClass (not (hasKey $classes .staticClass)) -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.adminClaim.staticClass" (quote .staticClass) "one of the profile's classes") -}}
{{- end -}}
{{- end -}}
{{- $parts := list -}}
{{- range $list := list "env" "capabilities" "mounts" "rules" -}}
{{- range $i, $part := get $exporter $list | default list -}}
{{- $parts = append $parts (list (printf "exporter.%s[%d].when" $list $i) $part.when) -}}
{{- end -}}
{{- end -}}
{{- range $parts -}}
{{- $when := index . 1 | default dict -}}
{{- if or $when.gate $when.computeDomains $when.since -}}
{{- include "gpu-dra.ownFault" (list $in (index . 0) "gate, computeDomains or since" "none of them: they are for parts of a plugin") -}}
{{- end -}}
{{- if and $when.adminClaim (not $exporter.adminClaim) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.adminClaim" (index . 0)) true "none without exporter.adminClaim") -}}
{{- end -}}
{{- end -}}
{{- range $name, $text := ($exporter.config | default dict).files -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "exporter.config.files[%s]" $name) "text" $text "allowed" (concat (list "{counters}" "{metrics}" "{profiling}") $runTokens)) -}}
{{- if not (regexMatch `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$` $name) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.config.files[%s]" $name) (quote $name) "the name of a file: at most 63 letters, digits, dots, dashes and underscores") -}}
{{- end -}}
{{- end -}}
{{- if and $exporter.config (not $exporter.config.files) -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.config.files" "none" "at least one file") -}}
{{- end -}}
{{- if hasKey $exporter "sidecar" -}}
{{- if not $exporter.command -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.command" "none" "the exporter's program, which a sidecar's entry starts") -}}
{{- end -}}
{{- $sidecarTokens := prepend $runTokens "{config}" -}}
{{- include "gpu-dra.checkOwnEnv" (dict "in" $in "field" "exporter.sidecar." "env" $exporter.sidecar.env "allowed" $sidecarTokens) -}}
{{- range $i, $text := $exporter.sidecar.args -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "exporter.sidecar.args[%d]" $i) "text" $text "allowed" $sidecarTokens) -}}
{{- end -}}
{{- $resources := $exporter.sidecar.resources | default dict -}}
{{- $limits := $resources.limits | default dict -}}
{{- range $name := list "cpu" "memory" -}}
{{- if hasKey $limits $name -}}
{{- if eq (include "gpu-dra.amount" (get $limits $name) | float64) 0.0 -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.sidecar.resources.limits[%s]" $name) (get $limits $name | toString | quote) "an amount above 0") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $request := $resources.requests -}}
{{- $limit := get $limits $name | default "0" -}}
{{- if or (not (hasKey $limits $name)) (lt (include "gpu-dra.amount" $request | float64) (include "gpu-dra.amount" $limit | float64)) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.sidecar.resources.requests[%s]" $name) ($request | toString | quote) "the amount that stands in limits, or none") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $metrics := dict -}}
{{- range $list := list "default" "profiling" "optional" -}}
{{- range $i, $metric := get ($exporter.metrics | default dict) $list | default list -}}
{{- if hasKey $metrics $metric.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.metrics.%s[%d].name" $list $i) (quote $metric.name) "a metric's name that the profile does not already have") -}}
{{- end -}}
{{- $_ := set $metrics $metric.name true -}}
{{- end -}}
{{- end -}}
{{- range $path, $resources := dict "exporter.resources" $exporter.resources "exporter.sidecar.resources" ($exporter.sidecar | default dict).resources -}}
{{- include "gpu-dra.checkResources" (dict "found" $in.found "path" (printf "%s.%s" $in.path $path) "resources" $resources) -}}
{{- end -}}
{{- include "gpu-dra.checkOwnMetricNames" (dict "in" $in "metricNames" ($exporter.metricNames | default dict)) -}}
{{- if and $exporter.memory (hasKey (($exporter.resources | default dict).limits | default dict) "memory") -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.resources.limits[memory]" ($exporter.resources.limits.memory | toString | quote) "none with exporter.memory, which makes it") -}}
{{- end -}}
{{- $request := (($exporter.resources | default dict).requests | default dict).memory -}}
{{- if and $exporter.memory $request -}}
{{- if gt (include "gpu-dra.amount" $request | float64) (include "gpu-dra.amount" $exporter.memory.base | float64) -}}
{{- include "gpu-dra.ownFault" (list $in "exporter.resources.requests[memory]" ($request | toString | quote) (printf "at most exporter.memory.base, which is %s" $exporter.memory.base)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Names that rules are made of: the operator refuses the whole object for one rule that does not parse. Takes a dict: in, metricNames. */ -}}
{{- define "gpu-dra.checkOwnMetricNames" -}}
{{- $in := .in -}}
{{- range $key, $entries := .metricNames.series -}}
{{- range $i, $entry := $entries -}}
{{- range $label, $_ := $entry.match -}}
{{- if not (regexMatch `^[a-zA-Z_][a-zA-Z0-9_]*$` $label) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.metricNames.series[%s][%d].match[%s]" $key $i $label) (quote $label) "the name of a label") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $i, $renamed := $.metricNames.renamed -}}
{{- if has $renamed.was (list "up" "scrape_duration_seconds" "scrape_samples_scraped" "scrape_samples_post_metric_relabeling" "scrape_series_added") -}}
{{- include "gpu-dra.ownFault" (list $in (printf "exporter.metricNames.renamed[%d].was" $i) (quote $renamed.was) "a metric of the exporter: this one Prometheus itself makes of each scrape") -}}
{{- end -}}
{{- end -}}
{{- range $list := list "renamed" "renamedLabels" -}}
{{- $path := printf "exporter.metricNames.%s" $list -}}
{{- $old := dict -}}
{{- range $i, $renamed := get $.metricNames $list | default list -}}
{{- if hasKey $old $renamed.was -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s[%d].was" $path $i) (quote $renamed.was) "the name before, which no other entry has") -}}
{{- end -}}
{{- $_ := set $old $renamed.was true -}}
{{- if eq $renamed.was (get $renamed "now") -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s[%d].now" $path $i) (quote $renamed.was) "another name, the one of the newer exporter") -}}
{{- end -}}
{{- end -}}
{{- range $i, $renamed := get $.metricNames $list | default list -}}
{{- if and (ne $renamed.was (get $renamed "now")) (hasKey $old (get $renamed "now")) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s[%d].now" $path $i) (get $renamed "now" | quote) "a name that no entry has for the one before") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Variables of a container: names once, tokens that there are. Takes a dict: in, field, env, allowed. */ -}}
{{- define "gpu-dra.checkOwnEnv" -}}
{{- $in := . -}}
{{- $variables := dict -}}
{{- range $i, $env := .env -}}
{{- if hasKey $variables $env.name -}}
{{- include "gpu-dra.ownFault" (list $in.in (printf "%senv[%d].name" $in.field $i) (quote $env.name) "the name of a variable that the container does not already have") -}}
{{- end -}}
{{- $_ := set $variables $env.name true -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in.in "field" (printf "%senv[%d].value" $in.field $i) "text" ($env.value | default "") "allowed" $in.allowed) -}}
{{- end -}}
{{- end -}}
