//go:build bench

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg/jq"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const (
	// hookTarget is what a run may take of what one json.Unmarshal of its context file takes.
	hookTarget = 1.5
	// rounds in which the programs take turns, so that all meet the same machine.
	rounds = 25
)

// TestHook measures runs of the hook `nodegroups` with the files that addon-operator hands it. It reads GPUStack, NodeGroups and
// GPUNodeGroups from a real API server. None of the GPUNodeGroups has a status yet: a run that writes them all.
func TestHook(t *testing.T) {
	r := up(t, "hook")
	r.unwritten()
	b := newHookBench(t, r, buildPrograms(t), moduleSettings("None"))
	stack := syncedStack(t, moduleSettings("None"))
	b.stack = stack.Status
	base := b.runs(bindingContext(t, b.filters, nil, nil))
	for _, s := range sizes(t) {
		data := bindingContext(t, b.filters, stack, gpuNodes(t, s))
		b.report(s.name, len(data), b.runs(data), base)
	}
}

// unwritten makes the kinds that the hook reads, the GPUStack, and GPUNodeGroups without a status.
func (r *rig) unwritten() {
	r.t.Helper()
	r.apply("crds/gpunodegroups.yaml", "crds/gpustacks.yaml")
	r.nodeGroups()
	for i := range groups {
		require.NoError(r.t, r.custom.Create(context.Background(), &v1alpha1.GPUNodeGroup{ObjectMeta: metav1.ObjectMeta{Name: groupName(i)}}))
	}
	require.NoError(r.t, r.custom.Create(context.Background(), &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}}))
}

// syncedStack is the GPUStack of a controller that has read the cluster with the settings of the values.
func syncedStack(t *testing.T, written string) *v1alpha1.GPUStack {
	t.Helper()
	parsed, err := settings.FromValues([]byte(written))
	require.NoError(t, err)
	stack := &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}}
	stack.Status.Synced, stack.Status.SettingsHash = true, settings.Hash(parsed)
	return stack
}

type hookBench struct {
	t *testing.T
	*rig
	programs
	dir     string
	filters map[string]*jq.Query
	// stack is the status of the GPUStack that the hook meets.
	stack v1alpha1.GPUStackStatus
}

func newHookBench(t *testing.T, r *rig, p programs, written string) *hookBench {
	b := &hookBench{t: t, rig: r, programs: p, dir: t.TempDir(), filters: hookFilters(t, "nodegroups/nodegroups")}
	b.write("values.json", hookValues(t, written))
	b.write("config-values.json", []byte("{}"))
	return b
}

// beat writes the status of the GPUStack anew, as the controller that is alive does: on an old heartbeat the hook takes
// another way.
func (b *hookBench) beat() {
	b.t.Helper()
	stack := &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}}
	require.NoError(b.t, b.custom.Get(context.Background(), client.ObjectKeyFromObject(stack), stack))
	now := metav1.Now()
	stack.Status = *b.stack.DeepCopy()
	stack.Status.Heartbeat = &now
	require.NoError(b.t, b.custom.Status().Update(context.Background(), stack))
}

func (b *hookBench) write(name string, data []byte) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(filepath.Join(b.dir, name), data, 0o600))
}

// env names the files of a run, as addon-operator does.
func (b *hookBench) env() []string {
	env := []string{"KUBECONFIG=" + b.kubeconfig, "MODULE_NAME=gpu-dra"}
	for name, file := range map[string]string{
		"BINDING_CONTEXT_PATH": "context.json", "VALUES_PATH": "values.json", "CONFIG_VALUES_PATH": "config-values.json",
		"METRICS_PATH": "metrics.json", "KUBERNETES_PATCH_PATH": "patches.json",
		"VALUES_JSON_PATCH_PATH": "values-patch.json", "CONFIG_VALUES_JSON_PATCH_PATH": "config-values-patch.json",
	} {
		env = append(env, name+"="+filepath.Join(b.dir, file))
	}
	return env
}

