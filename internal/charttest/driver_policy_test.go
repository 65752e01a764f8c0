package charttest

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expression is CEL of a policy with the name of its variable, if it is one.
type expression struct {
	name, text string
	result     *cel.Type
}

func (e expression) GetName() string          { return e.name }
func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return []*cel.Type{e.result} }

// policy is a ValidatingAdmissionPolicy, evaluated by the API server's own code.
type policy struct {
	conditions, validations, messages plugincel.ConditionEvaluator
	spec                              admissionregistrationv1.ValidatingAdmissionPolicySpec
}

func compiled(t *testing.T, p *admissionregistrationv1.ValidatingAdmissionPolicy) policy {
	t.Helper()
	// As the oldest API server that the chart supports.
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 34)))
	require.NoError(t, err)
	options := plugincel.OptionalVariableDeclarations{}
	for _, v := range p.Spec.Variables {
		result := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, cel.AnyType}, options, environment.NewExpressions)
		require.Nil(t, result.Error, v.Name)
	}
	compile := func(expressions []plugincel.ExpressionAccessor) plugincel.ConditionEvaluator {
		c := compiler.CompileCondition(expressions, options, environment.NewExpressions)
		require.Empty(t, c.CompilationErrors())
		return c
	}
	var conditions, validations, messages []plugincel.ExpressionAccessor
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, expression{text: c.Expression, result: cel.BoolType})
	}
	for _, v := range p.Spec.Validations {
		require.NotEmpty(t, v.Message)
		validations = append(validations, expression{text: v.Expression, result: cel.BoolType})
		if v.MessageExpression == "" {
			v.MessageExpression = `""`
		}
		messages = append(messages, expression{text: v.MessageExpression, result: cel.StringType})
	}
	return policy{compile(conditions), compile(validations), compile(messages), p.Spec}
}

// says is what the policy has against a request: nil, not its business; empty, nothing.
func (p policy) says(t *testing.T, user authenticationv1.UserInfo, before, after *resourcev1.ResourceSlice) *string {
	t.Helper()
	request := &admissionv1.AdmissionRequest{UserInfo: user, Operation: admissionv1.Update}
	attributes := &admission.VersionedAttributes{}
	switch {
	case before == nil:
		request.Operation = admissionv1.Create
	case after == nil:
		request.Operation = admissionv1.Delete
	}
	if before != nil {
		attributes.VersionedOldObject = admission.NewLazyObject(before)
	}
	if after != nil {
		attributes.VersionedObject = admission.NewLazyObject(after)
	}
	attributes.Attributes = admission.NewAttributesRecord(object(after), object(before), resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"), "", "s",
		resourcev1.SchemeGroupVersion.WithResource("resourceslices"), "", admission.Operation(request.Operation), nil, false, nil)
	evaluate := func(c plugincel.ConditionEvaluator) []plugincel.EvaluationResult {
		results, _, err := c.ForInput(context.Background(), attributes, request, plugincel.OptionalVariableBindings{}, nil, apiservercel.RuntimeCELCostBudget)
		require.NoError(t, err)
		for _, r := range results {
			require.NoError(t, r.Error, r.ExpressionAccessor.GetExpression())
		}
		return results
	}
	for _, r := range evaluate(p.conditions) {
		if r.EvalResult.Value() != true {
			return nil
		}
	}
	messages := evaluate(p.messages)
	for i, r := range evaluate(p.validations) {
		if r.EvalResult.Value() != true {
			if m := messages[i].EvalResult.Value().(string); m != "" {
				return &m
			}
			return &p.spec.Validations[i].Message
		}
	}
	return ptr("")
}

func object(s *resourcev1.ResourceSlice) runtime.Object {
	if s == nil {
		return nil
	}
	return s
}

func slice(driver, node string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver}}
	if node != "" {
		s.Spec.NodeName = &node
	} else {
		s.Spec.AllNodes = ptr(true)
	}
	return s
}

