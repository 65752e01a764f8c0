{{- /* The distribution: what the settings say, then what is known of the cluster, then Vanilla. */ -}}
{{- define "gpu-dra.loadDistribution" -}}
{{- $name := .ctx.settings.distribution -}}
{{- if eq $name "Auto" -}}
{{- $name = .ctx.facts.distribution | default "Vanilla" -}}
{{- end -}}
{{- $file := printf "profiles/distributions/%s.yaml" (lower $name) -}}
{{- $_ := set .ctx "distribution" (.root.Files.Get $file | fromYaml) -}}
{{- end -}}

{{- /*
Driver profiles: each file is parsed once a render. A profile of the user's replaces one of the same name, unless hooks found a
fault in it: then the one of the chart stays, as settings.Profiles does in Go.
*/ -}}
{{- define "gpu-dra.loadProfiles" -}}
{{- $root := .root -}}
{{- $refused := .ctx.facts.refusedDrivers -}}
{{- $chart := dict -}}
{{- range $path, $_ := .root.Files.Glob "profiles/drivers/*.yaml" -}}
{{- $profile := $root.Files.Get $path | fromYaml -}}
{{- $_ := set $chart $profile.name $profile -}}
{{- end -}}
{{- $profiles := dict -}}
{{- range $name, $profile := $chart -}}
{{- $_ := set $profiles $name $profile -}}
{{- end -}}
{{- range .ctx.settings.customDrivers -}}
{{- if not (has .name $refused) -}}
{{- $_ := set $profiles .name . -}}
{{- end -}}
{{- end -}}
{{- $_ := set .ctx "chartProfiles" $chart -}}
{{- $_ := set .ctx "profiles" $profiles -}}
{{- end -}}

{{- /*
Names of the profiles whose DeviceClasses are created, as a YAML list: drivers of groups that are not passive, and drivers that
only claim templates name. settings.WantedDrivers says the same in Go. Names without a profile were refused before (_checks.tpl).
*/ -}}
{{- define "gpu-dra.wantedDrivers" -}}
{{- $listed := dict -}}
{{- $active := dict -}}
{{- range $group := .settings.nodeGroups -}}
{{- range $group.drivers -}}
{{- $_ := set $listed . true -}}
{{- if not $group.passive -}}
{{- $_ := set $active . true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .settings.claimTemplates -}}
{{- if not (hasKey $listed .driver) -}}
{{- $_ := set $active .driver true -}}
{{- end -}}
{{- end -}}
{{- keys $active | sortAlpha | toYaml -}}
{{- end -}}

{{- /*
Kinds by which a driver's profile, or the distribution, recognizes another manager, as YAML: API group to resources. Helm has no
discovery to ask for the plural, so it is guessed as Kubernetes' own clients guess it.
*/ -}}
{{- define "gpu-dra.managerAPIs" -}}
{{- $managers := .distribution.managers | default list -}}
{{- range .profiles -}}
{{- $managers = concat $managers (.managers | default list) -}}
{{- end -}}
{{- $groups := dict -}}
{{- range $managers -}}
{{- if .api -}}
{{- $parts := splitList "/" .api -}}
{{- $group := index $parts 0 -}}
{{- $plural := lower (last $parts) -}}
{{- if hasSuffix "s" $plural -}}
{{- $plural = printf "%ses" $plural -}}
{{- else if hasSuffix "y" $plural -}}
{{- $plural = printf "%sies" (trimSuffix "y" $plural) -}}
{{- else -}}
{{- $plural = printf "%ss" $plural -}}
{{- end -}}
{{- $_ := set $groups $group (append (get $groups $group | default list) $plural | uniq | sortAlpha) -}}
{{- end -}}
{{- end -}}
{{- $groups | toYaml -}}
{{- end -}}
