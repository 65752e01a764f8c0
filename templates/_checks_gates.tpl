{{- /*
Gates of a driver as they are in force on a group: the driver's defaults, what partitioning and passthrough switch on, drivers.<name>,
then the group's own; gpu-dra.driverConfigIn puts them together in the same order. Takes a dict: in, path (of the group), group,
profile, own (the group's override, as far as it has gates or an image).
*/ -}}
{{- define "gpu-dra.checkGates" -}}
{{- $in := .in -}}
{{- $found := .in.found -}}
{{- $path := .path -}}
{{- $group := .group -}}
{{- $driver := .profile.name -}}
{{- $partitioning := .group.partitioning | default "None" -}}
{{- $config := get $in.ctx.settings.drivers $driver | default dict -}}
{{- $general := $config.featureGates | default dict -}}
{{- $own := .own.featureGates | default dict -}}
{{- $generalPath := printf "drivers.%s" $driver -}}
{{- $ownPath := printf "%s.driverOverrides.%s" $path $driver -}}
{{- $image := dict "image" (.own.image | default $config.image) "imagePath" (ternary $ownPath $generalPath (hasKey .own "image")) -}}
{{- if $own -}}
{{- include "gpu-dra.checkGateNames" (dict "in" $in "driver" $driver "gates" $own "path" $ownPath "image" $image.image "imagePath" $image.imagePath) -}}
{{- end -}}
{{- if hasKey .own "image" -}}
{{- /* Another image may not know a gate that all groups have. */ -}}
{{- include "gpu-dra.checkGateNames" (dict "in" $in "driver" $driver "gates" $general "path" $generalPath "image" $image.image "imagePath" $image.imagePath) -}}
{{- end -}}
{{- /* Gates in force, each with the setting that decides it; none: the driver's default. */ -}}
{{- $on := dict -}}
{{- $from := dict -}}
{{- range $gate := .profile.gates -}}
{{- $value := $gate.default | default false -}}
{{- $switch := "" -}}
{{- $switched := "" -}}
{{- if and $gate.partitioning (eq $gate.partitioning $partitioning) -}}
{{- $switch = printf "%s.partitioning" $path -}}
{{- $switched = $partitioning -}}
{{- else if and $gate.passthrough $group.passthrough -}}
{{- $switch = printf "%s.passthrough" $path -}}
{{- $switched = "true" -}}
{{- end -}}
{{- if $switch -}}
{{- $value = true -}}
{{- $_ := set $from $gate.name $switch -}}
{{- if not $gate.default -}}
{{- include "gpu-dra.checkGateNames" (dict "in" $in "driver" $driver "gates" (dict $gate.name true) "by" (printf "%s: %s" $switch $switched) "image" $image.image "imagePath" $image.imagePath) -}}
{{- end -}}
{{- end -}}
{{- $said := "" -}}
{{- if hasKey $own $gate.name -}}
{{- $value = get $own $gate.name -}}
{{- $said = printf "%s.featureGates.%s" $ownPath $gate.name -}}
{{- else if hasKey $general $gate.name -}}
{{- $value = get $general $gate.name -}}
{{- $said = printf "%s.featureGates.%s" $generalPath $gate.name -}}
{{- end -}}
{{- if $said -}}
{{- $_ := set $from $gate.name $said -}}
{{- if and $switch (not $value) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s: found %s, which switches the gate %s of the driver %s on in the group %q, and %s is false; change one of the two" $switch $switched $gate.name $driver $group.name $said)) -}}
{{- else if and $value $gate.partitioning (ne $gate.partitioning $partitioning) (ne $partitioning "None") -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.partitioning: found %s in the group %q, and %s is true, which goes with %s; set %s.featureGates.%s to false, or the partitioning to %s" $path $partitioning $group.name $said $gate.partitioning $ownPath $gate.name $gate.partitioning)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $on $gate.name $value -}}
{{- end -}}
{{- range $gate := .profile.gates -}}
{{- if get $on $gate.name -}}
{{- $mine := get $from $gate.name -}}
{{- range $other := $gate.excludes -}}
{{- if get $on $other -}}
{{- $theirs := get $from $other -}}
{{- /* The path is that of a setting: of the two, at most one is a default. */ -}}
{{- $first := ternary (list $gate.name $mine $other $theirs) (list $other $theirs $gate.name $mine) (ne $mine "") -}}
{{- include "gpu-dra.fault" (list $found (printf "%s: the gates %s and %s (on by %s) of the driver %s exclude each other, found both on in the group %q; switch one of them off" (index $first 1 | default "drivers") (index $first 0) (index $first 2) (index $first 3 | default "default") $driver $group.name)) -}}
{{- end -}}
{{- end -}}
{{- range $other := $gate.requires -}}
{{- if not (get $on $other) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s: the gate %s of the driver %s needs %s, found it off (by %s) in the group %q; switch it on, or %s off" ($mine | default (get $from $other) | default "drivers") $gate.name $driver $other (get $from $other | default "default") $group.name $gate.name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Gates that the driver does not know, in the version that the image has: it would not start. An image of which nobody can tell the
version, or one newer than the profile, may know more than the profile does. Takes a dict: in, driver, gates (by name), path (of the
settings that have them) or by (what switches them on), image (from the settings), imagePath (where it is set).
*/ -}}
{{- define "gpu-dra.checkGateNames" -}}
{{- $in := . -}}
{{- $found := .in.found -}}
{{- $profile := get .in.ctx.profiles .driver | default dict -}}
{{- $known := dict -}}
{{- range $profile.gates -}}
{{- $_ := set $known .name . -}}
{{- end -}}
{{- $format := `^v?([0-9]{1,9}(\.[0-9]{1,9}){1,2})([-+].*)?$` -}}
{{- $version := "" -}}
{{- $free := false -}}
{{- if $profile.plugin -}}
{{- $image := .image | default dict -}}
{{- $tag := $image.tag | default $profile.plugin.image.tag | toString -}}
{{- $own := $profile.plugin.image.tag | toString -}}
{{- if and (not $image.digest) (regexMatch $format $tag) -}}
{{- $version = regexReplaceAll $format $tag "${1}" -}}
{{- if and $image.tag (regexMatch $format $own) -}}
{{- $free = semverCompare (printf ">%s" (regexReplaceAll $format $own "${1}")) $version -}}
{{- end -}}
{{- else -}}
{{- $free = or (not (empty $image.digest)) (not (empty $image.tag)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := .gates -}}
{{- $path := $in.by | default (printf "%s.featureGates.%s" $in.path $name) -}}
{{- $gate := get $known $name -}}
{{- if or (not $name) (contains "," $name) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s.featureGates: found the key %q, expected the name of one gate: the driver gets them all in one list, with commas between them" $in.path $name)) -}}
{{- else if and $known (not $gate) (not $free) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s: the driver %s has no such gate, expected one of: %s; it does not start with a gate that it does not know: correct the name, or name the image that knows it in %s.image" $path $in.driver (keys $known | sortAlpha | join ", ") $in.imagePath)) -}}
{{- else if and $gate $version -}}
{{- if and $gate.since (not (semverCompare (printf ">=%s" ($gate.since | default "0")) $version)) -}}
{{- include "gpu-dra.fault" (list $found (printf "%s: the driver %s has the gate %s since %s, and its image is of %s; take a newer one in %s.image, or leave the gate out" $path $in.driver $name $gate.since $version $in.imagePath)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
