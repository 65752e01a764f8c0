//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// right is one verb on one resource, or on a path that is none, which begins with a slash.
type right struct{ verb, group, resource string }

func watched(r right) right { r.verb = "watch"; return r }

// unusedHere are rights that this cluster gives no occasion for, with the occasion.
var unusedHere = map[right]string{
	{"list", "nvidia.com", "clusterpolicies"}:              "a cluster that serves the kind of the other manager",
	{"list", "amd.com", "deviceconfigs"}:                   "the same",
	{"list", "deviceplugin.intel.com", "gpudeviceplugins"}: "the same",
}

// The controller asks for nothing it has no right to, and has no right it does not use: the API server's own log of its
// requests says so. A rule that is taken away is missed.
func TestControllerRights(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.eventually("ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))
	r.eventually("template written", 60*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "True"))

	// Every occasion: a GPUNode made and removed, a template replaced and withdrawn, a foreign one in the way.
	r.addNode("h100-3", "gpu-h100")
	r.eventually("GPUNode made", 30*time.Second, func(ctx context.Context) error { _, err := r.node(ctx, "h100-3"); return err })
	r.kubectl("label", "node", "h100-3", groupLabel+"-")
	r.eventually("GPUNode removed", 30*time.Second, func(ctx context.Context) error {
		if _, err := r.node(ctx, "h100-3"); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("still there (%v)", err)
		}
		return nil
	})
	uid := r.claimTemplate("inference", "gpu-16gb-min").UID
	r.kubectl("patch", "gpuclaimtemplate", "gpu-16gb-min", "--type=merge", "-p", `{"spec":{"count":2}}`)
	r.eventually("template replaced", 30*time.Second, func(context.Context) error {
		if got := r.claimTemplate("inference", "gpu-16gb-min"); got == nil || got.UID == uid {
			return fmt.Errorf("not replaced yet")
		}
		return nil
	})
	r.kubectl("label", "resourceclaimtemplate", "-n", "inference", "gpu-16gb-min", v1alpha1.LabelClaimTemplate+"-")
	r.eventually("label put back", 90*time.Second, func(context.Context) error {
		if got := r.claimTemplate("inference", "gpu-16gb-min"); got == nil || got.Labels[v1alpha1.LabelClaimTemplate] == "" {
			return fmt.Errorf("not put back yet")
		}
		return nil
	})

	r.requireRightsUsed(t, moduleNamespace, "controller", unusedHere)
	// The proof by example: without the right to write GPUNodes the controller is refused and the test above would see it.
	gone := right{"create", v1alpha1.Group, "gpunodes"}
	r.takeAway(t, gone)
	r.addNode("h100-4", "gpu-h100")
	r.eventuallyRefused(t, moduleNamespace, "controller", gone)
}

// requireRightsUsed compares what a ServiceAccount may do with what it did: nothing was refused, and nothing is granted that was
// never used.
func (r *rig) requireRightsUsed(t *testing.T, namespace, account string, except map[right]string) {
	t.Helper()
	_, refused := r.asked(t, namespace, account)
	require.Empty(t, refused, "%s asked for what it has no right to", account)
	require.Empty(t, r.idle(t, namespace, account, except), "granted to %s and never used", account)
}

// idle are the rights that a ServiceAccount has and never used.
func (r *rig) idle(t *testing.T, namespace, account string, except map[right]string) []string {
	t.Helper()
	used, _ := r.asked(t, namespace, account)
	var idle []string
	for right := range r.granted(t, namespace, account) {
		// What is watched is listed only by an API server that cannot stream lists.
		streamed := right.verb == "list" && used[watched(right)]
		if !used[right] && !streamed && except[right] == "" {
			idle = append(idle, fmt.Sprint(right))
		}
	}
	slices.Sort(idle)
	return idle
}

func (r *rig) eventuallyRefused(t *testing.T, namespace, account string, gone right) {
	t.Helper()
	r.eventually("refused without the right", 60*time.Second, func(context.Context) error {
		if _, refused := r.asked(t, namespace, account); !slices.Contains(refused, gone) {
			return fmt.Errorf("refused so far: %v", refused)
		}
		return nil
	})
}

