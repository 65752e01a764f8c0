package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/lastsample"
	"github.com/gpu-dra/gpu-dra/internal/reaper"
)

// The test program is the sidecar and the exporter too: both are processes of their own here, as in a pod.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sidecar":
			c := New()
			c.SetArgs(os.Args[2:])
			if err := c.ExecuteContext(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "exporter":
			exporterMain(os.Args[2], os.Args[3:])
		}
	}
	os.Exit(m.Run())
}

// exporterMain is an exporter of a kind.
func exporterMain(kind string, args []string) {
	fmt.Println("exporter started as", os.Getpid())
	if kind == "crash" {
		os.Exit(7)
	}
	if kind == "cat" {
		for _, name := range []string{"a.csv", "b"} {
			text, err := os.ReadFile(filepath.Join(os.Getenv("EXPORTER_CONFIG"), name))
			fmt.Printf("%s: %s\n%v\n", name, text, err)
		}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if kind == "parent" {
		// A child that outlives its parent comes to the sidecar.
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("grandchild", child.Process.Pid)
		os.Exit(3)
	}
	if kind == "forks" {
		child := exec.Command(os.Args[0], "exporter", "greedy", args[0])
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Run()
	}
	var taken []byte
	if kind == "greedy" {
		taken = bytes.Repeat([]byte{1}, 200<<20)
	}
	defer func() { _ = len(taken) }()
	go func() {
		_ = http.ListenAndServe(args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "hang" {
				fmt.Println("exporter hangs")
				time.Sleep(time.Hour)
			}
			fmt.Fprintf(w, "listen %s env %s\n", args[0], os.Getenv("EXPORTER_LISTEN"))
		}))
	}()
	for s := range signals {
		fmt.Println("exporter got", s)
		if s == syscall.SIGTERM && kind != "stubborn" {
			fmt.Println("exporter ends")
			os.Exit(0)
		}
	}
}

// running is a sidecar that runs.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	port  int
	mu    sync.Mutex
	said  bytes.Buffer
	ended chan error
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(b)
}

func (r *running) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

func startSidecar(t *testing.T, kind string, flags ...string) *running {
	t.Helper()
	address, err := freeAddress()
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	r := &running{t: t, ended: make(chan error, 1)}
	r.port, err = strconv.Atoi(port)
	require.NoError(t, err)
	args := append([]string{"sidecar", "run", "--listen=" + address}, flags...)
	r.cmd = exec.Command(os.Args[0], append(args, "--", os.Args[0], "exporter", kind, "{listen}")...)
	r.cmd.Env = append(os.Environ(), "EXPORTER_LISTEN=:{port}", "EXPORTER_CONFIG={config}")
	r.cmd.Stdout, r.cmd.Stderr = r, r
	// The exporter has the pipe too: it is no reason to wait once the sidecar itself has ended.
	r.cmd.WaitDelay = time.Second
	require.NoError(t, r.cmd.Start())
	go func() { r.ended <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		if t.Failed() {
			t.Log(r.log())
		}
	})
	return r
}

func (r *running) scrape() (string, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", r.port))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

func (r *running) up() {
	r.t.Helper()
	require.Eventually(r.t, func() bool { _, err := r.scrape(); return err == nil }, 10*time.Second, 10*time.Millisecond)
}

func (r *running) says(words string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(r.log(), words) }, 10*time.Second, 5*time.Millisecond, words)
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(s))
}

// exits waits for the end with code 0 and returns how long that took.
func (r *running) exits(limit time.Duration) time.Duration {
	r.t.Helper()
	began := time.Now()
	select {
	case err := <-r.ended:
		require.NoError(r.t, err, r.log())
	case <-time.After(limit):
		r.t.Fatalf("runs still after %s", limit)
	}
	return time.Since(began)
}

func (r *running) alive() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.t.Fatalf("ended: %v", err)
	default:
	}
}

