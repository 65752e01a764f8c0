package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// injected are the devices that a CDI specification of the example driver names in the environment of this container:
// GPU_DEVICE_0=gpu-5 and the like.
func injected(context.Context) ([]device, error) {
	var out []device
	for _, variable := range slices.Sorted(slices.Values(os.Environ())) {
		name, value, _ := strings.Cut(variable, "=")
		rest, ok := strings.CutPrefix(name, "GPU_DEVICE_")
		if !ok || strings.Trim(rest, "0123456789") != "" {
			continue
		}
		out = append(out, device{index: len(out), uuid: value})
	}
	return out, nil
}

// named asks the kubelet which Pods use which devices of claims, and the API server which cards these are.
func named(ctx context.Context, socket string, c cluster, node string) ([]device, error) {
	devices, err := inUse(ctx, socket, true)
	if err != nil {
		return nil, err
	}
	uuids, err := c.uuids(ctx, node)
	if err != nil {
		return nil, err
	}
	for i, d := range devices {
		if uuid, ok := uuids[d.at]; ok {
			devices[i].uuid = uuid
		}
	}
	return devices, nil
}

// inUse asks the kubelet which Pods use which devices of claims.
func inUse(ctx context.Context, socket string, claims bool) ([]device, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("pod resources at %s: %w", socket, err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("pod resources at %s: %w", socket, err)
	}
	var out []device
	for _, pod := range answer.GetPodResources() {
		for _, container := range pod.GetContainers() {
			for _, claim := range container.GetDynamicResources() {
				for _, resource := range claim.GetClaimResources() {
					d := device{uuid: resource.GetDeviceName(), at: place{resource.GetDriverName(), resource.GetPoolName(), resource.GetDeviceName()}, labels: []label{
						{"container", container.GetName()}, {"namespace", pod.GetNamespace()}, {"pod", pod.GetName()}}}
					if claims {
						d.labels = append(d.labels, label{"dra_claim_name", claim.GetClaimName()}, label{"dra_claim_namespace", claim.GetClaimNamespace()},
							label{"dra_driver_name", resource.GetDriverName()}, label{"dra_pool_name", resource.GetPoolName()},
							label{"dra_device_name", resource.GetDeviceName()})
					}
					out = append(out, d)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b device) int { return cmp.Compare(a.uuid, b.uuid) })
	for i := range out {
		out[i].index = i
	}
	return out, nil
}
