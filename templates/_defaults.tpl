{{- /* Generated from openapi/config-values.yaml by `go run ./internal/gen/values`; edit that file. */ -}}
{{- define "gpu-dra.defaults" -}}
distribution: Auto
imageRegistry: ""
imagePullSecrets: []
nodeGroups: []
drivers: {}
customDrivers: []
cluster:
  kubernetesVersion: ""
  featureGates: {}
deviceClasses:
  create: Auto
  extendedResources: Auto
  classes: {}
  extra: []
claimTemplates: []
memoryReservation:
  mode: Advise
  systemNeed: 4Gi
  base: 479Mi
  perDevice: 30Mi
  overhead: 1.1
  minDevices: 8
kubernetesFeatureGates:
  extraRequired: []
exporter:
  mode: DaemonSet
  sidecar:
    namespaces: []
    interval: 5s
  metrics: Default
  customMetrics: []
  interval: 30s
  adminAccess: Auto
monitoring:
  labels: {}
  podMonitor: Auto
  rules: Auto
  dashboards: Auto
controller:
  replicas: 1
  webhook:
    failurePolicy: Ignore
{{- end -}}
