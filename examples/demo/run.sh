#!/usr/bin/env bash
# The demo: a real Kubernetes control plane, the module under the real addon-operator, and a pod that gets the smallest GPU
# partition that fits. `make demo` builds what it needs and calls it. Only nodes and their slices are made up: the files
# beside this script. What it prints are answers of the API server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${CLUSTER:?run it with make demo}" "${MODULE:?run it with make demo}" "${CONTROLLER:?run it with make demo}"

say() { printf '\n== %s\n' "$*"; }
on() { "$CLUSTER" "$@" --name demo; }

say "A real control plane (the first time it is built from source: about 25 minutes on 2 cores)"
on down 2>/dev/null # what an earlier demo left
on up
KUBECONFIG=$(on kubeconfig)
kubectl=$("$CLUSTER" bin kubectl)
export KUBECONFIG
kc() { "$kubectl" "$@"; }

say "Two NodeGroups, three fake nodes, and the slices a driver would publish for them"
kc apply --server-side -f "$here/nodegroup-crd.yaml"
kc wait --for=condition=Established crd/nodegroups.deckhouse.io --timeout=30s
kc apply --server-side -f "$here/nodegroups.yaml" -f "$here/nodes.yaml" -f "$here/slices.yaml"

say "The module under addon-operator, and the controller with the rights the chart gives it"
on operator start --module "$MODULE" --settings "$here/settings.yaml"
on controller start --binary "$CONTROLLER"
for crd in gpunodegroups gpunodes gpustacks gpuclaimtemplates; do
  until kc get "crd/$crd.gpu-dra.deckhouse.io" >/dev/null 2>&1; do sleep 0.2; done
done
for group in gpu-h100 gpu-a100-mig; do
  until kc get "gpunodegroup/$group" >/dev/null 2>&1; do sleep 0.2; done
  kc wait --for=condition=Ready "gpunodegroup/$group" --timeout=180s
done

say "A pod that asks for a GPU of at least 16Gi"
kc apply --server-side -f "$here/workload.yaml"
kc wait --for=condition=Ready gpuclaimtemplate/gpu-16gb-min --timeout=60s
kc wait --for=jsonpath='{.status.phase}'=Running pod/llm -n inference --timeout=120s

say "The driver, a DaemonSet for each group (fake nodes run no container: the slices are made up)"
kc get daemonsets -n d8-gpu-dra -o custom-columns='NAME:.metadata.name,NODES:.status.desiredNumberScheduled,READY:.status.numberReady'
say "kubectl get gpustack"
kc get gpustack
say "kubectl get gpunodegroups"
kc get gpunodegroups
say "kubectl get gpunodes"
kc get gpunodes
say "kubectl get gpuclaimtemplates"
kc get gpuclaimtemplates
say "What node mig-1 has to offer: device, memory, MIG profile"
kc get resourceslice 00000-gpu.nvidia.com-mig-1 -o \
  jsonpath='{range .spec.devices[*]}{.name}{"\t"}{.capacity.memory.value}{"\t"}{.attributes.profile.string}{"\n"}{end}'
say "The pod and its claim: the scheduler took the smallest device of at least 16Gi"
kc get pods,resourceclaims -n inference -o custom-columns='KIND:.kind,NAME:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName,DEVICE:.status.allocation.devices.results[0].device'

cat <<END

Try next:
  export KUBECONFIG=$KUBECONFIG
  alias kubectl=$kubectl
  kubectl get resourceclaimtemplate gpu-16gb-min -n inference -o yaml   # what gpu-dra wrote
  kubectl describe gpunodegroup gpu-h100                                # why it is ready
  kubectl delete resourceslice 00000-gpu.nvidia.com-h100-1              # watch: kubectl get gn -w
  kubectl get resourceslices                                            # what drivers published
Stop:
  make demo-down
END
