// Package sidecar is the command `gpu-dra sidecar`: what runs in pods that carry the exporter as a native sidecar.
package sidecar

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/lastsample"
	"github.com/gpu-dra/gpu-dra/internal/reaper"
)

// New returns the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "sidecar",
		Short: "Run an exporter beside an engine until its last sample was taken (in pods with the exporter sidecar)",
		// Help with the exit code 0 would hide a misspelt command in a pod's spec.
		RunE: func(c *cobra.Command, args []string) error {
			return fmt.Errorf("gpu-dra sidecar: found the command %q, expected one of: ending, install, run", strings.Join(args, " "))
		},
		Args: cobra.ArbitraryArgs,
	}
	c.AddCommand(newRun(), newInstall(), newEnding())
	return c
}

func newRun() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "run --listen ADDRESS [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run an exporter, answer for it, and end after the last sample",
		Long: `Run an exporter behind a port of its own and pass requests for its metrics on to it.

After SIGTERM, which the kubelet sends when the pod's main containers have ended, it answers until everyone who scrapes has had
one more sample of what was collected since, but no longer than two intervals beyond --collect nor than the grace period lasts; then the exporter is
ended. A second SIGTERM ends both at once. An exporter that ends by itself, or takes more than --memory, is started again, after ever longer pauses; this
process stays, because a sidecar that ends keeps the engine from starting.

In arguments, environment and files of the exporter {listen} becomes the address and port that it has to listen on, {port} the
port, and {config} the folder that holds the files.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
			defer signal.Stop(signals)
			// Next to the engine every megabyte counts, and there is little to do.
			debug.SetGCPercent(50)
			debug.SetMemoryLimit(24 << 20)
			children, err := reaper.New()
			if err != nil {
				return &cli.Failure{Err: err}
			}
			r := runner{options: o, command: args, start: children.Start, signals: signals, log: c.ErrOrStderr()}
			r.run()
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "", "address of the metrics as the scraper sees it, as :9400")
	f.StringVar(&o.path, "path", "/metrics", "path of the metrics")
	f.DurationVar(&o.Interval, "interval", 5*time.Second, "interval of scraping")
	f.StringArrayVar(&o.files, "file", nil, "NAME=TEXT of a file that the exporter finds in {config}; may be given several times")
	f.DurationVar(&o.Grace, "grace", 30*time.Second, "terminationGracePeriodSeconds of the pod")
	f.DurationVar(&o.Collect, "collect", 0, "interval in which the exporter collects: a sample may be that old")
	f.Int64Var(&o.memory, "memory", 0, "bytes that the exporter may take before it is started again (default any)")
	return c
}

func newInstall() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "install --to PATH",
		Short: "Copy this program into a folder that another container mounts",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !filepath.IsAbs(to) {
				return fmt.Errorf("--to: found %q, expected an absolute path", to)
			}
			if err := install(to); err != nil {
				return &cli.Failure{Err: fmt.Errorf("install to %s: %w", to, err)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "path of the copy")
	return c
}

// install copies the running program. It may run twice: a pod's init containers do after its node restarted.
func install(to string) (err error) {
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return fmt.Errorf("found a folder, expected the path of the copy, as %s", filepath.Join(to, "gpu-dra"))
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	half := to + ".part"
	into, err := os.OpenFile(half, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(half)
		}
	}()
	if _, err := io.Copy(into, from); err != nil {
		into.Close()
		return err
	}
	if err := into.Close(); err != nil {
		return err
	}
	return os.Rename(half, to)
}

func newEnding() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "ending --port PORT",
		Short: "Tell the sidecar that its pod has begun to end (its preStop hook)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if port < 1 || port > 65535 {
				return fmt.Errorf("--port: found %d, expected the port that the sidecar listens on", port)
			}
			ctx, stop := context.WithTimeout(c.Context(), 2*time.Second)
			defer stop()
			if err := sayEnding(ctx, port); err != nil {
				return &cli.Failure{Err: err}
			}
			return nil
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port that the sidecar listens on")
	return c
}

func sayEnding(ctx context.Context, port int) error {
	url := fmt.Sprintf("http://127.0.0.1:%d%s", port, lastsample.EndingPath)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &bytes.Buffer{})
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the sidecar does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s, expected 200", url, response.Status)
	}
	return nil
}
