{{- /*
What every template works with is found out once a render and kept at $.gpuDra:

  settings      what the user wrote, with defaults
  underHooks    whether addon-operator runs our hooks: the key `internal` is there
  facts         what is known of the cluster; facts.nodeGroups is what hooks found out of a group, by its name
  distribution  the distribution's profile
  profiles      driver profiles by name, the user's own over the chart's; chartProfiles without the user's own
  namespace     where namespaced objects go
  registry      Deckhouse's registry and image digests, empty elsewhere
  driverRuns    which drivers run where, once gpu-dra.loadDriverRuns was asked (drivers/_runs.tpl)

The two loaders below are the only places that look at .Values and .Capabilities (internal/charttest checks that). Every file
that makes objects begins with an include of gpu-dra.init.
*/ -}}
{{- define "gpu-dra.init" -}}
{{- if not (hasKey . "gpuDra") -}}
{{- $ctx := dict -}}
{{- include "gpu-dra.loadSettings" (dict "root" . "ctx" $ctx) -}}
{{- include "gpu-dra.loadFacts" (dict "root" . "ctx" $ctx) -}}
{{- include "gpu-dra.loadDistribution" (dict "root" . "ctx" $ctx) -}}
{{- include "gpu-dra.loadProfiles" (dict "root" . "ctx" $ctx) -}}
{{- include "gpu-dra.check" $ctx -}}
{{- $_ := set . "gpuDra" $ctx -}}
{{- end -}}
{{- end -}}

{{- /* Settings are values.gpuDra where addon-operator writes it, the root of the values elsewhere. */ -}}
{{- define "gpu-dra.loadSettings" -}}
{{- $values := .root.Values -}}
{{- $settings := dict -}}
{{- $registry := dict "digests" dict -}}
{{- $underHooks := false -}}
{{- if hasKey $values "gpuDra" -}}
{{- $underHooks = hasKey $values.gpuDra "internal" -}}
{{- if not $underHooks -}}
{{- fail "gpuDra: settings stand at the root of the Helm values; the key gpuDra is what addon-operator writes" -}}
{{- end -}}
{{- $settings = omit $values.gpuDra "internal" "registry" -}}
{{- $_ := set $registry "dockercfg" (dig "registry" "dockercfg" "" $values.gpuDra) -}}
{{- $_ := set $registry "base" (dig "registry" "base" "" $values.gpuDra) -}}
{{- $global := $values.global | default dict -}}
{{- if $registry.base -}}
{{- /* Images of a module from a ModuleSource stand below its name. */ -}}
{{- $_ := set $registry "base" (printf "%s/%s" (trimAll "/" $registry.base) .root.Chart.Name) -}}
{{- else -}}
{{- $_ := set $registry "base" (dig "modulesImages" "registry" "base" "" $global) -}}
{{- end -}}
{{- $_ := set $registry "digests" (dig "modulesImages" "digests" "gpuDra" dict $global) -}}
{{- else -}}
{{- $settings = omit $values "global" -}}
{{- end -}}
{{- $settings = deepCopy $settings -}}
{{- include "gpu-dra.fill" (dict "into" $settings "from" (include "gpu-dra.defaults" . | fromYaml)) -}}
{{- $_ := set .ctx "settings" $settings -}}
{{- $_ := set .ctx "underHooks" $underHooks -}}
{{- $_ := set .ctx "registry" $registry -}}
{{- $_ := set .ctx "namespace" (ternary "d8-gpu-dra" .root.Release.Namespace $underHooks) -}}
{{- end -}}

