package reservation

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

func TestRestoreOnDisable(t *testing.T) {
	w := standing(t)
	w.restore()
	block, annotation := w.kubelet("gpu")
	require.Equal(t, auto, block)
	require.Empty(t, annotation)
	require.Len(t, w.patches, 2)
	require.Contains(t, w.log.String(), "(the module is switched off)")

	// After the release is gone: nothing, or what was written once more meanwhile.
	w.restore()
	require.Len(t, w.patches, 2)
	w.announce("gpu", core.ReasonApplying)
	require.Equal(t, 1, w.run())
	w.restore()
	block, _ = w.kubelet("gpu")
	require.Equal(t, auto, block)
}

func TestRestoreKeepsWhatOthersWrote(t *testing.T) {
	w := standing(t)
	theirs := map[string]any{"mode": "Static", "static": map[string]any{"memory": "8Gi"}}
	w.reserve("gpu", theirs)
	w.restore()
	block, annotation := w.kubelet("gpu")
	require.Equal(t, theirs, block)
	require.Empty(t, annotation)
}

// What can't be given back stays in force for good, since nobody looks after it any more: the log says so, and what to do.
func TestRestoreSaysWhatItLeaves(t *testing.T) {
	for says, change := range map[string]func(*world){
		"put it back by hand, while the nodes are drained": func(w *world) { topologyManager(w, true) },
		"put spec.kubelet.resourceReservation right by hand and remove the annotation": func(w *world) {
			w.touch("gpu", func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{core.AnnotationKey: "{"}) })
		},
	} {
		w := standing(t)
		change(w)
		w.restore()
		require.Contains(t, w.log.String(), "NodeGroup gpu: ")
		require.Contains(t, w.log.String(), says)
		require.Equal(t, 1, strings.Count(w.log.String(), says))
		require.Contains(t, w.log.String(), `"level":"error"`)
		block, annotation := w.kubelet("gpu")
		require.Equal(t, written, block)
		require.NotEmpty(t, annotation)
	}
}

func TestRestoreTriesAgain(t *testing.T) {
	w := standing(t)
	failures := rounds - 1
	w.Fail["patch"] = errors.New("timeout")
	w.race = func() {
		if failures--; failures < 0 {
			delete(w.Fail, "patch")
		}
	}
	w.restore()
	block, _ := w.kubelet("gpu")
	require.Equal(t, auto, block)
	require.NotContains(t, w.log.String(), "could not be taken back")
}

// It gives up, because a hook that fails is repeated for ever, and tells what to do.
func TestRestoreGivesUp(t *testing.T) {
	for kind, says := range map[string]string{
		"patch": "NodeGroup gpu: what gpu-dra wrote", "NodeGroup": "NodeGroups: what gpu-dra wrote", "client": "NodeGroups: what gpu-dra wrote",
	} {
		w := standing(t)
		w.Fail[kind] = errors.New("timeout")
		w.restore()
		require.Contains(t, w.log.String(), says)
		require.Contains(t, w.log.String(), core.AnnotationKey)
		require.Contains(t, w.log.String(), "timeout")
		delete(w.Fail, kind)
		block, _ := w.kubelet("gpu")
		require.Equal(t, written, block)
		w.restore()
		block, _ = w.kubelet("gpu")
		require.Equal(t, auto, block, "switched on and off again")
	}
}

// One NodeGroup that is refused does not keep the others.
func TestRestoreOfManyGroups(t *testing.T) {
	w := standing(t)
	u, err := w.Resource("NodeGroup").Get(t.Context(), "gpu", metav1.GetOptions{})
	require.NoError(t, err)
	second := u.DeepCopy()
	second.SetName("second")
	w.Put(second)
	w.Fail["patch gpu"] = errors.New("refused")
	w.restore()
	block, _ := w.kubelet("gpu")
	require.Equal(t, written, block)
	block, _ = w.kubelet("second")
	require.Equal(t, auto, block)
	require.Contains(t, w.log.String(), "NodeGroup gpu: what")
	require.NotContains(t, w.log.String(), "NodeGroup second: what")
}

func TestRestoreWithoutNodeGroups(t *testing.T) {
	w := standing(t)
	w.Fail["NodeGroup"] = apierrors.NewNotFound(nodeGroups, "")
	w.restore()
	require.NotContains(t, w.log.String(), "could not be taken back")
	require.Len(t, w.patches, 1)
}