// turns are the runs of all programs on one context.
type turns struct {
	hook, sdk, yardstick runs
	// unmarshal is the shortest json.Unmarshal alone, without the start of its process.
	unmarshal time.Duration
}

func (b *hookBench) runs(data []byte) turns {
	b.t.Helper()
	b.write("context.json", data)
	run := b.runner()
	var out turns
	for range rounds {
		hook, sdk, _ := run()
		out.hook, out.sdk = append(out.hook, hook), append(out.sdk, sdk)
		y := b.measure(b.t, nil, b.yardstick, filepath.Join(b.dir, "context.json"))
		out.yardstick = append(out.yardstick, y)
		ns, err := strconv.ParseInt(strings.TrimSpace(y.Out), 10, 64)
		require.NoError(b.t, err)
		if took := time.Duration(ns); out.unmarshal == 0 || took < out.unmarshal {
			out.unmarshal = took
		}
	}
	return out
}

// runner returns a function that runs the hook and the empty hook once each, and what the first wrote.
func (b *hookBench) runner() func() (hook, sdk run, patches string) {
	b.t.Helper()
	number, empty := hookNumber(b.t, hooksPath, "nodegroups/nodegroups"), hookNumber(b.t, b.emptyHook, "empty/empty")
	return func() (hook, sdk run, patches string) {
		b.t.Helper()
		b.beat()
		b.write("patches.json", nil)
		hook = b.measure(b.t, b.env(), hooksPath, "hook", "run", number)
		written, err := os.ReadFile(filepath.Join(b.dir, "patches.json"))
		require.NoError(b.t, err)
		require.Contains(b.t, string(written), groupName(groups-1), "the hook must have done its work")
		return hook, b.measure(b.t, b.env(), b.emptyHook, "hook", "run", empty), string(written)
	}
}

// report compares. What the handler takes is what a run takes more than one of an empty hook on the same files: the start of
// the process and the SDK's own decoding are in both.
func (b *hookBench) report(name string, bytes int, got, base turns) {
	add := func(what, figure, ratio string) { results.add(sectionHook, name+": "+what, figure, ratio) }
	judge := func(what, figure string, of float64) {
		results.judge(sectionHook, name+": "+what, figure, fmt.Sprintf("<= %.1fx", hookTarget), ratio(of), of <= hookTarget)
	}
	per := func(a, b time.Duration) float64 { return float64(a) / float64(b) }
	handler := func(of turns) time.Duration { return of.hook.shortest() - of.sdk.shortest() }
	processor := got.hook.cpu() - got.sdk.cpu()
	add(fmt.Sprintf("json.Unmarshal of the context (%.2f MB)", float64(bytes)/1e6), millis(got.unmarshal), "")
	judge("handler: whole run less the SDK's share", millis(handler(got)), per(handler(got), got.unmarshal))
	judge("handler by processor time", millis(processor), per(processor, got.yardstick.cpu()))
	add("handler without any node: API server, settings", millis(handler(base)), "")
	add("SDK's share: a run of an empty hook", millis(got.sdk.shortest()), ratio(per(got.sdk.shortest(), got.unmarshal)))
	add("whole run, beside a process of json.Unmarshal", millis(got.hook.shortest()), ratio(per(got.hook.shortest(), got.yardstick.shortest())))
	peaks := func(x runs) float64 { return float64(x.rss()) }
	judge(fmt.Sprintf("peak RSS of the run (Unmarshal: %s)", mib(got.yardstick.rss())), mib(got.hook.rss()), peaks(got.hook)/peaks(got.yardstick))
	add("peak RSS of an empty hook", mib(got.sdk.rss()), ratio(peaks(got.sdk)/peaks(got.yardstick)))
	grown, yardstick := got.hook.rss()-base.hook.rss(), got.yardstick.rss()-base.yardstick.rss()
	judge("peak RSS above a run without nodes", mib(grown), float64(grown)/float64(yardstick))
}
