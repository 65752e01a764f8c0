package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestResourcesThatTheAPIServerRefuses(t *testing.T) {
	s := parse(t, `
nodeGroups:
- name: a
  nodeSelector: {a: b}
  drivers: [nvidia, amd]
  driverOverrides:
    amd: {resources: {requests: {memory: 2Gi}, limits: {memory: 1536Mi}}}
    nvidia: {exporter: {resources: {requests: {nvidia.com/gpu: 1}}}}
drivers:
  example: {exporter: {resources: {limits: {memroy: 1Gi}}}}
  nvidia: {resources: {requests: {cpu: 500m, ephemeral-storage: 1Gi}, limits: {cpu: "0.5", memory: 1Gi, hugepages-2Mi: 4Mi}}}
controller: {resources: {requests: {cpu: "1"}, limits: {cpu: 999m, "a b": 1}}}
`)
	set, problems := Profiles(s)
	require.Empty(t, problems)
	require.Equal(t, []string{
		`controller.resources.requests[cpu]: found "1", expected at most the limit 999m`,
		`controller.resources.limits[a b]: found "a b", expected cpu, memory, ephemeral-storage, hugepages-<size>, or a domain, a slash and a name`,
		`drivers.example.exporter.resources.limits[memroy]: found "memroy", expected cpu, memory, ephemeral-storage, hugepages-<size>, or a domain, a slash and a name`,
		`nodeGroups[0].driverOverrides.amd.resources.requests[memory]: found "2Gi", expected at most the limit 1536Mi`,
		`nodeGroups[0].driverOverrides.nvidia.exporter.resources.requests[nvidia.com/gpu]: found "1", expected the same amount as limits[nvidia.com/gpu], of which there is none`,
	}, lines(Problems(s, set, profile.Distribution{Name: "Vanilla"})))
}

// Two DaemonSets of one name would be one object, which both pairs write in turn.
func TestDaemonSetsOfOneName(t *testing.T) {
	s := parse(t, `
customDrivers:
- {name: intel, driverName: intel.example, plugin: {image: {repository: r, tag: v1}, containers: [{name: a}]}}
- {name: unseen, driverName: unseen.example}
nodeGroups:
- {name: gpu-a, nodeSelector: {a: a}, drivers: [intel, unseen]}
- {name: a, nodeSelector: {a: b}, drivers: [intel-gpu]}
- {name: b, nodeSelector: {a: b}, drivers: [intel, intel-gpu]}
`)
	set, problems := Profiles(s)
	require.Empty(t, problems)
	require.Equal(t, []string{
		`nodeGroups[1].name: found "a", with which the DaemonSet of intel-gpu is called driver-intel-gpu-a, as that of intel on nodeGroups[0]; rename the group`,
	}, lines(Problems(s, set, profile.Distribution{Name: "Vanilla"})))
}
