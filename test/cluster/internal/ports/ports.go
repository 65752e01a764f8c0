// Package ports picks free loopback ports for several clusters on one machine.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range lies below the one the kernel takes ports of outgoing connections from
// (32768 and up): a component that restarts finds its port free.
const (
	first = 21000
	last  = 29999
)

// Pick returns a free loopback port for each name, none of them in taken. The caller
// serialises calls and records the answer before the next one.
func Pick(names []string, taken map[int]bool) (map[string]int, error) {
	picked := make(map[string]int, len(names))
	// Somewhere in the range: clusters of another folder keep a record of their own.
	next := first + rand.IntN(last-first+1)
	for _, name := range names {
		port, err := nextFree(next, taken)
		if err != nil {
			return nil, fmt.Errorf("port of %s: %w", name, err)
		}
		picked[name] = port
		next = port + 1
	}
	return picked, nil
}

// nextFree looks from a port upwards and goes on at the start of the range.
func nextFree(from int, taken map[int]bool) (int, error) {
	const size = last - first + 1
	for i := range size {
		port := first + (from-first+i)%size
		if taken[port] {
			continue
		}
		listener, err := net.Listen("tcp", Address(port))
		if err != nil {
			continue
		}
		listener.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1: end what listens there (ss -ltnp)", first, last)
}

// Address is the loopback address of a port.
func Address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
