package realnode

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// The side that is done says so, and still gets the answer.
func TestForwardHandsOnBothDirectionsAndTheirEnds(t *testing.T) {
	server, gateway := listen(t), listen(t)
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		asked, _ := io.ReadAll(c)
		c.Write(append([]byte("answer to "), asked...))
	}()
	go forward(gateway, server.Addr().String(), os.Stderr)
	c, err := net.Dial("tcp", gateway.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || string(answer) != "answer to question" {
		t.Errorf("%q, %v", answer, err)
	}
}
