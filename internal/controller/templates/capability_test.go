package templates

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// noLists makes an API server with DRAPrioritizedList off: it drops the list, and then finds that nothing is asked for; or it
// drops it without a word.
func noLists(refuse bool) func(string, client.Object) error {
	return func(verb string, o client.Object) error {
		object, ok := o.(*resourcev1.ResourceClaimTemplate)
		if !ok || verb == "delete" || !prioritized(object.Spec) {
			return nil
		}
		for i := range object.Spec.Spec.Devices.Requests {
			object.Spec.Spec.Devices.Requests[i].FirstAvailable = nil
		}
		if refuse {
			return apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate").GroupKind(), "", nil)
		}
		return nil
	}
}

func smallest() *v1alpha1.GPUClaimTemplate {
	t := template("a")
	t.Spec.Fit = v1alpha1.FitSmallest
	return t
}

func TestPrioritizedList(t *testing.T) {
	w := newWorld(t, smallest(), namespace("a", nil))
	require.Equal(t, []string{"try a", "create a"}, w.quiet())
	require.NotEmpty(t, w.object("a").Spec.Spec.Devices.Requests[0].FirstAvailable)
	require.Empty(t, w.quiet(), "what is there proves what the server can do")
}

func TestServerWithoutPrioritizedLists(t *testing.T) {
	for name, refuse := range map[string]bool{"refused": true, "dropped": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smallest(), namespace("a", nil))
			w.fail = noLists(refuse)
			_, result, err := w.step()
			require.NoError(t, err)
			require.Equal(t, doubtAgain, result.RequeueAfter)
			require.NotNil(t, w.object("a").Spec.Spec.Devices.Requests[0].Exactly)
			require.Equal(t, "True Written 1/1", w.status())
			uid := w.object("a").UID
			require.Empty(t, w.quiet())

			// A controller that starts anew asks again, and changes nothing.
			w.restart()
			w.quiet()
			require.Equal(t, uid, w.object("a").UID)

			// An upgrade brings the feature: seen when the server is asked again.
			w.fail = nil
			require.Empty(t, w.quiet())
			w.clock.SetTime(start.Add(doubtAgain + time.Second))
			require.Equal(t, []string{"try a", "try a", "delete a", "create a"}, w.quiet())
			require.NotEmpty(t, w.object("a").Spec.Spec.Devices.Requests[0].FirstAvailable)
		})
	}
}

func TestSpecThatIsRefusedForAnotherReason(t *testing.T) {
	w := newWorld(t, smallest(), namespace("a", nil))
	w.fail = func(verb string, o client.Object) error {
		if _, ok := o.(*resourcev1.ResourceClaimTemplate); ok && verb != "delete" {
			return apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate").GroupKind(), "", nil)
		}
		return nil
	}
	w.quiet()
	require.Equal(t, "False RejectedByAPIServer 0/1", w.status())
	require.False(t, w.server.capabilities(start).NoPrioritizedList)
}
