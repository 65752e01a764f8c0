package ports

import (
	"net"
	"testing"
)

func TestTwoClustersShareNoPort(t *testing.T) {
	names := []string{"a", "b", "c"}
	one, err := Pick(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := map[int]bool{}
	for _, port := range one {
		taken[port] = true
	}
	if len(taken) != len(names) {
		t.Fatalf("ports of one cluster: %v, want three different ones", one)
	}
	// Nothing listens on the first cluster's ports yet: only the record protects them.
	two, err := Pick(names, taken)
	if err != nil {
		t.Fatal(err)
	}
	for name, port := range two {
		if taken[port] {
			t.Errorf("port %d of %s is the first cluster's", port, name)
		}
	}
}

func TestBusyPortIsPassedOver(t *testing.T) {
	var (
		free     int
		listener net.Listener
	)
	// Another process may take the port in between; it will not do so every time.
	for try := 0; listener == nil; try++ {
		var err error
		if free, err = nextFree(last, nil); err != nil {
			t.Fatal(err)
		}
		if listener, err = net.Listen("tcp", Address(free)); err != nil && try == 10 {
			t.Fatal(err)
		}
	}
	defer listener.Close()
	again, err := nextFree(free, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again == free || again < first || again > last {
		t.Errorf("port %d is given while something listens on %d", again, free)
	}
	if beyond, err := nextFree(last, map[int]bool{last: true}); err != nil || beyond == last {
		t.Errorf("after the last port comes %d, %v", beyond, err)
	}
}
