package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// valid returns a profile that uses every part of the shape.
func valid() *Driver {
	return &Driver{
		Name: "acme", DriverName: "npu.acme.example", OtherDrivers: []string{"link.acme.example"},
		TypeAttribute: "type", Types: map[string]v1alpha1.DeviceKind{"card": v1alpha1.DeviceWhole, "part": v1alpha1.DevicePartition},
		ParentAttribute: "parent", IdentityAttribute: "serial", AddressAttribute: "resource.kubernetes.io/pciBusID",
		ProductAttribute: "npu.acme.example/model", PartitionAttribute: "profile",
		Memory: Memory{
			Attribute: "memoryMiB", Unit: "Mi", MissingOn: []v1alpha1.DeviceKind{v1alpha1.DevicePassthrough},
			ZeroMeansUnknown: true, NominalBelow: 0.9,
		},
		Topology: map[v1alpha1.SameAttribute]string{v1alpha1.SamePCIeRoot: "resource.kubernetes.io/pcieRoot"},
		Classes: []Class{
			{Name: "npu.acme.example", Choice: v1alpha1.ChoiceWhole, Expression: "true", ExtendedResourceName: "acme.example/npu"},
			{Name: "part.acme.example", Choice: v1alpha1.ChoicePartition, Expression: "true"},
			{Name: "extra.acme.example", Expression: "true"},
			{Name: "extra2.acme.example", Expression: "true"},
		},
		Sharing: &Sharing{
			APIVersion: "npu.acme.example/v1", Kinds: map[v1alpha1.DeviceKind]string{v1alpha1.DeviceWhole: "NpuConfig"},
			Strategies: map[string]SharingStrategy{"MPS": {
				Kinds:  []v1alpha1.DeviceKind{v1alpha1.DeviceWhole},
				Gates:  []string{"Slices"},
				Params: map[string]string{"pinnedMemoryLimit": "/mps/limit"},
			}},
		},
		PluginResources: []string{"acme.example/npu", "acme.example/part-*"},
		Managers: []ManagerTrace{
			{Name: "a", NodeLabel: "acme.example/managed", NodeLabelValues: []string{"true"}},
			{Name: "b", API: "acme.example/v1/Policy"},
		},
		KubernetesGates: []GateNeed{{Gate: "DRAPartitionableDevices", Partitioning: "Dynamic", DriverGate: "Slices"}},
		Gates:           validGates(),
		Plugin:          validPlugin(),
		Exporter:        validExporter(),
	}
}

func TestValidateAcceptsEveryPart(t *testing.T) {
	require.NoError(t, valid().Validate())
	require.NoError(t, (&Driver{Name: "small", DriverName: "gpu.small.example"}).Validate())
}

