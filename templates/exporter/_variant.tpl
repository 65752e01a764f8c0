{{- /*
A variant of an exporter: one set of settings, on one root directory of the kubelet, for one number of devices. Adds to the dict
`variant`, which has config (exporter of the driver's settings), driverRoot, kubeletRoot, devices, class, adminClaim and profiling:

  image         with its registry
  tokens        list of {token, value}
  token         whether the exporter's own container has one: a rule of it is on
  capabilities  of its container, those that are on
  claim         name of the template of its claim, or nothing
  container, initContainers, volumes   text of the pod's spec
  asks, hostPaths   what its container and volumes are allowed more than others (drivers/_security-policy.tpl)

Takes a dict: root, driver, variant.
*/ -}}
{{- define "gpu-dra.loadExporterVariant" -}}
{{- $ctx := .root.gpuDra -}}
{{- $exporter := .driver.exporter -}}
{{- $variant := .variant -}}
{{- $driverRoot := clean $variant.driverRoot -}}
{{- $tokens := include "gpu-dra.exporterTokens" (dict "ctx" $ctx "exporter" $exporter) | fromJsonArray -}}
{{- $_ := set $variant "tokens" (concat $tokens (list
  (list "{cdiRoot}" ($ctx.distribution.cdiRoot | default "/var/run/cdi"))
  (list "{kubeletRoot}" (trimSuffix "/" $variant.kubeletRoot))
  (list "{driverRootParent}" (dir $driverRoot))
  (list "{driverRootName}" (base $driverRoot))
  (list "{driverRoot}" $driverRoot)
)) -}}
{{- /* Conditions of an exporter know nothing of the driver's gates and version. */ -}}
{{- $_ := set $variant "gates" dict -}}
{{- $_ := set $variant "defaults" dict -}}
{{- $_ := set $variant "version" "" -}}
{{- $name := .driver.component | camelcase | untitle -}}
{{- $_ := set $variant "image" (include "gpu-dra.image" (dict "root" .root "name" $name "override" $variant.config.image "repository" $exporter.image.repository "tag" ($exporter.image.tag | toString))) -}}
{{- $rules := dict -}}
{{- include "gpu-dra.driverRules" (dict "ctx" $ctx "driver" (dict "variants" (list $variant)) "rules" $exporter.rules "out" $rules) -}}
{{- $_ := set $variant "token" (not (empty $rules.list)) -}}
{{- $_ := set $variant "claim" "" -}}
{{- if $variant.class -}}
{{- $spec := include "gpu-dra.exporterClaim" (dict "ctx" $ctx "class" $variant.class) -}}
{{- /* The spec of a template is immutable: another spec is another object. */ -}}
{{- $_ := set $variant "claim" (printf "%s-%s" .driver.component (sha256sum $spec | trunc 8)) -}}
{{- $_ := set .driver.claims $variant.claim $spec -}}
{{- end -}}
{{- $capabilities := list -}}
{{- range $exporter.capabilities -}}
{{- if or (not .when) (include "gpu-dra.when" (dict "when" .when "variant" $variant "ctx" $ctx)) -}}
{{- $capabilities = append $capabilities .name -}}
{{- end -}}
{{- end -}}
{{- $_ := set $variant "capabilities" $capabilities -}}
{{- $volumes := dict -}}
{{- $_ := set $variant "container" (include "gpu-dra.exporterContainer" (dict "ctx" $ctx "driver" .driver "variant" $variant "volumes" $volumes) | indent 6) -}}
{{- $guarded := dict "profile" .driver.profile "plugin" (dict "waitFor" $exporter.waitFor) -}}
{{- $_ := set $variant "initContainers" (include "gpu-dra.guardContainer" (dict "root" .root "driver" $guarded "variant" $variant "volumes" $volumes "token" "gpu-dra-token") | indent 6) -}}
{{- $_ := set $variant "asks" (list (dict "container" "exporter" "from" $exporter "capabilities" $variant.capabilities "root" (eq (int64 $exporter.runAsUser) 0))) -}}
{{- $_ := set $variant "hostPaths" $volumes -}}
{{- $_ := set $variant "volumes" "" -}}
{{- if $volumes -}}
{{- $_ := set $variant "volumes" (include "gpu-dra.driverVolumes" $volumes | indent 6) -}}
{{- end -}}
{{- end -}}

{{- /*
Spec of a claim of all devices of a node with admin access. A device with a taint, such as one that is sick, is watched all the more;
where the gate DRADeviceTaints is off, as it is by default before 1.36, the API server drops tolerations, and Helm would then try to change
what can't be changed. Hooks know of every API server, and during an upgrade these differ. Takes a dict: ctx, class.
*/ -}}
{{- define "gpu-dra.exporterClaim" -}}
devices:
  requests:
  - name: devices
    exactly:
      deviceClassName: {{ .class | quote }}
      allocationMode: All
      adminAccess: true
      {{- if or (and (not .ctx.underHooks) (semverCompare ">=1.36-0" .ctx.facts.kubernetesVersion)) .ctx.facts.deviceTaints }}
      tolerations:
      - operator: Exists
      {{- end }}
{{- end -}}
