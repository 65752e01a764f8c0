package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Containerd is where images go.
type Containerd struct {
	// Ctr is containerd's own client, Socket its address.
	Ctr, Socket string
	Snapshotter string
}

// Load gives an image to containerd under its name, where Pods find it. An older one of that name is replaced.
func (c Containerd) Load(ctx context.Context, image Image) error {
	from, to := io.Pipe()
	// The namespace is the one of Kubernetes.
	cmd := exec.CommandContext(ctx, c.Ctr, "--address", c.Socket, "--namespace", "k8s.io",
		"images", "import", "--local", "--snapshotter", c.Snapshotter, "-")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = from, &said, &said
	written := make(chan error, 1)
	go func() {
		err := image.Write(to)
		to.CloseWithError(err)
		written <- err
	}()
	err := cmd.Run()
	from.CloseWithError(errors.New("the import has ended"))
	if writeErr := <-written; writeErr != nil && err == nil {
		err = writeErr
	}
	if err != nil {
		return fmt.Errorf("image %s cannot be given to containerd: %w\n%s", image.Name, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}
