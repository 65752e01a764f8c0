package reservation

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

var (
	auto    = map[string]any{"mode": "Auto"}
	written = map[string]any{"mode": "Static", "static": map[string]any{"memory": recommends, "cpu": "70m", "ephemeralStorage": "1Gi"}}
)

// applying is a world in which the group is about to be written.
func applying(t *testing.T, block map[string]any) *world {
	w := newWorld(t, applied)
	w.Put(nodeGroup("gpu", block), nodeGroup("plain", auto))
	w.facts()
	w.announce("gpu", core.ReasonApplying)
	return w
}

// standing is one in which it was.
func standing(t *testing.T) *world {
	w := applying(t, auto)
	require.Equal(t, 1, w.run())
	w.announce("gpu", core.ReasonApplied)
	return w
}

func TestApply(t *testing.T) {
	w := applying(t, auto)
	require.Equal(t, 1, w.run())
	block, annotation := w.kubelet("gpu")
	require.Equal(t, written, block)
	require.Contains(t, annotation, `"before":{"mode":"Auto"}`)
	require.Contains(t, w.log.String(), "every kubelet of the group restarts")
	other, none := w.kubelet("plain")
	require.Equal(t, auto, other, "it is not listed")
	require.Empty(t, none)

	require.Zero(t, w.run(), "what was announced is done")
	w.announce("gpu", core.ReasonApplied)
	require.Zero(t, w.run())
	require.Equal(t, []string{"NodeGroup"}, w.reads, "with nothing to write no node is read")
}

// Restarts of kubelets stand in the GPUNodeGroup before they come.
func TestNothingIsWrittenUnannounced(t *testing.T) {
	w := applying(t, auto)
	for _, reason := range []string{"", core.ReasonAdvise, core.ReasonApplied, core.ReasonFactsUnknown, core.ReasonTopologyManager} {
		w.announce("gpu", reason)
		require.Zero(t, w.run(), reason)
	}
	require.NoError(t, w.Resource("GPUNodeGroup").Delete(t.Context(), "gpu", metav1.DeleteOptions{}))
	require.Zero(t, w.run())
}

// What was announced may have become wrong since.
func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(*world){
		"advice only":       func(w *world) { w.settings(advised); w.facts() },
		"off for the group": func(w *world) { w.settings(offForGPU); w.facts() },
		"topology manager":  func(w *world) { topologyManager(w, true) },
		"reservation off":   func(w *world) { w.Put(nodeGroup("gpu", map[string]any{"mode": "Off"})) },
		"larger": func(w *world) {
			w.Put(nodeGroup("gpu", map[string]any{"mode": "Static", "static": map[string]any{"memory": "64Gi"}}))
		},
		"bad annotation": func(w *world) {
			w.touch("gpu", func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{core.AnnotationKey: "{"}) })
		},
		"going away": func(w *world) {
			w.touch("gpu", func(u *unstructured.Unstructured) {
				u.SetDeletionTimestamp(&metav1.Time{Time: hooktest.Start})
				u.SetFinalizers([]string{"x/y"})
			})
		},
		"controller stale":      func(w *world) { w.Now = w.Now.Add(v1alpha1.HeartbeatStaleAfter + time.Second) },
		"controller not synced": func(w *world) { w.facts(func(s *v1alpha1.GPUStackStatus) { s.Synced = false }) },
		"settings not seen":     func(w *world) { w.facts(func(s *v1alpha1.GPUStackStatus) { s.SettingsHash = "other" }) },
		"no stack": func(w *world) {
			require.NoError(t, w.Resource("GPUStack").Delete(t.Context(), "main", metav1.DeleteOptions{}))
		},
		"nodes unreadable":       func(w *world) { w.Fail["GPUNode"] = errors.New("timeout") },
		"stack unreadable":       func(w *world) { w.Fail["GPUStack"] = errors.New("timeout") },
		"node groups unreadable": func(w *world) { w.Fail["NodeGroup"] = errors.New("timeout") },
		"no client":              func(w *world) { w.Fail["client"] = errors.New("no configuration") },
		"no node": func(w *world) {
			require.NoError(t, w.Resource("GPUNode").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		},
		"another distribution": func(w *world) { w.settings("distribution: Vanilla\n" + applied); w.facts() },
		"the kind is not served": func(w *world) {
			w.Fail["NodeGroup"] = apierrors.NewNotFound(nodeGroups, "")
		},
		"selected in part": func(w *world) {
			w.settings("memoryReservation: {mode: Apply}\nnodeGroups: [{name: gpu, drivers: [nvidia], nodeSelector: {gpu: \"true\"}}]\n")
			w.facts()
		},
		"no longer in the settings": func(w *world) { w.settings(notListed); w.facts() },
	} {
		t.Run(name, func(t *testing.T) {
			w := applying(t, auto)
			change(w)
			before, _ := w.kubelet("gpu")
			require.Zero(t, w.run())
			after, _ := w.kubelet("gpu")
			require.Equal(t, before, after)
		})
	}
}