{{- /* Puts defaults where a key is missing. sprig's merge would also replace false and 0 that a user wrote. */ -}}
{{- define "gpu-dra.fill" -}}
{{- $into := .into -}}
{{- range $key, $value := .from -}}
{{- if or (not (hasKey $into $key)) (kindIs "invalid" (get $into $key)) -}}
{{- $_ := set $into $key $value -}}
{{- else if and (kindIs "map" $value) (kindIs "map" (get $into $key)) -}}
{{- include "gpu-dra.fill" (dict "into" (get $into $key) "from" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Facts are what hooks wrote to internal.cluster, and elsewhere what the setting `cluster` says, then what Helm knows. A fact that
nobody knows is not there.
*/ -}}
{{- define "gpu-dra.loadFacts" -}}
{{- $apis := .root.Capabilities.APIVersions -}}
{{- $facts := dict
  "kubernetesVersion" .root.Capabilities.KubeVersion.Version
  "distribution" ""
  "extendedResources" dict
  "foreignDeviceClasses" list
  "refusedDrivers" list
  "refusedDeviceClasses" list
  "nodeGroups" dict
  "webhookCertificate" dict
  "verticalPodAutoscaler" ($apis.Has "autoscaling.k8s.io/v1/VerticalPodAutoscaler")
  "securityPolicyException" ($apis.Has "deckhouse.io/v1alpha1/SecurityPolicyException")
  "monitoringAPIs" (dict
    "podMonitor" ($apis.Has "monitoring.coreos.com/v1/PodMonitor")
    "prometheusRule" ($apis.Has "monitoring.coreos.com/v1/PrometheusRule")
    "grafanaDashboard" ($apis.Has "deckhouse.io/v1/GrafanaDashboardDefinition"))
-}}
{{- if .ctx.underHooks -}}
{{- range .root.Values.gpuDra.internal.nodeGroups -}}
{{- $_ := set $facts.nodeGroups .name . -}}
{{- end -}}
{{- $_ := set $facts "webhookCertificate" (.root.Values.gpuDra.internal.webhookCertificate | default dict) -}}
{{- $cluster := .root.Values.gpuDra.internal.cluster | default dict -}}
{{- $_ := set $facts "distribution" ($cluster.distribution | default "Deckhouse") -}}
{{- $_ := set $facts "foreignDeviceClasses" ($cluster.foreignDeviceClasses | default list) -}}
{{- with $cluster.monitoringAPIs -}}
{{- $_ := set $facts "monitoringAPIs" . -}}
{{- end -}}
{{- $_ := set $facts "refusedDrivers" ($cluster.refusedDrivers | default list) -}}
{{- $_ := set $facts "refusedDeviceClasses" ($cluster.refusedDeviceClasses | default list) -}}
{{- if $cluster.observed -}}
{{- $_ := set $facts "kubernetesVersion" ($cluster.kubernetesVersion | default $facts.kubernetesVersion) -}}
{{- $_ := set $facts "deviceTaints" (has "DRADeviceTaints" (($cluster.featureGates | default dict).on | default list)) -}}
{{- $_ := set $facts "adminAccessOff" (has "DRAAdminAccess" (($cluster.featureGates | default dict).off | default list)) -}}
{{- $_ := set $facts "extendedResources" ($cluster.extendedResources | default dict) -}}
{{- end -}}
{{- else -}}
{{- $said := .ctx.settings.cluster -}}
{{- $_ := set $facts "kubernetesVersion" ($said.kubernetesVersion | default $facts.kubernetesVersion) -}}
{{- if $apis.Has "deckhouse.io/v1alpha1/ModuleConfig" -}}
{{- $_ := set $facts "distribution" "Deckhouse" -}}
{{- end -}}
{{- /* What is on in every component is on for every driver. */ -}}
{{- $_ := set $facts "extendedResourcesEverywhere" (get $said.featureGates "DRAExtendedResource") -}}
{{- $_ := set $facts "deviceTaints" (get $said.featureGates "DRADeviceTaints") -}}
{{- $_ := set $facts "adminAccessOff" (and (hasKey $said.featureGates "DRAAdminAccess") (not (get $said.featureGates "DRAAdminAccess"))) -}}
{{- end -}}
{{- $_ := set .ctx "facts" $facts -}}
{{- end -}}

{{- /* Whether a driver's extended resources are known to work on all its nodes: "true", or nothing. */ -}}
{{- define "gpu-dra.extendedResourcesWork" -}}
{{- if or .ctx.facts.extendedResourcesEverywhere (get .ctx.facts.extendedResources .driver) -}}true{{- end -}}
{{- end -}}
