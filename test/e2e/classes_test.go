//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/claim/claimtest"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Every DeviceClass of every driver profile, and every claim template that can be asked of it, in one go before the oldest API
// server that gpu-dra works with: it takes them all, and drops nothing of a template.
func TestEveryClassAndTemplateIsTaken(t *testing.T) {
	t.Parallel()
	r := up(t, "--components", "etcd,kube-apiserver")
	require.Contains(t, r.kubectl("version"), "Server Version: v1.34.")
	classes, templates := everything(t)
	t.Logf("%d classes, %d templates", len(classes), len(templates))

	var documents bytes.Buffer
	encoder := json.NewEncoder(&documents)
	for _, c := range classes {
		documents.WriteString("---\n")
		require.NoError(t, encoder.Encode(c))
	}
	for _, o := range templates {
		documents.WriteString("---\n")
		require.NoError(t, encoder.Encode(o))
	}
	out := r.kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-o", "json", "-f", r.file("everything.yaml", documents.String()))

	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &list))
	require.Len(t, list.Items, len(classes)+len(templates))
	for _, item := range list.Items {
		var head metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal(item, &head))
		if head.Kind == "DeviceClass" {
			var got resourcev1.DeviceClass
			require.NoError(t, json.Unmarshal(item, &got))
			require.Equal(t, classes[head.Name].Spec.Selectors, got.Spec.Selectors, head.Name)
			continue
		}
		var got resourcev1.ResourceClaimTemplate
		require.NoError(t, json.Unmarshal(item, &got))
		want := templates[head.Name]
		require.NotNil(t, want, head.Name)
		require.Equal(t, claim.Hash(want.Spec), claim.Hash(got.Spec), "the API server changed template %s:\n%s", head.Name, item)
	}
}

// everything is the classes and templates of all profiles, by name.
func everything(t *testing.T) (map[string]*resourcev1.DeviceClass, map[string]*resourcev1.ResourceClaimTemplate) {
	t.Helper()
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	set, err := profile.NewSet(drivers...)
	require.NoError(t, err)
	classes, templates := map[string]*resourcev1.DeviceClass{}, map[string]*resourcev1.ResourceClaimTemplate{}
	for _, d := range drivers {
		for _, c := range d.Classes {
			class := &resourcev1.DeviceClass{
				TypeMeta:   metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "DeviceClass"},
				ObjectMeta: metaName(c.Name),
				Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: c.Expression}}}},
			}
			if c.ExtendedResourceName != "" {
				class.Spec.ExtendedResourceName = &c.ExtendedResourceName
			}
			classes[c.Name] = class
		}
		for _, template := range claimtest.Templates(&d) {
			if !template.Served {
				continue
			}
			built, err := claim.Build(template.Spec, set, claim.Capabilities{})
			require.NoError(t, err, template.Name)
			templates[template.Name] = claim.Object(&v1alpha1.GPUClaimTemplate{ObjectMeta: metaName(template.Name)}, "default", built)
		}
	}
	return classes, templates
}
