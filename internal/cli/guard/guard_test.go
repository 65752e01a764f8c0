package guard

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-dra/gpu-dra/internal/cli"
)

const (
	pluginFlag   = "--plugin-resource=acme.example/*"
	stillEight   = "node gpu-1 still advertises acme.example/npu: 8 (allocatable): take the device plugin off this node, or set the node label gpu-dra.deckhouse.io/passive=true"
	stillSeven   = "node gpu-1 still advertises acme.example/npu: 7 (allocatable): take the device plugin off this node, or set the node label gpu-dra.deckhouse.io/passive=true"
	isClear      = "node gpu-1 is clear, the driver may start"
	readsOneNode = "GET /api/v1/nodes/gpu-1"
)

var nodes = schema.GroupResource{Resource: "nodes"}

func TestWaitsUntilTheDevicePluginIsGone(t *testing.T) {
	r := newRig(t)
	r.server.advertises("acme.example/npu", 8)
	r.clock.then = func(sleeps int) {
		switch sleeps {
		case 2:
			r.server.advertises("acme.example/npu", 7)
		case 4:
			r.server.advertises("acme.example/npu", 0)
		}
	}
	require.NoError(t, r.run(t.Context(), pluginFlag))
	require.Equal(t, slices.Repeat([]time.Duration{5 * time.Second}, 4), r.clock.slept)
	require.Equal(t, []string{"waiting: " + stillEight, "waiting: " + stillSeven, isClear}, r.lines(), "only what changed is logged")
	require.Empty(t, r.message(t))
	// The only right that the chart gives it.
	require.Equal(t, slices.Repeat([]string{readsOneNode}, 5), r.server.asked)
}

func TestWaitsForManagersAndForTheHost(t *testing.T) {
	r := newRig(t)
	host := t.TempDir()
	tool, module := filepath.Join(host, "bin", "tool"), filepath.Join(host, "module")
	require.NoError(t, os.WriteFile(module, nil, 0o600))
	r.server.labels(map[string]string{"acme.example/operator": "yes", "other.example/managed": "false"})
	r.clock.then = func(sleeps int) {
		switch sleeps {
		case 1:
			r.server.labels(map[string]string{"acme.example/operator": "no", "other.example/managed": "false"})
		case 2:
			require.NoError(t, os.Mkdir(filepath.Dir(tool), 0o700))
			require.NoError(t, os.Symlink("/no/such/file", tool), "as an absolute link of the host looks from a container")
		}
	}
	require.NoError(t, r.run(t.Context(), "--manager-label=acme.example/operator=true,yes", "--manager-label=other.example/managed=true",
		"--wait-for=the ACME driver="+module+"/x,"+tool, "--wait-for=the module="+module))
	lacks := "waiting: node gpu-1 lacks the ACME driver: install or start it there; if it is there, check the setting driverRoot of the driver; looked for " +
		module + "/x (not a directory), " + tool
	require.Equal(t, []string{
		"waiting: node gpu-1 carries acme.example/operator=yes of another manager of its accelerators: take that manager off this node, or set the node label gpu-dra.deckhouse.io/passive=true",
		lacks, lacks, isClear,
	}, r.lines())
}

func TestGivesUpAfterTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		slept []time.Duration
		after string
	}{
		"by default":     {nil, slices.Repeat([]time.Duration{5 * time.Second}, 24), "2m0s"},
		"a part of it":   {[]string{"--timeout=12s"}, []time.Duration{5 * time.Second, 5 * time.Second, 2 * time.Second}, "12s"},
		"after one look": {[]string{"--timeout=0"}, nil, "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server.advertises("acme.example/npu", 8)
			err := r.run(t.Context(), append(c.args, pluginFlag)...)
			require.EqualError(t, err, "not clear after "+c.after+": "+stillEight)
			require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
			require.Equal(t, err.Error(), r.message(t), "for the pod's status")
			require.Equal(t, c.slept, r.clock.slept)
			require.Equal(t, []string{"waiting: " + stillEight}, r.lines())
		})
	}
}

