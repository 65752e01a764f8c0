{{- /*
The pod of a plugin in a profile of the user's own: what the API server would refuse, and tokens that would stay as they are. Takes a
dict: found, path (of the profile), profile.
*/ -}}
{{- define "gpu-dra.checkOwnContainers" -}}
{{- $in := . -}}
{{- $plugin := .profile.plugin -}}
{{- $pathTokens := list "{driverRootName}" "{kubeletRoot}" "{cdiRoot}" "{driverRoot}" "{driverRootParent}" -}}
{{- $tokens := concat (list "{featureGates}" "{logLevel}" "{image}" "{pullSecrets}" "{namespace}") $pathTokens -}}
{{- range $i, $wait := $plugin.waitFor -}}
{{- $path := printf "plugin.waitFor[%d]" $i -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.hostPath" $path) "text" $wait.hostPath "allowed" $pathTokens) -}}
{{- range $j, $file := $wait.anyOf -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.anyOf[%d]" $path $j) "text" $file "allowed" (list "{driverRootName}")) -}}
{{- end -}}
{{- end -}}
{{- $names := dict "guard" true -}}
{{- $ports := dict -}}
{{- $volumes := dict -}}
{{- $always := false -}}
{{- $uid := false -}}
{{- $level := false -}}
{{- range $i, $container := $plugin.containers -}}
{{- $path := printf "plugin.containers[%d]" $i -}}
{{- if not $container.when -}}
{{- $always = true -}}
{{- end -}}
{{- if hasKey $names $container.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.name" $path) (quote $container.name) "a lower case name that no other container of the pod has, nor guard") -}}
{{- end -}}
{{- $_ := set $names $container.name true -}}
{{- range $j, $arg := $container.args -}}
{{- $level = or $level (contains "{logLevel}" $arg) -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.args[%d]" $path $j) "text" $arg "allowed" $tokens) -}}
{{- end -}}
{{- $variables := dict -}}
{{- range $j, $env := $container.env -}}
{{- if hasKey $variables $env.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.env[%d].name" $path $j) (quote $env.name) "the name of a variable that the container does not already have") -}}
{{- end -}}
{{- $_ := set $variables $env.name true -}}
{{- $uid = or $uid (eq ($env.field | default "") "metadata.uid") -}}
{{- $level = or $level (contains "{logLevel}" ($env.value | default "")) -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.env[%d].value" $path $j) "text" ($env.value | default "") "allowed" $tokens) -}}
{{- end -}}
{{- range $field := list "healthPort" "metricsPort" -}}
{{- $port := get $container $field | default 0 | int -}}
{{- if and $port (hasKey $ports (toString $port)) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.%s" $path $field) $port "a port that nothing else in the pod listens on") -}}
{{- end -}}
{{- $_ := set $ports (toString $port) true -}}
{{- end -}}
{{- include "gpu-dra.checkOwnMounts" (dict "in" $in "field" $path "container" $container "volumes" $volumes "allowed" $pathTokens) -}}
{{- include "gpu-dra.checkResources" (dict "found" $in.found "path" (printf "%s.%s.resources" $in.path $path) "resources" $container.resources) -}}
{{- end -}}
{{- if not $always -}}
{{- include "gpu-dra.ownFault" (list $in "plugin.containers" (printf "%d, none of them without when" (len $plugin.containers)) "at least one that always runs") -}}
{{- end -}}
{{- with $plugin.logLevels -}}
{{- $range := printf "%d to %d" (int .min) (int .max) -}}
{{- if gt (int .min) (int .max) -}}
{{- include "gpu-dra.ownFault" (list $in "plugin.logLevels" $range "a range within 0 to 10, its lower end first") -}}
{{- end -}}
{{- if not $level -}}
{{- include "gpu-dra.ownFault" (list $in "plugin.logLevels" $range "none: no container has {logLevel} in its env or args") -}}
{{- end -}}
{{- end -}}
{{- if and $plugin.perPodSockets (not $uid) -}}
{{- include "gpu-dra.ownFault" (list $in "plugin.perPodSockets" true "an environment variable with the field metadata.uid, from which the plugin names its sockets") -}}
{{- end -}}
{{- end -}}

{{- /*
Mounts of a container. A volume is known by its name in the whole pod; paths that clean to the same are one, and the token and an
exporter's files have theirs. Takes a dict: in, field, container, volumes, allowed.
*/ -}}
{{- define "gpu-dra.checkOwnMounts" -}}
{{- $in := .in -}}
{{- $field := .field -}}
{{- $privileged := .container.privileged -}}
{{- $volumes := .volumes -}}
{{- $allowed := .allowed -}}
{{- $paths := dict "/var/run/secrets/kubernetes.io/serviceaccount" true -}}
{{- with (.container.config | default dict).path -}}
{{- $_ := set $paths (clean .) true -}}
{{- end -}}
{{- range $j, $mount := .container.mounts -}}
{{- $path := printf "%s.mounts[%d]" $field $j -}}
{{- $type := $mount.type | default "" -}}
{{- $inside := $mount.path | default $mount.hostPath -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.hostPath" $path) "text" $mount.hostPath "allowed" $allowed) -}}
{{- include "gpu-dra.checkTokens" (dict "in" $in "field" (printf "%s.path" $path) "text" ($mount.path | default "") "allowed" $allowed) -}}
{{- if hasPrefix "guard-wait-" $mount.name -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.name" $path) (quote $mount.name) "a lower case name that does not begin with guard-wait-, which the guard's volumes have") -}}
{{- end -}}
{{- if hasKey $paths (clean $inside) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.path" $path) (quote $inside) "a path where the container has nothing else mounted") -}}
{{- end -}}
{{- $_ := set $paths (clean $inside) true -}}
{{- $before := get $volumes $mount.name | default (dict "hostPath" $mount.hostPath "type" $type) -}}
{{- if or (ne $before.hostPath $mount.hostPath) (ne $before.type $type) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.name" $path) (quote $mount.name) (printf "the hostPath %q and the type %q that this name has before" $before.hostPath $before.type)) -}}
{{- end -}}
{{- $_ := set $volumes $mount.name $before -}}
{{- if and (eq ($mount.propagation | default "") "Bidirectional") (not $privileged) -}}
{{- include "gpu-dra.ownFault" (list $in (printf "%s.propagation" $path) (quote $mount.propagation) "another one, or a container that is privileged: Kubernetes allows it there only") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Words in braces that the chart would leave as they are; a shell's ${NAME} is none. Takes a dict: in, field, text, allowed. */ -}}
{{- define "gpu-dra.checkTokens" -}}
{{- if contains "{" .text -}}
{{- $in := . -}}
{{- range regexFindAll `(^|[^$])\{[A-Za-z]+\}` .text -1 -}}
{{- $token := regexFind `\{[A-Za-z]+\}` . -}}
{{- if not (has $token $in.allowed) -}}
{{- include "gpu-dra.ownFault" (list $in.in $in.field (quote $token) (printf "one of the tokens %s" (join ", " $in.allowed))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