// The main case: after SIGTERM it answers until one more sample was taken, then the exporter ends, then it does.
func TestLastSample(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "good", "--interval=5s")
	r.up()
	body, err := r.scrape()
	require.NoError(t, err)
	var inner, env string
	_, err = fmt.Sscanf(body, "listen %s env %s", &inner, &env)
	require.NoError(t, err, body)
	_, port, _ := net.SplitHostPort(inner)
	require.Equal(t, ":"+port, env, "tokens are filled in in the environment too")
	require.NotEqual(t, strconv.Itoa(r.port), port)

	r.signal(syscall.SIGHUP)
	r.says("exporter got hangup")
	r.signal(syscall.SIGTERM)
	r.says("waiting up to 10s for the last sample")
	time.Sleep(300 * time.Millisecond)
	r.alive()
	require.NotContains(t, r.log(), "exporter got terminated", "the exporter is told after the last sample")
	body, err = r.scrape()
	require.NoError(t, err)
	require.Contains(t, body, "listen 127.0.0.1:", "a whole sample, taken after the end began")
	require.Less(t, r.exits(5*time.Second), 3*time.Second)
	require.Contains(t, r.log(), "the last sample was taken after ")
	require.Contains(t, r.log(), "exporter ends")
}

// Nobody scrapes: two intervals, no longer.
func TestNobodyScrapes(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "good", "--interval=500ms")
	r.up()
	time.Sleep(1600 * time.Millisecond)
	r.signal(syscall.SIGTERM)
	took := r.exits(5 * time.Second)
	require.GreaterOrEqual(t, took, 900*time.Millisecond)
	require.Less(t, took, 3*time.Second)
	require.Contains(t, r.log(), "nobody took the last sample in time: 1 awaited")
}

// The hook says when the grace period began; the engine used most of it up.
func TestGracePeriodRunsFromTheHook(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "stubborn", "--interval=1m", "--grace=6s")
	r.up()
	hook := New()
	hook.SetArgs([]string{"ending", "--port=" + strconv.Itoa(r.port)})
	require.NoError(t, hook.Execute())
	began := time.Now()
	time.Sleep(3 * time.Second)
	r.signal(syscall.SIGTERM)
	r.exits(15 * time.Second)
	took := time.Since(began)
	require.GreaterOrEqual(t, took, 4400*time.Millisecond)
	// Counted from SIGTERM it would be at least 7.5 s; a busy machine is late by less than what lies between.
	require.Less(t, took, 7*time.Second, "it ends by the grace period that began with the hook, though the exporter does not end by itself")
	require.Contains(t, r.log(), "did not end in 700ms and is killed")
}

// The worst end: an answer that hangs, and then an exporter that does not end. Where the kubelet leaves 2 s, both have to fit.
func TestTheEndFitsWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "stubborn", "--interval=300ms", "--grace=0s")
	r.up()
	hanging := make(chan error, 1)
	go func() {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics?hang", r.port))
		if err == nil {
			response.Body.Close()
		}
		hanging <- err
	}()
	r.says("exporter hangs")
	r.signal(syscall.SIGTERM)
	r.says("nobody took the last sample in time")
	r.exits(10 * time.Second)
	// By the numbers, not by the clock: a busy machine is late with both.
	require.Contains(t, r.log(), "an answer was under way after 700ms")
	require.Contains(t, r.log(), "did not end in 700ms and is killed")
	require.LessOrEqual(t, 2*timeToEnd, lastsample.Reserve-50*time.Millisecond, "with time to exit in")
	<-hanging
}

// Files of the exporter are there when it starts, with the address that it has to listen on.
func TestFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := startSidecar(t, "cat", "--interval=100ms", "--file=a.csv=DCGM,gauge,\"x = y\"\n", "--file=b=on {listen}")
	r.says("a.csv: DCGM,gauge,\"x = y\"\n\n")
	r.says("b: on 127.0.0.1:")
	r.signal(syscall.SIGTERM)
	r.exits(5 * time.Second)
}

