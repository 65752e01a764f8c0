package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// accountDir is where a container finds the token of its ServiceAccount.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// cluster is the API server as a container of a Pod reaches it.
type cluster struct{ url, dir string }

func inCluster() cluster {
	return cluster{"https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")), accountDir}
}

// place of a device.
type place struct{ driver, pool, name string }

// uuids asks for the ResourceSlices of a node, since only they say which card a device of a claim is. It is for that that
// dcgm-exporter reads ResourceSlices.
func (c cluster) uuids(ctx context.Context, node string) (map[place]string, error) {
	var list struct {
		Items []struct {
			Spec struct {
				Driver  string
				Pool    struct{ Name string }
				Devices []struct {
					Name       string
					Attributes map[string]struct{ String string }
				}
			}
		}
	}
	if err := c.get(ctx, "/apis/resource.k8s.io/v1/resourceslices?fieldSelector="+url.QueryEscape("spec.nodeName="+node), &list); err != nil {
		return nil, err
	}
	out := map[place]string{}
	for _, slice := range list.Items {
		for _, d := range slice.Spec.Devices {
			if uuid := d.Attributes["uuid"].String; uuid != "" {
				out[place{slice.Spec.Driver, slice.Spec.Pool.Name, d.Name}] = uuid
			}
		}
	}
	return out, nil
}

// get reads the files of the ServiceAccount every time: the kubelet renews the token.
func (c cluster) get(ctx context.Context, path string, into any) error {
	token, err := os.ReadFile(filepath.Join(c.dir, "token"))
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(c.dir, "ca.crt"))
	if err != nil {
		return fmt.Errorf("authority: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return fmt.Errorf("authority: %s holds no certificate", filepath.Join(c.dir, "ca.crt"))
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, answer.Status, body)
	}
	return json.Unmarshal(body, into)
}
