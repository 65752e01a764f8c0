package realnode

import (
	"io"
	"net"
	"sync"
)

// forward hands every connection of a listener on to an address, until the listener is closed. It is the node's and its Pods'
// way to the API server, which listens on the machine's loopback only.
func forward(listener net.Listener, address string, log io.Writer) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp", address)
			if err != nil {
				io.WriteString(log, "the API server cannot be reached: "+err.Error()+"\n")
				return
			}
			defer to.Close()
			var both sync.WaitGroup
			both.Go(func() { pass(to, from) })
			both.Go(func() { pass(from, to) })
			both.Wait()
		}()
	}
}

// pass copies one direction and then closes it, so that the other side sees the end and may still answer.
func pass(to, from net.Conn) {
	io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		half.CloseWrite()
	}
}
