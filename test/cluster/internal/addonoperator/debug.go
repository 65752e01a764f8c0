package addonoperator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const debugTimeout = 10 * time.Second

// Values returns the module's values as JSON with sorted keys, as `addon-operator module
// values` shows them.
func (o *Operator) Values(ctx context.Context) ([]byte, error) {
	raw, err := o.debug(ctx, "/module/"+Module+"/values.json?global=false")
	if err != nil {
		return nil, err
	}
	var values any
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("values of module %s: found %q, expected JSON", Module, raw)
	}
	return json.Marshal(values)
}

// Queue returns addon-operator's main queue as text: what it works on and what fails.
func (o *Operator) Queue(ctx context.Context) ([]byte, error) {
	return o.debug(ctx, "/queue/main.text")
}

// debug asks the debug socket.
func (o *Operator) debug(ctx context.Context, path string) ([]byte, error) {
	folder, err := os.Open(foldersOf(o.Cluster.Dir).root)
	if err != nil {
		return nil, fmt.Errorf("addon-operator has not been started in this cluster: %w", err)
	}
	defer folder.Close()
	client := http.Client{Timeout: debugTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			// By way of the open folder, since the socket's own path may be too long.
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), socket))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://unix"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("addon-operator's debug socket does not answer, `cluster status` tells whether it runs: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("addon-operator's debug socket: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("addon-operator's debug socket: %s answers %d: %s", path, answer.StatusCode, strings.TrimSpace(string(body)))
	}
	return body, nil
}
