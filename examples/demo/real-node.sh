#!/usr/bin/env bash
# The demo on a real node: kubelet, containerd and runc run the chart's pods, and a pod with the exporter as a sidecar is scraped
# until its engine has drained. `make demo REAL_NODE=1` builds what it needs and calls it. What stands in for something says so:
# the example driver and a stand-in of dcgm-exporter for the hardware, `observe` for Prometheus. The rest are answers of the API
# server and the kubelet.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
for name in CLUSTER CHART CONTROLLER OBSERVE; do
  : "${!name:?run it with make demo REAL_NODE=1}"
done

files=$(mktemp -d)
running=() # what is started in the background, each by the program itself: a function's PID would be a shell's
finish() {
  for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$files"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }
on() { "$CLUSTER" "$@" --name demo; }
# folded FILE: its lines, and those over 100 columns with a blank after each comma to break them at.
folded() { sed "/.\{101\}/s/,/, /g" "$1" | fold -s -w 100; }
# within SECONDS COMMAND...: until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >"$files/within" 2>&1; do
    if ((SECONDS >= end)); then
      echo "demo: not in time: $*; the last try said:" >&2
      cat "$files/within" >&2
      return 1
    fi
    sleep 0.3
  done
}

say "A real control plane and a node with a real kubelet (the first time all is built from source)"
on down 2>/dev/null # what an earlier demo left
on up --real-nodes 1 --components etcd,kube-apiserver,kube-controller-manager,kube-scheduler
KUBECONFIG=$(on kubeconfig)
kubectl=$("$CLUSTER" bin kubectl)
helm=$("$CLUSTER" bin helm)
export KUBECONFIG
kc() { "$kubectl" "$@"; }

say "Images, packed from static programs: the node has no way to a registry"
version=$(sed -n 's/^version: //p' "$root/Chart.yaml")
on image load "ghcr.io/gpu-dra/gpu-dra:v$version" --binary "$CONTROLLER" --path /gpu-dra --user 64535:64535
example=dra-example-kubeletplugin
on image load registry.k8s.io/dra-example-driver/dra-example-driver:v0.2.1 \
  --binary "$("$CLUSTER" bin $example)" --path /usr/bin/$example

say "The chart by plain Helm, exporter.mode: Sidecar"
{
  cat "$here/real-node/settings.yaml"
  sed 's/^/  /' "$root/profiles/drivers/example.yaml"
  cat "$here/real-node/exporter.yaml"
} >"$files/settings.yaml"
kc create namespace inference
kc label node real-1 accelerator=example
"$helm" install gpu-dra "$CHART" --namespace gpu-dra --create-namespace --values "$files/settings.yaml" >"$files/notes"
kc wait --for=condition=Available deployment/controller -n gpu-dra --timeout=120s
for object in gpunodegroup/example gpuclaimtemplate/gpu-16gb-min; do within 60 kc get $object; done
kc wait --for=condition=Ready gpunodegroup/example gpuclaimtemplate/gpu-16gb-min --timeout=120s
kc get pods -n gpu-dra

say "A pod with a claim and the label gpu-dra.deckhouse.io/exporter=sidecar"
injected() { kc create --dry-run=server -f "$here/real-node/pod.yaml" -o yaml | grep 'name: gpu-dra-exporter$'; }
within 60 injected
kc create -f "$here/real-node/pod.yaml"
kc wait --for=condition=Ready pod/llm -n inference --timeout=120s
kc get pod llm -n inference -o json >"$files/pod"

say "kubectl get gpunodes,gpunodegroups"
kc get gpunodes
echo
kc get gpunodegroups
say "Its containers: the sidecar is an init container with restartPolicy Always"
kc get pod llm -n inference -o jsonpath='{range .spec.initContainers[*]}{"init container  "}{.name}{"\t"}{.restartPolicy}{"\t"}{.image}{"\n"}{end}{range .spec.containers[*]}{"container       "}{.name}{"\t\t"}{.image}{"\n"}{end}' |
  expand -t 16,42,50