// An API server that is away tells nothing, and nothing is no leave to start.
func TestErrorsAreDoubt(t *testing.T) {
	r := newRig(t)
	r.server.fails(apierrors.NewInternalError(errors.New("no quorum")))
	r.clock.then = func(sleeps int) {
		switch sleeps {
		case 5:
			r.server.fails(nil)
			r.server.advertises("acme.example/npu", 8)
		case 6:
			r.server.fails(apierrors.NewUnauthorized("token expired"))
		case 7:
			r.server.fails(nil)
			r.server.advertises("acme.example/npu", 0)
		}
	}
	require.NoError(t, r.run(t.Context(), pluginFlag))
	var seconds []float64
	for _, d := range r.clock.slept {
		seconds = append(seconds, d.Seconds())
	}
	require.Equal(t, []float64{5, 10, 20, 30, 30, 5, 5}, seconds, "errors make the pause longer, an answer makes it short again")
	const doubt = "waiting: whether another manager is on node gpu-1 is unknown: see whether this node reaches the API server "
	require.Equal(t, []string{
		doubt + "(Internal error occurred: no quorum)", "waiting: " + stillEight, doubt + "(token expired)", isClear,
	}, r.lines())
}

func TestWhatWaitingDoesNotMendEndsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err  apierrors.APIStatus
		want string
	}{
		"no right": {apierrors.NewForbidden(nodes, "gpu-1", errors.New(`User "system:serviceaccount:gpu-dra:driver-acme" cannot get resource "nodes" in API group "" at the cluster scope`)),
			`node gpu-1 cannot be read: give the ServiceAccount of this pod the right to get nodes, by a ClusterRole (nodes "gpu-1" is forbidden: User "system:serviceaccount:gpu-dra:driver-acme" cannot get resource "nodes" in API group "" at the cluster scope)`},
		"no node": {apierrors.NewNotFound(nodes, "gpu-1"),
			`there is no node gpu-1: --node must be the name of the node that this pod runs on, as in its spec.nodeName (nodes "gpu-1" not found)`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server.fails(c.err)
			err := r.run(t.Context())
			require.EqualError(t, err, c.want)
			require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
			require.Equal(t, c.want, r.message(t))
			require.Empty(t, r.clock.slept)
		})
	}
}

// A pod that is deleted while its guard waits needs no explanation, and its driver must not start.
func TestStopped(t *testing.T) {
	for name, arm := range map[string]func(r *rig, stop func()){
		"between two looks": func(r *rig, stop func()) { r.clock.then = func(int) { stop() } },
		"within a look": func(r *rig, stop func()) {
			r.server.before = func(request *http.Request) {
				stop()
				<-request.Context().Done()
			}
		},
		// Clear, but the pod is on its way out.
		"too late": func(r *rig, stop func()) {
			r.server.advertises("acme.example/npu", 8)
			r.clock.then = func(int) {
				r.server.advertises("acme.example/npu", 0)
				stop()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server.advertises("acme.example/npu", 8)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			arm(r, stop)
			err := r.run(ctx, pluginFlag)
			require.ErrorIs(t, err, errStopped)
			require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
			require.Empty(t, r.message(t))
			require.NotContains(t, r.log.String(), isClear)
		})
	}
}

func TestNoAPIServer(t *testing.T) {
	r := newRig(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	r.kubeconfig = ""
	err := r.run(t.Context())
	require.EqualError(t, err, "where the API server is: found neither --kubeconfig nor a pod around this process; outside a cluster give --kubeconfig")
	require.Equal(t, cli.ExitFailed, cli.ExitCode(err))

	r.kubeconfig = filepath.Join(t.TempDir(), "none")
	require.ErrorContains(t, r.run(t.Context()), "where the API server is: ")
}

func TestWallClock(t *testing.T) {
	clock := wallClock{}
	before := clock.Now()
	clock.Sleep(t.Context(), time.Millisecond)
	require.GreaterOrEqual(t, clock.Now().Sub(before), time.Millisecond)
	ended, stop := context.WithCancel(t.Context())
	stop()
	clock.Sleep(ended, time.Hour)
	require.Less(t, clock.Now().Sub(before), time.Hour)
}