func TestPathsThatNetHTTPTakes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/metrics", "/a/b", "/metrics/", "/.well-known", "/a..b", "/-/ending", "/health", "/~x"} {
		o := options{listen: ":1", path: path, Timing: lastsample.Timing{Interval: 1}}
		require.NoError(t, o.check([]string{"/x"}), path)
		require.NotPanics(t, func() { lastsample.Handler(lastsample.NewGate(o.Timing), path, newExporter(nil)) }, path)
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "good", "--interval=1m", "--grace=1h")
	r.up()
	r.signal(syscall.SIGTERM)
	r.says("waiting up to")
	r.signal(syscall.SIGTERM)
	require.Less(t, r.exits(5*time.Second), 2*time.Second)
	require.Contains(t, r.log(), "exporter ends")
}

// Where the kernel would end the whole container, which makes its pod unready, the exporter alone is started again.
func TestExporterThatTakesTooMuch(t *testing.T) {
	for _, kind := range []string{"greedy", "forks"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := startSidecar(t, kind, "--interval=1m", "--memory=104857600")
			r.says("MiB of memory, and may take 100; starting it again in 1s")
			r.alive()
			r.signal(syscall.SIGTERM)
			r.exits(5 * time.Second)
		})
	}
}

// The runtime finds a program that is named without its folder, so this does too; one that is not there harms nobody.
func TestProgramIsLookedFor(t *testing.T) {
	t.Parallel()
	o := options{listen: ":1", path: "/metrics", Timing: lastsample.Timing{Interval: 1}}
	require.NoError(t, o.check([]string{"acme-exporter"}))
	e := newExporter(&runner{command: []string{"no-such-exporter"}})
	require.Contains(t, e.once(t.Context()), `"no-such-exporter": executable file not found`)
	started := ""
	e = newExporter(&runner{command: []string{"sleep"}, start: func(path string, _, _ []string) (*reaper.Process, error) {
		started = path
		return nil, errors.New("not now")
	}})
	require.Equal(t, "not now", e.once(t.Context()))
	require.True(t, filepath.IsAbs(started), started)
}

// An exporter that crashes for ever: the sidecar stays, says so to who scrapes, and ends at once when told to.
func TestCrash(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "crash", "--interval=1m")
	r.says("the exporter does not run: exit code 7; starting it again in 2s")
	r.alive()
	_, err := r.scrape()
	require.ErrorContains(t, err, "503 Service Unavailable: the exporter does not run: exit code 7")
	r.signal(syscall.SIGTERM)
	require.Less(t, r.exits(5*time.Second), 2*time.Second)
	require.Contains(t, r.log(), "ending without a last sample: the exporter does not run: exit code 7")
}

func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "sidecar", "run", "--listen="+address, "--", "/nobody/is/here")
	r := &running{t: t, cmd: cmd, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = r, r
	require.NoError(t, cmd.Start())
	go func() { r.ended <- cmd.Wait() }()
	r.says(`the exporter does not run: exec: "/nobody/is/here": stat /nobody/is/here: no such file or directory; starting it again in 1s`)
	r.signal(syscall.SIGTERM)
	r.exits(5 * time.Second)
}

// What an exporter leaves behind neither lives on nor stays as a zombie.
func TestChildrenOfTheExporter(t *testing.T) {
	t.Parallel()
	r := startSidecar(t, "parent")
	r.says("exit code 3; starting it again")
	var pid int
	for _, line := range strings.Split(r.log(), "\n") {
		if rest, ok := strings.CutPrefix(line, "grandchild "); ok {
			var err error
			pid, err = strconv.Atoi(rest)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, pid)
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, 5*time.Second, 10*time.Millisecond)
	r.signal(syscall.SIGTERM)
	r.exits(5 * time.Second)
}

// A port that is taken is no reason to end: the engine would not start.
func TestPortIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "sidecar", "run", "--listen="+l.Addr().String(), "--", os.Args[0], "exporter", "good", "{listen}")
	r := &running{t: t, cmd: cmd, port: l.Addr().(*net.TCPAddr).Port, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = r, r
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	go func() { r.ended <- cmd.Wait() }()
	r.says("metrics cannot be served: ")
	r.alive()
	require.NoError(t, l.Close())
	r.up()
	r.signal(syscall.SIGTERM)
	r.says("waiting up to")
	r.signal(syscall.SIGTERM)
	r.exits(5 * time.Second)
}

