package reservation

import (
	"context"
	"fmt"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

const (
	// rounds over the NodeGroups before it is given up.
	rounds = 3
	// pause between them.
	pause = 2 * time.Second
	// bound of a run, whatever the API server does.
	bound = time.Minute
)

// A hook of its own, because a handler does not learn what it runs for. It runs twice: before the release is removed, while the
// controller can still show it, and after, because until then schedules and events go on, and `nodegroups` and `reservation`
// may have found a NodeGroup that nobody ever wrote to.
var restoreConfig = &pkg.HookConfig{
	OnBeforeDeleteHelm: &pkg.OrderedConfig{Order: 10},
	OnAfterDeleteHelm:  &pkg.OrderedConfig{Order: 10},
}

var _ = registry.RegisterFunc(restoreConfig, restore{cluster: kubeCluster, pause: pause}.run)

type restore struct {
	cluster func() (cluster, error)
	pause   time.Duration
}

// run gives back what was written when the module is switched off, whatever the settings. It never fails: addon-operator
// repeats a failed run for ever and lets nothing else run meanwhile, so what could not be done is left to a person, with a
// line in the log that says how.
func (r restore) run(ctx context.Context, input *pkg.HookInput) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	left := []string{"NodeGroups"}
	var err error
	for round := range rounds {
		if round > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(r.pause):
			}
		}
		if left, err = r.once(ctx, input.Logger); err == nil {
			return nil
		}
	}
	for _, name := range left {
		input.Logger.Error(fmt.Sprintf("%s: what gpu-dra wrote into %s could not be taken back (%s). It stays in force. The annotation %s holds what stood there under `before`: put that back and remove the annotation, or switch gpu-dra on and off again",
			name, core.FieldPath, err, core.AnnotationKey))
	}
	return nil
}

// once goes over all NodeGroups and returns what is left and the last error.
func (r restore) once(ctx context.Context, log pkg.Logger) (left []string, last error) {
	c, err := r.cluster()
	if err != nil {
		return []string{"NodeGroups"}, err
	}
	w := &writer{cluster: c, log: log}
	groups, err := w.groups(ctx)
	if err != nil {
		return []string{"NodeGroups"}, err
	}
	for i := range groups {
		if err := w.giveBack(ctx, &groups[i]); err != nil {
			left, last = append(left, "NodeGroup "+groups[i].GetName()), err
		}
	}
	return left, last
}

func (w *writer) giveBack(ctx context.Context, group *unstructured.Unstructured) error {
	if group.GetAnnotations()[core.AnnotationKey] == "" {
		return nil
	}
	return w.send(ctx, group, giveBack)
}
