package reservation

import "reflect"

// Patch returns the decision as a JSON merge patch (RFC 7386) of the node group that it was made for, nil for LeaveAlone. Only
// what changes is in it, with an explicit null for what goes away.
func (d Decision) Patch(g NodeGroup) map[string]any {
	if d.Action == LeaveAlone {
		return nil
	}
	annotation := any(d.Annotation)
	if d.Action != Write {
		annotation = nil
	}
	metadata := map[string]any{"annotations": map[string]any{AnnotationKey: annotation}}
	if g.ResourceVersion != "" {
		metadata["resourceVersion"] = g.ResourceVersion
	}
	out := map[string]any{"metadata": metadata}
	if d.Action == Forget {
		return out
	}
	if change, differs := difference(g.Reservation, d.Reservation); differs {
		out["spec"] = map[string]any{"kubelet": map[string]any{"resourceReservation": change}}
	}
	return out
}

// difference returns the merge patch from one object to another, and whether there is any.
func difference(from, to map[string]any) (change any, differs bool) {
	switch {
	case to == nil:
		return nil, from != nil
	case from == nil:
		return copied(to), true
	}
	patch := map[string]any{}
	for k := range from {
		if _, ok := to[k]; !ok {
			patch[k] = nil
		}
	}
	for k, v := range to {
		before, ok := from[k]
		x, isX := before.(map[string]any)
		y, isY := v.(map[string]any)
		switch {
		case isX && isY:
			if c, differs := difference(x, y); differs {
				patch[k] = c
			}
		case !ok || !reflect.DeepEqual(before, v):
			patch[k] = deepCopy(v)
		}
	}
	return patch, len(patch) > 0
}
