{{- /*
Which exporters run where, found out once a render: $.gpuDra.exporterRuns, a list by profile name of

  name, profile, exporter
  component     exporter-<name>: also the ServiceAccount, the ConfigMap and, with a group after it, the DaemonSet
  runs          one a node group: group, facts (of the group, from hooks), variant, passive
  variants      the different ones of the runs
  claims        templates of claims with admin access by name: their spec as text
  unclaimed     groups without the exporter, because it may not claim the devices
  profiling, counters, metrics, files   what it is asked for (_metrics.tpl)

It is empty unless exporters run in DaemonSets. Groups for virtual machines have none: what an exporter holds no machine can take.
*/ -}}
{{- define "gpu-dra.loadExporterRuns" -}}
{{- $root := . -}}
{{- $ctx := .gpuDra -}}
{{- if not (hasKey $ctx "exporterRuns") -}}
{{- $settings := $ctx.settings.exporter -}}
{{- $byDriver := dict -}}
{{- if eq $settings.mode "DaemonSet" -}}
{{- range $group := $ctx.settings.nodeGroups -}}
{{- if not $group.passthrough -}}
{{- range $name := $group.drivers -}}
{{- $profile := get $ctx.profiles $name | default dict -}}
{{- if $profile.exporter -}}
{{- if not (hasKey $byDriver $name) -}}
{{- $driver := dict "name" $name "profile" $profile "exporter" $profile.exporter "component" (printf "exporter-%s" $name) "runs" list "variants" list "byKey" dict "claims" dict "unclaimed" list -}}
{{- include "gpu-dra.loadExporterMetrics" (dict "ctx" $ctx "driver" $driver) -}}
{{- $_ := set $byDriver $name $driver -}}
{{- end -}}
{{- include "gpu-dra.exporterRun" (dict "root" $root "driver" (get $byDriver $name) "group" $group) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $runs := list -}}
{{- range $name, $driver := $byDriver -}}
{{- $runs = append $runs $driver -}}
{{- end -}}
{{- $_ := set $ctx "exporterRuns" $runs -}}
{{- end -}}
{{- end -}}

{{- /*
Whether an exporter claims devices with admin access: "true", or nothing. With the gate off the API server makes an ordinary claim of
it, which takes the devices from everybody. Takes a dict: ctx, exporter.
*/ -}}
{{- define "gpu-dra.exporterClaims" -}}
{{- $access := .ctx.settings.exporter.adminAccess -}}
{{- if and .exporter.adminClaim (not .ctx.facts.adminAccessOff) (or (eq $access "Always") (and (eq $access "Auto") .ctx.underHooks)) -}}true{{- end -}}
{{- end -}}

{{- /* Adds the run of a group to its driver. Groups that differ in nothing share a variant. Takes a dict: root, driver, group. */ -}}
{{- define "gpu-dra.exporterRun" -}}
{{- $root := .root -}}
{{- $ctx := .root.gpuDra -}}
{{- $driver := .driver -}}
{{- $group := .group -}}
{{- $exporter := .driver.exporter -}}
{{- $facts := get $ctx.facts.nodeGroups $group.name | default dict -}}
{{- $claims := include "gpu-dra.exporterClaims" (dict "ctx" $ctx "exporter" $exporter) | empty | not -}}
{{- /*
Where a claim would never be allocated, or wait: one holds 32 devices, and what is cut as claims come has counters, for which a claim
with admin access waits as any other does (k8s.io/dynamic-resource-allocation v0.34 to v0.37, checkAvailableCounters), so nobody may use
the node while it starts.
*/ -}}
{{- if or $facts.manyDevices (and (eq $ctx.settings.exporter.adminAccess "Auto") (eq ($group.partitioning | default "None") "Dynamic")) -}}
{{- $claims = false -}}
{{- end -}}
{{- if and $exporter.adminClaim (not $claims) (not $exporter.adminClaim.otherwise) -}}
{{- $_ := set $driver "unclaimed" (append $driver.unclaimed $group.name) -}}
{{- else -}}
{{- $class := "" -}}
{{- if $claims -}}
{{- $class = $exporter.adminClaim.class -}}
{{- if and (eq ($group.partitioning | default "None") "Static") $exporter.adminClaim.staticClass -}}
{{- $class = $exporter.adminClaim.staticClass -}}
{{- end -}}
{{- end -}}
{{- $kubeletRoot := ($driver.profile.plugin | default dict).kubeletRoot | default $facts.kubeletRootDir | default $group.kubeletRootDir | default $ctx.distribution.kubeletRootDir -}}
{{- /* A node that nobody has seen yet is taken for a large one. */ -}}
{{- $devices := max (int $facts.devicesPerNode) (int $group.expectedDevices) | default 8 | int -}}
{{- $out := dict -}}
{{- include "gpu-dra.driverConfigIn" (dict "ctx" $ctx "group" $group "driver" $driver.name "out" $out) -}}
{{- $key := printf "%s %s %s %d" $kubeletRoot $class $out.key $devices -}}
{{- if not (hasKey $driver.byKey $key) -}}
{{- $variant := dict "config" ($out.config.exporter | default dict) "driverRoot" ($out.config.driverRoot | default "/") "kubeletRoot" (clean $kubeletRoot) "devices" $devices "class" $class "adminClaim" $claims "profiling" $driver.profiling -}}
{{- include "gpu-dra.loadExporterVariant" (dict "root" $root "driver" $driver "variant" $variant) -}}
{{- $_ := set $driver.byKey $key $variant -}}
{{- $_ := set $driver "variants" (append $driver.variants $variant) -}}
{{- end -}}
{{- $run := dict "group" $group "facts" $facts "variant" (get $driver.byKey $key) "passive" ($group.passive | default false) -}}
{{- $_ := set $driver "runs" (append $driver.runs $run) -}}
{{- end -}}
{{- end -}}
