package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli/source"
)

// read gets the GPUStack from where the options say; the config is that of the cluster, nil for a file.
func (o options) read(ctx context.Context, stdin io.Reader) (*v1alpha1.GPUStack, *rest.Config, error) {
	out := &v1alpha1.GPUStack{}
	if o.file != "" {
		return out, nil, source.GPUStack.FromFile(o.file, stdin, "", out)
	}
	config, err := source.Config(o.kubeconfig, o.context)
	if err != nil {
		return nil, nil, err
	}
	found, err := source.GPUStack.FromCluster(ctx, config, v1alpha1.StackName, out)
	if err == nil && !found {
		err = errors.New("the cluster has no GPUStack main: install gpu-dra first, or see whether its controller runs")
	}
	return out, config, err
}

// age fails for a status that nobody has written yet, and says of another what keeps it from being the present state, "" where
// nothing does.
func age(s v1alpha1.GPUStackStatus, now time.Time) (string, error) {
	if s.Heartbeat == nil {
		return "", errors.New("GPUStack main has no status yet: see whether Deployment controller runs, and its log")
	}
	switch old := now.Sub(s.Heartbeat.Time); {
	case old >= v1alpha1.HeartbeatStaleAfter:
		return fmt.Sprintf("Out of date: this status was written %s ago (%s). Unless it is an old copy, the controller does not run: see Deployment controller.",
			old.Truncate(time.Second), s.Heartbeat.UTC().Format(time.RFC3339)), nil
	case !s.Synced:
		return "Incomplete: the controller was still reading the cluster when it wrote this status. Try again in a minute; if this lasts, see its log.", nil
	}
	return "", nil
}