kc get pods,resourceclaims -n inference -o custom-columns='KIND:.kind,NAME:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName,DEVICE:.status.allocation.devices.results[0].device'

say "What the sidecar serves: the exporter in it is a stand-in of dcgm-exporter, and knows no pod"
metrics=/api/v1/namespaces/inference/pods/llm:9400/proxy/metrics
served() { kc get --raw $metrics | grep '^DCGM_FI_DEV_FB_USED{'; }
within 30 served
folded "$files/within"

say "The same as scraped by the stand-in for Prometheus, by the rules of the chart's PodMonitor"
"$helm" template gpu-dra "$CHART" --namespace gpu-dra --kube-version 1.34.4 --values "$files/settings.yaml" \
  --set monitoring.podMonitor=Always --show-only templates/monitoring/podmonitors.yaml >"$files/monitors"
touch "$files/samples"
"$OBSERVE" scrape --monitors "$files/monitors" --pod "$files/pod" --samples "$files/samples" &
running+=($!)
scraped() { "$OBSERVE" labels --samples "$files/samples" --metric DCGM_FI_DEV_FB_USED; }
within 30 scraped
cat "$files/within"

say "The pod is deleted while the engine is at a request; the engine takes 10 s to drain"
"$kubectl" get pod llm -n inference --watch -o json >"$files/watch" &
running+=($!)
for container in engine gpu-dra-exporter; do
  "$kubectl" logs --follow --timestamps -n inference llm -c $container >"$files/$container" &
  running+=($!)
done
kc get --raw '/api/v1/namespaces/inference/pods/llm:8000/proxy/' >/dev/null
"$kubectl" get --raw '/api/v1/namespaces/inference/pods/llm:8000/proxy/?takes=8s' >"$files/answer" &
asked=$!
running+=("$asked")
under_way() { grep 'request 2$' "$files/engine"; }
within 10 under_way
deleted=$(date --utc +%FT%T.%NZ)
kc delete pod llm -n inference --wait=false
kc wait --for=delete pod/llm -n inference --timeout=60s
wait "$asked"
echo "the request that was under way got: $(cat "$files/answer")"
sleep 2 # the watch and the logs come to their ends
say "How it ended: logs, the pod's last status (whole seconds), samples"
"$OBSERVE" timeline --pod "$files/watch" --samples "$files/samples" --engine-log "$files/engine" \
  --sidecar-log "$files/gpu-dra-exporter" --deleted "$deleted"
echo "The last sample was taken after the last request was answered, and after the engine's last line."

say "The other way: exporter.mode: DaemonSet, one exporter on the node; the pod once more"
"$helm" upgrade gpu-dra "$CHART" --namespace gpu-dra --values "$files/settings.yaml" \
  --set exporter.mode=DaemonSet,exporter.interval=1s >"$files/notes"
exporter="-n gpu-dra -l gpu-dra.deckhouse.io/node-group=example,app.kubernetes.io/component=exporter-example"
started() { kc wait --for=condition=Ready pod $exporter --timeout=1s; }
within 60 started
kc create -f "$here/real-node/pod.yaml"
kc wait --for=condition=Ready pod/llm -n inference --timeout=60s
kc get pods -n gpu-dra
kc get pods,resourceclaims -n inference
say "What that exporter, the same stand-in, serves: it asks the real kubelet who uses what"
metrics=/api/v1/namespaces/gpu-dra/pods/$(kc get pod $exporter -o jsonpath='{.items[0].metadata.name}'):9400/proxy/metrics
within 30 served
folded "$files/within"

cat <<END

Try next:
  export KUBECONFIG=$KUBECONFIG
  alias kubectl=$kubectl
  kubectl logs -n inference llm                                   # the device that it got, by CDI
  kubectl get pods -n gpu-dra                                     # what the chart runs on the node
  kubectl logs -n gpu-dra -l gpu-dra.deckhouse.io/driver=example  # driver and exporter
Stop:
  make demo-down
END
