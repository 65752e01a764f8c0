//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// operatorDebug is addon-operator's debug socket, kept open: it is asked every few milliseconds.
type operatorDebug struct {
	rig    *rig
	client http.Client
}

func (r *rig) debug() *operatorDebug {
	r.t.Helper()
	folder, err := os.Open(filepath.Join(r.dir, "addon-operator"))
	require.NoError(r.t, err)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		// By way of the open folder, since a socket's path may have no more than 107 bytes.
		return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/debug.sock", folder.Fd()))
	}}
	r.t.Cleanup(func() {
		transport.CloseIdleConnections()
		folder.Close()
	})
	return &operatorDebug{r, http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

func (d *operatorDebug) get(path string, into any) error {
	answer, err := d.client.Get("http://operator" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", path, answer.StatusCode, body)
	}
	return json.Unmarshal(body, into)
}

// devicesPerNode of a group in the module's values.
func (d *operatorDebug) devicesPerNode(group string) (int, error) {
	var values struct {
		Internal struct {
			NodeGroups []struct {
				Name           string
				DevicesPerNode int
			}
		}
	}
	if err := d.get("/module/gpu-dra/values.json?global=false", &values); err != nil {
		return 0, err
	}
	for _, g := range values.Internal.NodeGroups {
		if g.Name == group {
			return g.DevicesPerNode, nil
		}
	}
	return 0, fmt.Errorf("the values have no group %s", group)
}

// idle is nil when no task waits or runs in any queue.
func (d *operatorDebug) idle(context.Context) error {
	var queues struct{ Summary struct{ TotalTasks int } }
	if err := d.get("/queue/list.json", &queues); err != nil {
		return err
	}
	if n := queues.Summary.TotalTasks; n > 0 {
		return fmt.Errorf("addon-operator has %d tasks", n)
	}
	return nil
}