func TestWhatStoodBeforeComesBack(t *testing.T) {
	smaller := map[string]any{"mode": "Static", "static": map[string]any{"memory": int64(1 << 30), "cpu": "2"}}
	for name, block := range map[string]map[string]any{"auto": auto, "nothing": nil, "a smaller one": smaller} {
		for how, settings := range map[string]string{"advice": advised, "off for the group": offForGPU, "not listed": notListed} {
			t.Run(name+", "+how, func(t *testing.T) {
				w := applying(t, block)
				require.Equal(t, 1, w.run())
				w.settings(settings)
				require.Equal(t, 1, w.run())
				back, annotation := w.kubelet("gpu")
				if block == nil {
					require.Nil(t, back)
				} else {
					require.Equal(t, any(block), back)
				}
				require.Empty(t, annotation)
				require.Zero(t, w.run())
			})
		}
	}
}

// Why it comes back stands in the log, and where it can't, that does: of a group that is not listed nothing else tells.
func TestGroupThatIsNoLongerListed(t *testing.T) {
	w := standing(t)
	w.settings(notListed)
	topologyManager(w, true)
	require.Zero(t, w.run())
	require.Contains(t, w.log.String(), "NodeGroup gpu: spec.kubelet.topologyManager.enabled is true")
	require.Contains(t, w.log.String(), "put it back by hand, while the nodes are drained")
	topologyManager(w, false)
	require.Equal(t, 1, w.run())
	require.Contains(t, w.log.String(), "(the group is no longer listed in nodeGroups)")
}

func topologyManager(w *world, on bool) {
	w.T.Helper()
	w.touch("gpu", func(u *unstructured.Unstructured) {
		require.NoError(w.T, unstructured.SetNestedField(u.Object, on, "spec", "kubelet", "topologyManager", "enabled"))
	})
}

// To give back takes no facts: neither a controller nor nodes.
func TestGivenBackInDoubt(t *testing.T) {
	w := standing(t)
	w.settings(advised)
	w.Fail["GPUStack"], w.Fail["GPUNode"] = errors.New("timeout"), errors.New("timeout")
	require.Equal(t, 1, w.run())
	block, _ := w.kubelet("gpu")
	require.Equal(t, auto, block)
}

// Who changes what was written keeps it; in the other modes the annotation goes, and nothing else.
func TestBackOff(t *testing.T) {
	w := standing(t)
	theirs := map[string]any{"mode": "Static", "static": map[string]any{"memory": "8Gi"}}
	w.reserve("gpu", theirs)
	w.announce("gpu", core.ReasonApplying)
	require.Zero(t, w.run())
	w.settings(advised)
	require.Equal(t, 1, w.run())
	block, annotation := w.kubelet("gpu")
	require.Equal(t, theirs, block)
	require.Empty(t, annotation)
	require.NotContains(t, w.patches[len(w.patches)-1], "spec")
}

// Somebody writes between the hook's reading and its writing.
func TestConflicts(t *testing.T) {
	status := func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"ready": int64(1)} }
	t.Run("the status", func(t *testing.T) {
		w := applying(t, auto)
		w.race = func() { w.race = nil; w.touch("gpu", status) }
		require.Equal(t, 1, w.run())
		block, _ := w.kubelet("gpu")
		require.Equal(t, written, block)
	})
	t.Run("the reservation", func(t *testing.T) {
		w := applying(t, auto)
		theirs := map[string]any{"mode": "Off"}
		w.race = func() {
			w.race = nil
			w.reserve("gpu", theirs)
		}
		require.Zero(t, w.run())
		block, annotation := w.kubelet("gpu")
		require.Equal(t, theirs, block)
		require.Empty(t, annotation)
	})
	t.Run("without end", func(t *testing.T) {
		w := applying(t, auto)
		races := 0
		w.race = func() { races++; w.touch("gpu", status) }
		require.Zero(t, w.run())
		require.Equal(t, tries, races)
		require.Contains(t, w.log.String(), "the next try is in a minute")
		w.race = nil
		require.Equal(t, 1, w.run(), "the poll")
	})
	t.Run("deleted", func(t *testing.T) {
		w := applying(t, auto)
		w.race = func() {
			w.race = nil
			require.NoError(t, w.Resource("NodeGroup").Delete(t.Context(), "gpu", metav1.DeleteOptions{}))
		}
		require.Zero(t, w.run())
		require.NotContains(t, w.log.String(), "not written")
	})
}

// A webhook of the platform that refuses the patch must not stop the module.
func TestRefusedPatch(t *testing.T) {
	w := applying(t, auto)
	w.Fail["patch"] = apierrors.NewForbidden(nodeGroups, "gpu", errors.New("webhook"))
	require.Zero(t, w.run())
	require.Contains(t, w.log.String(), "NodeGroup gpu: spec.kubelet.resourceReservation is not written")
	require.Contains(t, w.log.String(), "webhook")
}

func TestFilterIsTotal(t *testing.T) {
	hooktest.RequireTotal(t, groupFilter, `{"metadata":{"name":"gpu"},"status":{"conditions":[
		{"type":"Ready","reason":"AllNodesRegistered"},{"type":"MemoryReserved","status":"False","reason":"Applying"}]}}`)
}
