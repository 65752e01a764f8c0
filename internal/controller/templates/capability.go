package templates

import (
	"context"
	"slices"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-dra/gpu-dra/internal/claim"
)

// doubtAgain is how long a server that was seen to refuse something is believed to: an upgrade may bring the feature.
const doubtAgain = 10 * time.Minute

// server remembers what the API server cannot do.
type server struct {
	mu sync.Mutex
	// noPrioritizedList is when a server without prioritized lists was last seen.
	noPrioritizedList time.Time
}

func (s *server) capabilities(now time.Time) claim.Capabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return claim.Capabilities{NoPrioritizedList: !s.noPrioritizedList.IsZero() && now.Sub(s.noPrioritizedList) < doubtAgain}
}

// doubtful is after how long to ask again; 0 when there is nothing to ask.
func (s *server) doubtful(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPrioritizedList.IsZero() {
		return 0
	}
	return max(time.Second, s.noPrioritizedList.Add(doubtAgain).Sub(now))
}

func (s *server) set(noPrioritizedList bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPrioritizedList = time.Time{}
	if noPrioritizedList {
		s.noPrioritizedList = now
	}
}

// build returns the spec to write: with a prioritized list where the template wants one and the API server takes it. That is
// asked by a dry-run, and only when something would be written: a namespace that has the spec proves it.
func (w *work) build(ctx context.Context, write []string, have map[string]*resourcev1.ResourceClaimTemplate) (resourcev1.ResourceClaimTemplateSpec, error) {
	now := w.Clock.Now()
	caps := w.server.capabilities(now)
	spec, err := w.specFor(caps)
	if err != nil || caps.NoPrioritizedList || !prioritized(spec) || len(write) == 0 {
		return spec, err
	}
	object := claim.Object(w.template, write[0], spec)
	if slices.ContainsFunc(write, func(n string) bool { return have[n] != nil && w.current(have[n], object) }) {
		return spec, nil
	}
	if err := w.tryList(ctx, object); err == nil || !refused(err) {
		// What else there is to say, the write will.
		w.server.set(false, now)
		return spec, nil
	}
	plain, err := w.specFor(claim.Capabilities{NoPrioritizedList: true})
	if err != nil {
		return spec, nil
	}
	if err := w.try(ctx, claim.Object(w.template, write[0], plain)); err != nil {
		// It is not the list that is refused.
		return spec, nil
	}
	w.server.set(true, now)
	return plain, nil
}

func (w *work) specFor(caps claim.Capabilities) (resourcev1.ResourceClaimTemplateSpec, error) {
	spec, err := claim.Build(w.template.Spec, w.Profiles, caps)
	if err != nil {
		return spec, err
	}
	return spec, claim.Check(spec)
}

func prioritized(spec resourcev1.ResourceClaimTemplateSpec) bool {
	return slices.ContainsFunc(spec.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool { return len(r.FirstAvailable) > 0 })
}

// errDropped says that the API server took an object without its prioritized list.
var errDropped = apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate").GroupKind(), "", nil)

// tryList is try, and fails where the API server drops the list.
func (w *work) tryList(ctx context.Context, object *resourcev1.ResourceClaimTemplate) error {
	trial := object.DeepCopy()
	if err := w.dryRun(ctx, trial); err != nil {
		return err
	}
	if !prioritized(trial.Spec) {
		return errDropped
	}
	return nil
}

func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }
