package reservation

import (
	"context"
	"fmt"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"

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
	for round := 1; ; round++ {
		left, again := r.once(ctx, input.Logger)
		if again && round < rounds {
			select {
			case <-ctx.Done():
			case <-time.After(r.pause):
			}
			continue
		}
		for _, line := range left {
			input.Logger.Error(line)
		}
		return nil
	}
}

// once goes over all NodeGroups and returns, for each in which what was written stays, why it does and what to do, and whether
// another try may help.
func (r restore) once(ctx context.Context, log pkg.Logger) (left []string, again bool) {
	failed := func(what string, err error) {
		left, again = append(left, fmt.Sprintf("%s: what gpu-dra wrote into %s could not be taken back (%s). It stays in force. The annotation %s holds what stood there under `before`: put that back and remove the annotation, or switch gpu-dra on and off again",
			what, core.FieldPath, err, core.AnnotationKey)), true
	}
	c, err := r.cluster()
	if err != nil {
		failed("NodeGroups", err)
		return left, again
	}
	w := &writer{cluster: c, log: log}
	groups, err := w.groups(ctx)
	if err != nil {
		failed("NodeGroups", err)
		return left, again
	}
	for i := range groups {
		if groups[i].GetAnnotations()[core.AnnotationKey] == "" {
			continue
		}
		d, err := w.send(ctx, &groups[i], giveBack("the module is switched off"))
		switch {
		case err != nil:
			failed("NodeGroup "+groups[i].GetName(), err)
		case stays(d):
			left = append(left, d.Message)
		}
	}
	return left, again
}
