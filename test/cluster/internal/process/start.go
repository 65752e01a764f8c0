package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// markVariable is put into the environment of everything that is started, and so into
// that of its children: what was started but never recorded, because the command died in
// between, and the children of a killed process are found again by it.
const markVariable = "GPU_DRA_CLUSTER_PROCESS"

// Spec is one process to start.
type Spec struct {
	// Path is the executable; Args[0] is what the process calls itself.
	Path string
	Args []string
	// Env is added to a small environment: the caller's own must not change a test cluster.
	Env []string
	Dir string
	// Log receives both outputs, appended.
	Log string
	// Mark is "<cluster token>/<component>".
	Mark string
}

// Start runs a process in a session of its own, so that it outlives the caller and its
// terminal. The returned handle is the caller's child: reap it with Wait or leave it.
func Start(spec Spec) (Identity, *exec.Cmd, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return Identity{}, nil, fmt.Errorf("%s: the log's folder cannot be made: %w", spec.Args[0], err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Identity{}, nil, fmt.Errorf("%s: the log cannot be opened: %w", spec.Args[0], err)
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path:        spec.Path,
		Args:        spec.Args,
		Env:         environment(spec),
		Dir:         spec.Dir,
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return Identity{}, nil, fmt.Errorf("%s: %s cannot be started: %w", spec.Args[0], spec.Path, err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		cmd.Process.Kill()
		return Identity{}, nil, fmt.Errorf("%s ended at once: see %s", spec.Args[0], spec.Log)
	}
	return id, cmd, nil
}

func environment(spec Spec) []string {
	env := []string{markVariable + "=" + spec.Mark}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, spec.Env...)
}

// Marked finds the running processes that carry a mark: those of one component
// ("<token>/<component>") or of a whole cluster ("<token>/"). The caller itself is left out.
func Marked(mark string) ([]Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("the list of processes cannot be read: %w", err)
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Unreadable means gone, or another user's: neither was started by us.
		env, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !carries(env, mark) {
			continue
		}
		if id, err := Of(pid); err == nil && id.Alive() {
			found = append(found, id)
		}
	}
	return found, nil
}

func carries(environ []byte, mark string) bool {
	for _, variable := range bytes.Split(environ, []byte{0}) {
		value, ok := strings.CutPrefix(string(variable), markVariable+"=")
		if !ok {
			continue
		}
		if value == mark || strings.HasSuffix(mark, "/") && strings.HasPrefix(value, mark) {
			return true
		}
	}
	return false
}

// KillMarked ends everything that carries the mark and says how many that were.
func KillMarked(mark string) (int, error) {
	total := 0
	// More than once: a process may start a child while its siblings are being killed.
	for range 5 {
		found, err := Marked(mark)
		if err != nil || len(found) == 0 {
			return total, err
		}
		for _, id := range found {
			if err := id.Signal(syscall.SIGKILL, false); err != nil {
				return total, err
			}
		}
		for _, id := range found {
			if id.waitGone(killWait) {
				total++
			}
		}
	}
	left, err := Marked(mark)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d processes marked %s are still there after SIGKILL, the first is %d", len(left), mark, left[0].PID)
	}
	return total, err
}
