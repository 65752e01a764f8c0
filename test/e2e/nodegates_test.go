//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// planReadsGates asks the kubelet for its feature gates with the user's rights, and sees what is said to one who has not the right.
func (n *realNode) planReadsGates(t *testing.T) {
	t.Helper()
	r := n.r
	out, err := exec.Command(controllerPath, "plan", "--kubelets", "--kubeconfig", r.kubeconfig()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "kubelet v1.34.4 on 1 node(s) ("+n.Name+"): DRAExtendedResource=true\n")

	r.kubectl("create", "clusterrole", "reads-plans", "--verb=get,list", "--resource=gpustacks,gpunodes")
	r.kubectl("create", "clusterrolebinding", "reads-plans", "--clusterrole=reads-plans", "--serviceaccount=inference:default")
	out, err = exec.Command(controllerPath, "plan", "--kubelets", "--kubeconfig", r.kubeconfigOf("inference", "default")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "1 of 1 kubelets could not be read: ")
	require.Contains(t, string(out), "it takes the right to get nodes/proxy")
	require.NotContains(t, string(out), "DRAExtendedResource=true")
}

// kubeconfigOf is that of a ServiceAccount.
func (r *rig) kubeconfigOf(namespace, account string) string {
	r.t.Helper()
	const name = "account"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: r.config.Host, CertificateAuthority: r.config.CAFile, CertificateAuthorityData: r.config.CAData}
	config.AuthInfos[name] = &api.AuthInfo{Token: strings.TrimSpace(r.kubectl("create", "token", account, "--namespace", namespace))}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	path := r.file("kubeconfig", "")
	require.NoError(r.t, clientcmd.WriteToFile(*config, path))
	return path
}