// Each case breaks one field; the error names the field, what was found and what is expected, in one line.
func TestValidateNamesTheField(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		breakIt func(d *Driver)
		want    string
	}{
		"name":              {func(d *Driver) { d.Name = "Acme!" }, `name: found "Acme!", expected a lower case name`},
		"driver name":       {func(d *Driver) { d.DriverName = "npu_acme" }, `driverName: found "npu_acme", expected a DNS subdomain`},
		"long driver":       {func(d *Driver) { d.DriverName = long }, `driverName: found "` + long + `", expected a DNS subdomain`},
		"no driver":         {func(d *Driver) { d.DriverName = "" }, `driverName: found "", expected a DNS subdomain`},
		"other driver":      {func(d *Driver) { d.OtherDrivers[0] = "-" }, `otherDrivers[0]: found "-"`},
		"same driver":       {func(d *Driver) { d.OtherDrivers[0] = d.DriverName }, `otherDrivers[0]: found "npu.acme.example", expected a driver name that the profile does not already have`},
		"types alone":       {func(d *Driver) { d.TypeAttribute = "" }, `typeAttribute: found "", expected the attribute whose values`},
		"no types":          {func(d *Driver) { d.Types = nil }, `types: found none, expected at least one value of the attribute type`},
		"kind":              {func(d *Driver) { d.Types["part"] = "Slice" }, `types[part]: found "Slice", expected one of "Whole", "Partition", "Passthrough", "Other"`},
		"attribute":         {func(d *Driver) { d.ParentAttribute = "parent-uuid" }, `parentAttribute: found "parent-uuid", expected an identifier`},
		"attribute long":    {func(d *Driver) { d.IdentityAttribute = long }, `identityAttribute: found "` + long + `", expected an identifier of at most 32`},
		"domain":            {func(d *Driver) { d.AddressAttribute = "A_b/pci" }, `addressAttribute: found "A_b/pci", expected a DNS subdomain`},
		"two memories":      {func(d *Driver) { d.Memory.Capacity = "memory" }, `memory: found capacity "memory" and attribute "memoryMiB", expected at most one of the two`},
		"unit":              {func(d *Driver) { d.Memory.Unit = "MiB" }, `memory.unit: found "MiB", expected one of "", "G", "Gi"`},
		"unit alone":        {func(d *Driver) { d.Memory.Attribute = "" }, `memory.unit: found "Mi", expected none without memory.attribute`},
		"missing on":        {func(d *Driver) { d.Memory.MissingOn[0] = "Vfio" }, `memory.missingOn[0]: found "Vfio"`},
		"nominal":           {func(d *Driver) { d.Memory.NominalBelow = 93 }, `memory.nominalBelow: found 93, expected a fraction`},
		"topology key":      {func(d *Driver) { d.Topology["Rack"] = "a.b/c" }, `topology[Rack]: found "Rack", expected one of "PCIeRoot", "NUMANode"`},
		"topology domain":   {func(d *Driver) { d.Topology[v1alpha1.SameNUMANode] = "numa" }, `topology[NUMANode]: found "numa", expected an attribute name with its domain`},
		"class name":        {func(d *Driver) { d.Classes[1].Name = "Part" }, `classes[1].name: found "Part", expected a DNS subdomain`},
		"class twice":       {func(d *Driver) { d.Classes[1].Name = d.Classes[0].Name }, `classes[1].name: found "npu.acme.example", expected a name that no other class`},
		"choice":            {func(d *Driver) { d.Classes[0].Choice = "All" }, `classes[0].choice: found "All", expected one of "Any"`},
		"choice twice":      {func(d *Driver) { d.Classes[1].Choice = v1alpha1.ChoiceWhole }, `classes[1].choice: found "Whole", expected one class for each choice`},
		"expression":        {func(d *Driver) { d.Classes[0].Expression = "" }, `classes[0].expression: found 0 characters, expected a CEL expression`},
		"broken expression": {func(d *Driver) { d.Classes[1].Expression = `device.driver = "x"` }, `classes[1].expression: line 1, column 15: Syntax error`},
		"extended":          {func(d *Driver) { d.Classes[0].ExtendedResourceName = "npu" }, `classes[0].extendedResourceName: found "npu", expected a domain`},
		"Kubernetes' own":   {func(d *Driver) { d.Classes[0].ExtendedResourceName = "kubernetes.io/npu" }, `classes[0].extendedResourceName: found "kubernetes.io/npu", expected a domain`},
		"extended, a quota": {func(d *Driver) { d.Classes[0].ExtendedResourceName = "requests.a/npu" }, `classes[0].extendedResourceName: found "requests.a/npu", expected a domain`},
		"api version":       {func(d *Driver) { d.Sharing.APIVersion = "v1" }, `sharing.apiVersion: found "v1", expected group/version`},
		"sharing kind":      {func(d *Driver) { d.Sharing.Kinds["Half"] = "" }, `sharing.kinds[Half]: found "Half", expected one of`},
		"config kind":       {func(d *Driver) { d.Sharing.Kinds[v1alpha1.DevicePartition] = "" }, `sharing.kinds[Partition]: found "", expected the kind`},
		"strategy":          {func(d *Driver) { d.Sharing.Strategies["Fast"] = d.Sharing.Strategies["MPS"] }, `sharing.strategies[Fast]: found "Fast", expected one of "TimeSlicing", "MPS"`},
		"no kinds":          {func(d *Driver) { d.Sharing.Strategies["TimeSlicing"] = SharingStrategy{} }, `sharing.strategies[TimeSlicing].kinds: found none`},
		"strategy kind": {func(d *Driver) { d.Sharing.Strategies["MPS"].Kinds[0] = v1alpha1.DeviceOther },
			`sharing.strategies[MPS].kinds[0]: found "Other", expected a kind that sharing.kinds has`},
		"parameter":       {func(d *Driver) { d.Sharing.Strategies["MPS"].Params["speed"] = "/x" }, `sharing.strategies[MPS].params[speed]: found "speed"`},
		"pointer":         {func(d *Driver) { d.Sharing.Strategies["MPS"].Params["interval"] = "x" }, `sharing.strategies[MPS].params[interval]: found "x", expected a JSON pointer`},
		"plugin resource": {func(d *Driver) { d.PluginResources[0] = "acme.example/*-x" }, `pluginResources[0]: found "acme.example/*-x", expected domain/name`},
		"manager name":    {func(d *Driver) { d.Managers[0].Name = "" }, `managers[0].name: found ""`},
		"two traces":      {func(d *Driver) { d.Managers[1].Namespace = "x" }, `managers[1]: found 2 traces, expected exactly one of`},
		"label values":    {func(d *Driver) { d.Managers[1].NodeLabelValues = []string{"a"} }, `managers[1].nodeLabelValues: found [a], expected none without nodeLabel`},
		"api":             {func(d *Driver) { d.Managers[1].API = "Policy" }, `managers[1].api: found "Policy", expected group/version/Kind`},
		"gate":            {func(d *Driver) { d.KubernetesGates[0].Gate = "" }, `kubernetesGates[0].gate: found ""`},
		"partitioning":    {func(d *Driver) { d.KubernetesGates[0].Partitioning = "Live" }, `kubernetesGates[0].partitioning: found "Live", expected one of "", "None", "Static", "Dynamic"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			c.breakIt(d)
			err := d.Validate()
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "driver profile \""+d.Name+"\": ")
		})
	}
}

// All that is wrong comes at once.
func TestValidateReportsEverything(t *testing.T) {
	d := valid()
	d.Name, d.Memory.Unit, d.Classes[2].Expression = "", "X", ""
	err := d.Validate()
	for _, field := range []string{"name: ", "memory.unit: ", "classes[2].expression: "} {
		require.ErrorContains(t, err, field)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 3)
}
