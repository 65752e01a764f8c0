package nodeinit

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
)

// restartDelay is between the end of a service and its next start.
const restartDelay = time.Second

// service is a program that always runs.
type service struct {
	name string
	args []string
	// after is a file that must be there first.
	after string
	pid   int
	// starts is how often it was started.
	starts int
	// due is when it is to be started, while pid is 0.
	due time.Time
}

// Run is the first process. It waits for a byte from ready, which comes when the network is there, and never returns without an
// error. SIGHUP starts the kubelet anew, with its configuration as it is then.
func Run(s *realnode.Spec, ready io.Reader, log io.Writer) error {
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return fmt.Errorf("the node's process on the machine ended: %w", err)
	}
	if err := enter(s); err != nil {
		return err
	}
	path := realnode.ProgramFolder + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if err := os.Setenv("PATH", path); err != nil {
		return err
	}
	kubelet := &service{name: "kubelet", args: s.KubeletArgs(), after: realnode.Socket()}
	services := []*service{{name: "containerd", args: s.ContainerdArgs()}, kubelet}
	children, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	signal.Notify(hangups, syscall.SIGHUP)
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for {
		for _, v := range services {
			if err := v.ensure(log); err != nil {
				return err
			}
		}
		select {
		case <-beat.C:
		case <-children:
			reap(services, log)
		case <-hangups:
			if kubelet.pid != 0 {
				fmt.Fprintln(log, "kubelet is started anew")
				syscall.Kill(kubelet.pid, syscall.SIGTERM)
			}
		}
	}
}

// ensure starts a service that does not run and whose time has come.
func (v *service) ensure(log io.Writer) error {
	if v.pid != 0 || time.Now().Before(v.due) {
		return nil
	}
	if _, err := os.Stat(v.after); v.after != "" && err != nil {
		return nil
	}
	out, err := os.OpenFile(filepath.Join("/var/log/node", v.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("log of %s: %w", v.name, err)
	}
	defer out.Close()
	program := filepath.Join(realnode.ProgramFolder, v.name)
	v.pid, err = syscall.ForkExec(program, v.args, &syscall.ProcAttr{Dir: "/", Env: os.Environ(),
		Files: []uintptr{0, out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", program, err)
	}
	fmt.Fprintf(log, "%s started: %s\n", v.name, strings.Join(v.args, " "))
	v.starts++
	if v.name == "kubelet" {
		return os.WriteFile(realnode.KubeletStarts, []byte(strconv.Itoa(v.starts)), 0o644)
	}
	return nil
}

// reap takes leave of every process that ended: those of containers whose parent is gone come to the first process.
func reap(services []*service, log io.Writer) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		for _, v := range services {
			if v.pid == pid {
				fmt.Fprintf(log, "%s ended (exit code %d, signal %v), it starts again in %v\n", v.name, status.ExitStatus(), status.Signal(), restartDelay)
				v.pid, v.due = 0, time.Now().Add(restartDelay)
			}
		}
	}
}
