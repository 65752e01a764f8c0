package cluster

import (
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

// monitoring says which optional kinds the API server serves. What it does not answer stays as it was known.
func (h hook) monitoring(known values.MonitoringAPIs, logger pkg.Logger) values.MonitoringAPIs {
	client, err := h.discovery()
	if err != nil {
		logger.Warn(fmt.Sprintf("no client for the API server; which monitoring APIs it serves stays as known: %s", err))
		return known
	}
	out := known
	for _, group := range []struct {
		version   string
		resources map[string]*bool
	}{
		{"monitoring.coreos.com/v1", map[string]*bool{"podmonitors": &out.PodMonitor, "prometheusrules": &out.PrometheusRule}},
		{"deckhouse.io/v1", map[string]*bool{"grafanadashboarddefinitions": &out.GrafanaDashboard}},
	} {
		list, err := client.ServerResourcesForGroupVersion(group.version)
		if apierrors.IsNotFound(err) {
			list, err = &metav1.APIResourceList{}, nil
		}
		if err != nil {
			logger.Warn(fmt.Sprintf("what the API server serves of %s stays as known: %s", group.version, err))
			continue
		}
		for _, there := range group.resources {
			*there = false
		}
		for _, r := range list.APIResources {
			if there := group.resources[r.Name]; there != nil {
				*there = true
			}
		}
	}
	return out
}
