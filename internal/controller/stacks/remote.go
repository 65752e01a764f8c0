package stacks

import (
	"context"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

const (
	// refreshAfter is how long what was asked of the API server stands: its version, and kinds that may not be served,
	// which a watch could not follow.
	refreshAfter = time.Minute
	// retryAfter is the same where a part of it could not be read.
	retryAfter = 10 * time.Second
	// patience with an API server that does not answer: the heartbeat waits as well.
	patience = 10 * time.Second
)

// resourceGroup is the API group of dynamic resource allocation.
const resourceGroup = "resource.k8s.io"

// Remote asks the API server what no informer holds. It is used by one goroutine at a time.
type Remote struct {
	// Discovery has a time limit of its own.
	Discovery discovery.DiscoveryInterface
	// Reader is no cache.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Groups are the names of the listed node groups.
	Groups       []string
	Distribution profile.Distribution
	Profiles     *profile.Set

	asked time.Time
	last  answer
}

// answer is what came of asking.
type answer struct {
	version         string
	resourceAPIs    []string
	clusterManagers []v1alpha1.Conflict
	groupManagers   []stack.GroupManager
	unreadable      map[stack.Fact]string
}

// fill puts the last answer in, asking again when it is too old.
func (r *Remote) fill(ctx context.Context, in *stack.Input) {
	stands := refreshAfter
	if len(r.last.unreadable) > 0 {
		stands = retryAfter
	}
	if now := r.Clock.Now(); r.asked.IsZero() || now.Sub(r.asked) >= stands {
		r.last, r.asked = r.ask(ctx), now
	}
	in.KubernetesVersion = r.last.version
	in.ResourceAPIs = r.last.resourceAPIs
	in.ClusterManagers = append(in.ClusterManagers, r.last.clusterManagers...)
	in.GroupManagers = r.last.groupManagers
	for fact, reason := range r.last.unreadable {
		in.Unreadable[fact] = reason
	}
}

func (r *Remote) ask(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := answer{unreadable: map[stack.Fact]string{}}
	if v, err := r.Discovery.ServerVersion(); err != nil {
		a.unreadable[stack.FactKubernetesVersion] = reason(err)
	} else {
		a.version = v.GitVersion
	}
	if groups, err := r.Discovery.ServerGroups(); err != nil {
		a.unreadable[stack.FactResourceAPIs] = reason(err)
	} else {
		a.resourceAPIs = served(groups, resourceGroup)
	}
	for _, t := range traces(r.Distribution, r.Profiles) {
		if t.API == "" {
			continue
		}
		switch found, err := r.object(ctx, t.API); {
		case err != nil:
			a.unreadable[stack.FactManagers] = t.API + ": " + reason(err)
		case found != "":
			a.clusterManagers = append(a.clusterManagers, v1alpha1.Conflict{Manager: t.Name, Evidence: found})
		}
	}
	for name, p := range platform.NodeGroups(ctx, r.Reader, r.Distribution, r.Profiles.All(), r.Groups) {
		if p.Lookup == nodegroup.Unreadable {
			a.unreadable[stack.FactNodeGroups] = p.Message
		}
		for _, m := range p.Managers {
			a.groupManagers = append(a.groupManagers, stack.GroupManager{Group: name, Manager: m})
		}
	}
	return a
}

// object returns "Kind name" of one object of a kind that is given as group/version/Kind; empty when there is none, or no
// such kind.
func (r *Remote) object(ctx context.Context, api string) (string, error) {
	parts := strings.Split(api, "/")
	if len(parts) != 3 {
		// Not of a checked profile.
		return "", nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2] + "List"})
	switch err := r.Reader.List(ctx, list, client.Limit(1)); {
	case err == nil && len(list.Items) > 0:
		return parts[2] + " " + list.Items[0].Name, nil
	case err == nil, platform.Absent(err):
		return "", nil
	default:
		return "", err
	}
}

func served(groups *metav1.APIGroupList, name string) []string {
	var out []string
	for _, g := range groups.Groups {
		if g.Name == name {
			for _, v := range g.Versions {
				out = append(out, v.Version)
			}
		}
	}
	return out
}

// traces of other managers that the profiles name.
func traces(d profile.Distribution, profiles *profile.Set) []profile.ManagerTrace {
	out := append([]profile.ManagerTrace{}, d.Managers...)
	for _, p := range profiles.All() {
		out = append(out, p.Managers...)
	}
	return out
}

func (r *Reconciler) traces() []profile.ManagerTrace { return traces(r.Distribution, r.Profiles) }

// reason is the text of an error for a status.
func reason(err error) string {
	if errors.Is(err, observe.ErrNotRead) {
		return err.Error()
	}
	return platform.Reason(err)
}
