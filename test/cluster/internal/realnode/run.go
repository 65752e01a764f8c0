package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// apiServerPort is the port of the Service "kubernetes".
const apiServerPort = "443"

// Run is the node's process on the machine: it starts self with inside as arguments as the first process of new namespaces,
// wires it to the machine and waits for its end, which ctx brings about. It takes away what it made.
func Run(ctx context.Context, s *Spec, self string, inside []string, log io.Writer) (err error) {
	// The first process gets SIGKILL when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := Remove(s.Network, s.Cgroup); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Remove(s.Network, s.Cgroup)) }()
	groups, err := machineCgroups()
	if err != nil {
		return err
	}
	if err := groups.create(s.Cgroup); err != nil {
		return err
	}
	ready, release, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("real node: %w", err)
	}
	defer release.Close()
	cmd := &exec.Cmd{
		Path: self, Args: append([]string{"cluster-node"}, inside...), Env: os.Environ(), Dir: "/",
		Stdin: ready, Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC},
	}
	err = cmd.Start()
	ready.Close()
	if err != nil {
		return fmt.Errorf("real node: namespaces cannot be made: %w", err)
	}
	// Killing the first process of a PID namespace ends all others, and Wait returns when they are gone.
	end := func() error { cmd.Process.Kill(); return cmd.Wait() }
	if err := s.Network.wire(cmd.Process.Pid); err != nil {
		end()
		return err
	}
	listener, err := listenInside(cmd.Process.Pid, ServiceIP+":"+apiServerPort)
	if err != nil {
		end()
		return err
	}
	defer listener.Close()
	go forward(listener, s.APIServer, log)
	if err := os.WriteFile(s.pidFile(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		end()
		return fmt.Errorf("real node: %w", err)
	}
	defer os.Remove(s.pidFile())
	if _, err := release.Write([]byte{1}); err != nil {
		return errors.Join(fmt.Errorf("real node: %w", err), end())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ctx.Done():
		cmd.Process.Kill()
		<-ended
		return nil
	case err := <-ended:
		return fmt.Errorf("the real node's first process ended by itself: %v", err)
	}
}

// Remove takes the link and the cgroup of a node away, whose processes have ended. What is not there is no error.
func Remove(network Network, cgroup string) error {
	groups, err := machineCgroups()
	if err != nil {
		return err
	}
	return errors.Join(network.unwire(), groups.remove(cgroup))
}
