package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// What docs show has to be right as it stands: it parses, nothing in it is a problem, and every claim template can be built.
func TestExamples(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(Root(), "examples", "values", "*"))
	require.NoError(t, err)
	require.Len(t, names, len(distributions))
	known, err := profile.Distributions()
	require.NoError(t, err)
	for _, name := range distributions {
		data, err := os.ReadFile(filepath.Join(Root(), "examples", "values", name+".yaml"))
		require.NoError(t, err)
		s, err := settings.Parse(data)
		require.NoError(t, err, name)
		set, problems := settings.Profiles(s)
		require.Empty(t, problems, name)
		distribution := known[strings.ToUpper(name[:1])+name[1:]]
		require.NotEmpty(t, distribution.Name)
		require.Empty(t, settings.Problems(s, set, distribution), name)
		require.NotEmpty(t, s.ClaimTemplates, name)
		for _, template := range s.ClaimTemplates {
			spec, err := claim.Build(template.GPUClaimTemplateSpec, set, claim.Capabilities{})
			require.NoError(t, err, "%s: %s", name, template.Name)
			require.NoError(t, claim.Check(spec), "%s: %s", name, template.Name)
			class := claim.Class(spec)
			require.NotNil(t, Find[*resourcev1.DeviceClass](objects(t, exampleOf(t, name, versions[0], false)), class),
				"%s: %s asks for the class %s, which is not created", name, template.Name, class)
		}
		for i, line := range strings.Split(string(data), "\n") {
			require.LessOrEqual(t, len(line), 132, "%s.yaml:%d", name, i+1)
		}
	}
}

// The example for virtual machines gives the gates of passthrough to the group that has them, and to no other.
func TestExampleOfPassthrough(t *testing.T) {
	o := plain(t, "rosa", versions[0], false)
	gates := func(group string) string {
		return env(t, daemonSet(t, o, "driver-nvidia-"+group).Spec.Template.Spec.Containers[0])["FEATURE_GATES"]
	}
	require.Equal(t, "DeviceMetadata=true,PassthroughSupport=true", gates("gpu-vm"))
	require.Empty(t, gates("gpu-pods"))
	require.Contains(t, classes(t, o), "vfio.gpu.nvidia.com")
}