// granted returns what the roles bound to a ServiceAccount allow.
func (r *rig) granted(t *testing.T, namespace, account string) map[right]bool {
	t.Helper()
	ctx := context.Background()
	out := map[right]bool{}
	add := func(rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, path := range rule.NonResourceURLs {
				for _, verb := range rule.Verbs {
					require.NotEqual(t, "*", verb)
					require.NotContains(t, path, "*")
					out[right{verb: verb, resource: path}] = true
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						require.NotEqual(t, "*", verb)
						require.NotEqual(t, "*", resource)
						require.NotEqual(t, "*", group)
						out[right{verb, group, resource}] = true
					}
				}
			}
		}
	}
	ours := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == "ServiceAccount" && s.Namespace == namespace && s.Name == account
		})
	}
	var clusterBindings rbacv1.ClusterRoleBindingList
	require.NoError(t, r.client.List(ctx, &clusterBindings))
	for _, b := range clusterBindings.Items {
		if ours(b.Subjects) {
			var role rbacv1.ClusterRole
			require.NoError(t, r.client.Get(ctx, client.ObjectKey{Name: b.RoleRef.Name}, &role))
			add(role.Rules)
		}
	}
	var bindings rbacv1.RoleBindingList
	require.NoError(t, r.client.List(ctx, &bindings))
	for _, b := range bindings.Items {
		if ours(b.Subjects) {
			require.Equal(t, "Role", b.RoleRef.Kind)
			var role rbacv1.Role
			require.NoError(t, r.client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name}, &role))
			add(role.Rules)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// asked returns what a ServiceAccount asked for by the API server's audit log: what was allowed, and what was refused.
func (r *rig) asked(t *testing.T, namespace, account string) (allowed map[right]bool, refused []right) {
	t.Helper()
	file, err := os.Open(filepath.Join(filepath.Dir(r.kubeconfig()), "logs", "audit.log"))
	require.NoError(t, err)
	defer file.Close()
	allowed = map[right]bool{}
	user := "system:serviceaccount:" + namespace + ":" + account
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb string `json:"verb"`
			User struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				APIGroup    string `json:"apiGroup"`
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
			RequestURI  string            `json:"requestURI"`
			Annotations map[string]string `json:"annotations"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		if event.User.Username != user {
			continue
		}
		asked := right{event.Verb, event.ObjectRef.APIGroup, event.ObjectRef.Resource}
		if event.ObjectRef.Resource == "" {
			asked.resource, _, _ = strings.Cut(event.RequestURI, "?")
		}
		if event.ObjectRef.Subresource != "" {
			asked.resource += "/" + event.ObjectRef.Subresource
		}
		if event.Annotations["authorization.k8s.io/decision"] == "allow" {
			allowed[asked] = true
		} else if !slices.Contains(refused, asked) {
			refused = append(refused, asked)
		}
	}
	require.NoError(t, lines.Err())
	return allowed, refused
}

// takeAway removes a right from all ClusterRoles of gpu-dra's.
func (r *rig) takeAway(t *testing.T, gone right) {
	t.Helper()
	ctx := context.Background()
	var roles rbacv1.ClusterRoleList
	require.NoError(t, r.client.List(ctx, &roles, client.MatchingLabels{"app.kubernetes.io/name": "gpu-dra"}))
	for i := range roles.Items {
		role := roles.Items[i].DeepCopy()
		var rules []rbacv1.PolicyRule
		for _, rule := range role.Rules {
			if slices.Contains(rule.APIGroups, gone.group) && slices.Contains(rule.Resources, gone.resource) {
				rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == gone.verb })
			}
			if len(rule.Verbs) > 0 {
				rules = append(rules, rule)
			}
		}
		role.Rules = rules
		require.NoError(t, r.client.Update(ctx, role))
	}
}
