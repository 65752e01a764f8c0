{{- /*
Resources of an exporter. Sets out.resources and out.env: how much memory its Go runtime may use, and how many threads. Left to
itself it takes the node's processors and the memory that goes with them (pytorch/ci-infra#1018). Takes a dict: exporter, variant,
out.
*/ -}}
{{- define "gpu-dra.exporterResources" -}}
{{- $exporter := .exporter -}}
{{- $variant := .variant -}}
{{- $resources := $variant.config.resources -}}
{{- $memory := $exporter.memory -}}
{{- if not $resources -}}
{{- $own := deepCopy ($exporter.resources | default dict) -}}
{{- $limits := $own.limits | default dict -}}
{{- if $memory -}}
{{- $base := trimSuffix "Mi" $memory.base | int64 -}}
{{- $_ := set $limits "memory" (printf "%dMi" (add $base (mul (trimSuffix "Mi" $memory.perDevice | int64) $variant.devices))) -}}
{{- end -}}
{{- $requests := $own.requests -}}
{{- if not $requests -}}
{{- $requests = dict "cpu" "50m" "memory" "128Mi" -}}
{{- range $name := list "cpu" "memory" -}}
{{- if hasKey $limits $name -}}
{{- if lt (include "gpu-dra.amount" (get $limits $name) | float64) (include "gpu-dra.amount" (get $requests $name) | float64) -}}
{{- $_ := set $requests $name (get $limits $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (hasKey $requests "ephemeral-storage") -}}
{{- $_ := set $requests "ephemeral-storage" "50Mi" -}}
{{- end -}}
{{- $resources = dict "requests" $requests -}}
{{- if $limits -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{- end -}}
{{- $env := list -}}
{{- $limits := $resources.limits | default dict -}}
{{- $names := list -}}
{{- range $exporter.env -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if and $memory (hasKey $limits "memory") (not (has "GOMEMLIMIT" $names)) -}}
{{- /* A limit of 0 is none to Kubernetes, but a memory limit of 0 to Go. */ -}}
{{- if and $memory.goPercent (gt (include "gpu-dra.amount" $limits.memory | float64) 0.0) -}}
{{- /* Kubernetes knows no more bytes than a signed number of 64 bits has; a share of it is safe from rounding up. */ -}}
{{- $bytes := minf (include "gpu-dra.amount" $limits.memory | float64) 9.2e18 -}}
{{- $env = append $env (dict "name" "GOMEMLIMIT" "value" (divf (mulf $bytes (int $memory.goPercent)) 100 | floor | int64 | toString)) -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $limits "cpu") (gt (include "gpu-dra.amount" ($limits.cpu | default 0) | float64) 0.0) (not (has "GOMAXPROCS" $names)) -}}
{{- $env = append $env (dict "name" "GOMAXPROCS" "value" (max 1 (include "gpu-dra.amount" $limits.cpu | float64 | ceil | int64) | toString)) -}}
{{- end -}}
{{- if $variant.claim -}}
{{- $resources = merge (dict "claims" (list (dict "name" "devices"))) $resources -}}
{{- end -}}
{{- $_ := set .out "resources" $resources -}}
{{- $_ := set .out "env" $env -}}
{{- end -}}

{{- /* A quantity as a plain number. */ -}}
{{- define "gpu-dra.amount" -}}
{{- $text := toString . -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $unit := regexFind "[A-Za-z]+$" $text -}}
{{- $number := trimSuffix $unit $text | float64 -}}
{{- if $unit -}}
{{- $number = mulf $number (get $units $unit) -}}
{{- end -}}
{{- printf "%f" $number -}}
{{- end -}}