func TestInstall(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "gpu-dra")
	for range 2 {
		out, err := exec.Command(os.Args[0], "sidecar", "install", "--to="+to).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	out, err := exec.Command(to, "exporter", "crash").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "exporter started", "the copy runs")
	require.Equal(t, []string{"gpu-dra"}, names(t, filepath.Dir(to)))
	out, err = exec.Command(os.Args[0], "sidecar", "install", "--to=/nobody/is/here").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "install to /nobody/is/here: ")

	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o755))
	out, err = exec.Command(os.Args[0], "sidecar", "install", "--to="+folder).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "install to "+folder+": found a folder, expected the path of the copy, as "+folder+"/gpu-dra")
	require.Equal(t, []string{"folder"}, names(t, filepath.Dir(folder)))
}

// A copy that fails leaves nothing behind.
func TestInstallThatFails(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "gpu-dra")
	out, err := exec.Command("bash", "-c", `ulimit -f 1; trap "" XFSZ; exec "$0" sidecar install --to="$1"`, os.Args[0], to).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "install to "+to+": ")
	require.Contains(t, string(out), "file too large")
	require.Empty(t, names(t, filepath.Dir(to)))
}

// names of what is in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`found the command "runn now", expected one of`: {"runn", "now"},
		`--listen: found "", expected [address]:port`:   {"run", "--", "/x"},
		`--listen: found "9400", expected`:              {"run", "--listen=9400", "--", "/x"},
		`--path: found "metrics", expected a path`:      {"run", "--listen=:1", "--path=metrics", "--", "/x"},
		`--path: found "/{x}", expected a path`:         {"run", "--listen=:1", "--path=/{x}", "--", "/x"},
		`--path: found "//metrics", expected a path`:    {"run", "--listen=:1", "--path=//metrics", "--", "/x"},
		`--path: found "//", expected a path`:           {"run", "--listen=:1", "--path=//", "--", "/x"},
		`--path: found "/a//b", expected a path`:        {"run", "--listen=:1", "--path=/a//b", "--", "/x"},
		`--path: found "/./m", expected a path`:         {"run", "--listen=:1", "--path=/./m", "--", "/x"},
		`--path: found "/a/..", expected a path`:        {"run", "--listen=:1", "--path=/a/..", "--", "/x"},
		`--path: found "/a/./", expected a path`:        {"run", "--listen=:1", "--path=/a/./", "--", "/x"},
		`--file: found "a", expected NAME=TEXT`:         {"run", "--listen=:1", "--file=a", "--", "/x"},
		`--file: found "../a=b", expected NAME=TEXT`:    {"run", "--listen=:1", "--file=../a=b", "--", "/x"},
		`--file: found "..=b", expected NAME=TEXT`:      {"run", "--listen=:1", "--file=..=b", "--", "/x"},
		`--interval: found 0s, expected`:                {"run", "--listen=:1", "--interval=0s", "--", "/x"},
		`--grace: found -1s, expected`:                  {"run", "--listen=:1", "--grace=-1s", "--", "/x"},
		`COMMAND: found an empty text`:                  {"run", "--listen=:1", "--", ""},
		`--collect: found -1s`:                          {"run", "--listen=:1", "--collect=-1s", "--", "x"},
		`--memory: found -1`:                            {"run", "--listen=:1", "--memory=-1", "--", "x"},
		`requires at least 1 arg`:                       {"run", "--listen=:1"},
		`--to: found "x", expected an absolute path`:    {"install", "--to=x"},
		`--port: found 0, expected the port`:            {"ending"},
		`the sidecar does not answer: `:                 {"ending", "--port=1"},
	} {
		c := New()
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		require.ErrorContains(t, c.Execute(), want)
	}
}