func TestAPluginWritesSlicesOfItsOwnNodeOnly(t *testing.T) {
	all := objects(t, Options{Values: parse(t, npuGroup)})
	p := compiled(t, Find[*admissionregistrationv1.ValidatingAdmissionPolicy](all, "gpu-dra-driver-npu"))
	require.Equal(t, admissionregistrationv1.Fail, *p.spec.FailurePolicy)
	require.Equal(t, []string{"v1", "v1beta1", "v1beta2"}, p.spec.MatchConstraints.ResourceRules[0].APIVersions)
	binding := Find[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](all, "gpu-dra-driver-npu")
	require.Equal(t, "gpu-dra-driver-npu", binding.Spec.PolicyName)
	require.Equal(t, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, binding.Spec.ValidationActions)

	ds := Find[*appsv1.DaemonSet](all, "driver-npu-a")
	account := authenticationv1.UserInfo{Username: "system:serviceaccount:" + ds.Namespace + ":" + ds.Spec.Template.Spec.ServiceAccountName}
	on := func(node string) authenticationv1.UserInfo {
		u := account
		u.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {node}}
		return u
	}
	own, other, all1 := slice("npu.acme.example", "n1"), slice("npu.acme.example", "n2"), slice("npu.acme.example", "")
	const another = `found spec.nodeName "n2", expected "n1"`
	for name, c := range map[string]struct {
		user          authenticationv1.UserInfo
		before, after *resourcev1.ResourceSlice
		says          string
	}{
		"create":                      {on("n1"), nil, own, ""},
		"update":                      {on("n1"), own, own, ""},
		"delete":                      {on("n1"), own, nil, ""},
		"the other driver":            {on("n1"), nil, slice("link.acme.example", "n1"), ""},
		"create elsewhere":            {on("n1"), nil, other, another},
		"update elsewhere":            {on("n1"), other, other, another},
		"delete elsewhere":            {on("n1"), other, nil, another},
		"taken from another":          {on("n1"), other, own, "belonged to another node"},
		"of every node":               {on("n1"), nil, all1, `found spec.nodeName ""`},
		"made one of every node":      {on("n1"), own, all1, `found spec.nodeName ""`},
		"driver of another":           {on("n1"), nil, slice("gpu.nvidia.com", "n1"), "expected spec.driver npu.acme.example or link.acme.example"},
		"token of no pod":             {account, nil, own, "the token names no node"},
		"token of no pod, of no node": {account, nil, all1, "the token names no node"},
		"empty claim":                 {on(""), nil, all1, "the token names no node"},
	} {
		says := p.says(t, c.user, c.before, c.after)
		require.NotNil(t, says, name)
		if c.says == "" {
			require.Empty(t, *says, name)
		} else {
			require.Contains(t, *says, c.says, name)
		}
	}
	// Whoever else writes slices is none of its business.
	for _, user := range []string{"system:serviceaccount:gpu-dra-system:driver-npu2", "system:serviceaccount:gpu-dra-system:driver-npu", "system:serviceaccount:gpu-dra-system:driver-npu-b",
		"system:serviceaccount:gpu-dra-system:driver-npu-a2", "system:serviceaccount:gpu-dra-system:driver-npu-", "system:serviceaccount:kube-system:driver-npu-a", "system:node:n1", ""} {
		require.Nil(t, p.says(t, authenticationv1.UserInfo{Username: user}, nil, other), user)
	}
}

// One policy a driver, for the accounts of all its groups; the name of one may begin as those of another driver do.
func TestPoliciesOfSeveralGroupsAndDrivers(t *testing.T) {
	all := objects(t, Options{Values: parse(t, `
customDrivers:
- {name: gpu, driverName: gpu.example, plugin: {image: {repository: r.example/a, tag: v1}, containers: [{name: a}]}}
- {name: gpu-x, driverName: gpu-x.example, plugin: {image: {repository: r.example/a, tag: v1}, containers: [{name: a}]}}
nodeGroups:
- {name: a, drivers: [gpu, gpu-x], nodeSelector: {a: b}}
- {name: b, drivers: [gpu], nodeSelector: {a: c}}
`)})
	accounts := map[string]string{"driver-gpu-a": "gpu", "driver-gpu-b": "gpu", "driver-gpu-x-a": "gpu-x"}
	for _, driver := range []string{"gpu", "gpu-x"} {
		p := compiled(t, Find[*admissionregistrationv1.ValidatingAdmissionPolicy](all, "gpu-dra-driver-"+driver))
		for account, of := range accounts {
			require.NotNil(t, Find[*corev1.ServiceAccount](all, account))
			says := p.says(t, authenticationv1.UserInfo{Username: "system:serviceaccount:gpu-dra-system:" + account}, nil, slice(of+".example", "n1"))
			require.Equal(t, driver == of, says != nil, "%s by the policy of %s", account, driver)
		}
	}
}
