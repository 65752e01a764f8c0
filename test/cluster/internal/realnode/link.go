package realnode

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wire joins the machine to the network namespace of a process and gives both ends their addresses. The node gets no default
// route: nothing in it can ask a name server or a registry.
func (n Network) wire(pid int) error {
	node := func(args ...string) []string {
		return append([]string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net", "ip"}, args...)
	}
	for _, command := range [][]string{
		{"ip", "link", "add", n.Link(), "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(pid)},
		{"ip", "address", "add", n.Host() + "/30", "dev", n.Link()},
		{"ip", "link", "set", n.Link(), "up"},
		{"ip", "route", "add", n.Pods(), "via", n.Node()},
		node("link", "set", "lo", "up"),
		node("address", "add", ServiceIP+"/32", "dev", "lo"),
		node("address", "add", n.Node()+"/30", "dev", "eth0"),
		node("link", "set", "eth0", "up"),
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("network of the real node: `%s`: %w: %s", strings.Join(command, " "), err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// unwire takes away the machine's end of the wire, and with it the other end and the route. A wire that is gone is no error.
func (n Network) unwire() error {
	if _, err := net.InterfaceByName(n.Link()); err != nil {
		return nil
	}
	out, err := exec.Command("ip", "link", "delete", n.Link()).CombinedOutput()
	if err != nil {
		// The kernel may have taken it away meanwhile, as it does when the node's namespace ends.
		if _, gone := net.InterfaceByName(n.Link()); gone == nil {
			return fmt.Errorf("link %s of the real node cannot be removed: %w: %s", n.Link(), err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// listenInside opens a listener in the network namespace of a process. It stays there, whoever accepts its connections.
func listenInside(pid int, address string) (net.Listener, error) {
	// A namespace belongs to a thread.
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("network namespace of this process: %w", err)
	}
	defer own.Close()
	theirs, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("network namespace of the real node: %w", err)
	}
	defer theirs.Close()
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("network namespace of the real node: %w", err)
	}
	listener, err := net.Listen("tcp4", address)
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked and ends with its goroutine: nothing else may run in the wrong network.
		return nil, errors.Join(err, fmt.Errorf("back to the machine's network namespace: %w", back))
	}
	runtime.UnlockOSThread()
	if err != nil {
		return nil, fmt.Errorf("way to the API server from the real node: %w", err)
	}
	return listener, nil
}
