//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// component is one process of the cluster, as `cluster status` shows it.
type component struct {
	Name     string   `json:"name"`
	Alive    bool     `json:"alive"`
	Ready    bool     `json:"ready"`
	Endpoint string   `json:"endpoint"`
	Version  string   `json:"version"`
	Args     []string `json:"args"`
	Log      string   `json:"log"`
}

// clusterStatus is what `cluster status` shows.
type clusterStatus struct {
	Components []component `json:"components"`
	// Node is the real node, where there is one.
	Node *realNode `json:"node"`
}

func (r *rig) status() (clusterStatus, error) {
	var s clusterStatus
	out, err := r.tryCluster("status", "--output", "json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	return s, err
}

func (r *rig) tryComponent(name string) (component, error) {
	s, err := r.status()
	if err != nil {
		return component{}, err
	}
	for _, c := range s.Components {
		if c.Name == name {
			return c, nil
		}
	}
	return component{}, fmt.Errorf("%s is none of the components %v", name, s.Components)
}

func (r *rig) component(name string) component {
	r.t.Helper()
	c, err := r.tryComponent(name)
	require.NoError(r.t, err)
	return c
}

// restart ends a component and starts it with these arguments behind its own, in place of those it had there. It returns what the
// component said meanwhile; the error is that of one that ended before it was ready.
func (r *rig) restart(name string, arguments ...string) (said string, err error) {
	r.t.Helper()
	log := r.component(name).Log
	before, err := os.ReadFile(log)
	require.NoError(r.t, err)
	call := []string{"restart", name, "--extra-arg", name + "="}
	for _, a := range arguments {
		call = append(call, "--extra-arg", name+"="+a)
	}
	_, err = r.tryCluster(call...)
	after, readErr := os.ReadFile(log)
	require.NoError(r.t, readErr)
	return string(after[len(before):]), err
}

// get is an administrator's request to a component itself, at its address.
func (r *rig) get(ctx context.Context, endpoint, path string) (string, error) {
	config := rest.CopyConfig(r.config)
	config.Host = endpoint
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	return fetch(ctx, client, endpoint+path)
}

// fetch returns the body of an answer; any status but 200 is an error that has the body's end.
func fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, tail(body, 1000))
	}
	return string(body), err
}

// gateState is what a component itself says of a feature gate.
type gateState struct {
	// Stage: ALPHA, BETA, DEPRECATED, or empty for GA.
	Stage string
	On    bool
}

var gateMetric = regexp.MustCompile(`(?m)^kubernetes_feature_enabled\{name="([^"]+)",stage="([A-Z]*)"\} ([01])$`)

// gatesOf are the gates that a running component has, by its own metrics.
func (r *rig) gatesOf(name string) map[string]gateState {
	r.t.Helper()
	text, err := r.get(context.Background(), r.component(name).Endpoint, "/metrics")
	require.NoError(r.t, err)
	out := map[string]gateState{}
	for _, m := range gateMetric.FindAllStringSubmatch(text, -1) {
		out[m[1]] = gateState{Stage: m[2], On: m[3] == "1"}
	}
	require.Greater(r.t, len(out), 100, "%s says little of its gates: %s", name, strings.Join(gateMetric.FindStringSubmatch(text), " "))
	return out
}
