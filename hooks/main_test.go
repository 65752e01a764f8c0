package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deckhouse/module-sdk/pkg/registry"
	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"
)

// Every registered hook, as addon-operator gets to know it.
func TestRegisteredHooks(t *testing.T) {
	type summary struct {
		startup, beforeHelm       uint
		beforeDelete, afterDelete uint
		queue                     string
		schedule                  []string
		bindings                  []string
	}
	got := map[string]summary{}
	for _, h := range registry.Registry().ModuleHooks() {
		c := h.Config
		require.NoError(t, c.Validate())
		s := summary{queue: c.Queue}
		if c.OnStartup != nil {
			s.startup = c.OnStartup.Order
		}
		if c.OnBeforeHelm != nil {
			s.beforeHelm = c.OnBeforeHelm.Order
		}
		if c.OnBeforeDeleteHelm != nil {
			s.beforeDelete = c.OnBeforeDeleteHelm.Order
		}
		if c.OnAfterDeleteHelm != nil {
			s.afterDelete = c.OnAfterDeleteHelm.Order
		}
		for _, x := range c.Schedule {
			s.schedule = append(s.schedule, x.Name+" "+x.Crontab)
		}
		for _, k := range c.Kubernetes {
			s.bindings = append(s.bindings, k.Name+" "+k.APIVersion+" "+k.Kind)
			require.NotEmpty(t, k.JqFilter, "without a filter addon-operator keeps whole objects")
			_, err := gojq.Parse(k.JqFilter)
			require.NoError(t, err)
			require.Nil(t, k.WaitForSynchronization, "the first release needs the snapshots")
		}
		got[c.Metadata.Name] = s
	}
	require.Equal(t, map[string]summary{
		"ready/ready":               {startup: 1},
		"certificates/certificates": {beforeHelm: 5, schedule: []string{"internalTLSSchedule 42 4 * * *"}, bindings: []string{"secret v1 Secret"}},
		"cluster/cluster": {beforeHelm: 10, queue: "/modules/gpu-dra/cluster", bindings: []string{
			"stack gpu-dra.deckhouse.io/v1alpha1 GPUStack", "classes resource.k8s.io/v1 DeviceClass"}},
		"nodegroups/nodegroups": {beforeHelm: 20, queue: "/modules/gpu-dra/nodegroups", schedule: []string{"poll @every 1m"}, bindings: []string{
			"stack gpu-dra.deckhouse.io/v1alpha1 GPUStack", "nodes gpu-dra.deckhouse.io/v1alpha1 GPUNode"}},
		"reservation/reservation": {beforeHelm: 30, queue: "/modules/gpu-dra/reservation", schedule: []string{"poll @every 1m"}, bindings: []string{
			"groups gpu-dra.deckhouse.io/v1alpha1 GPUNodeGroup"}},
		"reservation/restore": {beforeDelete: 10, afterDelete: 10},
	}, got)
}

// The SDK cuts the letters "g" and "o" off the end of a hook's file name.
func TestHookFilesKeepTheirNames(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, f := range files {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(source), "registry.RegisterFunc(") {
			require.NotRegexp(t, `[go]\.go$`, f)
		}
	}
}

// The program itself: addon-operator takes it for hooks only if `hook list` counts them, and reads nothing but JSON from
// `hook config`.
func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gpu-dra-hooks")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	list, err := exec.Command(program, "hook", "list").Output()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(list), "Found 6 items"), string(list))
	data, err := exec.Command(program, "hook", "config").Output()
	require.NoError(t, err)
	var configs struct {
		Version   string
		Readiness any
		Hooks     []struct {
			Kubernetes []struct{ KeepFullObjectsInMemory *bool }
		}
	}
	require.NoError(t, json.Unmarshal(data, &configs), string(data))
	require.Equal(t, "v1", configs.Version)
	require.Nil(t, configs.Readiness)
	require.Len(t, configs.Hooks, 6)
	for _, h := range configs.Hooks {
		for _, k := range h.Kubernetes {
			require.False(t, *k.KeepFullObjectsInMemory)
		}
	}
}
