package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A request that was taken before SIGTERM is answered while the engine drains; later ones are turned away.
func TestEngineAnswersWhatItTookWhileItDrains(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, terminate := context.WithCancel(t.Context())
	defer terminate()
	ended := make(chan error, 1)
	go func() { ended <- engine(ctx, []string{"--listen", address, "--drain", "2s"}) }()
	ask := func(query string) string {
		answer, err := http.Get("http://" + address + "/" + query)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", string(body))
	}
	deadline := time.Now().Add(10 * time.Second)
	for got := ask(""); got != "200 answer\n"; got = ask("") {
		if time.Now().After(deadline) {
			t.Fatalf("first request: %s", got)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := ask("?takes=soon"); got[:3] != "400" {
		t.Errorf("takes=soon: %s", got)
	}
	long := make(chan string, 1)
	go func() { long <- ask("?takes=1s") }()
	time.Sleep(300 * time.Millisecond)
	terminate()
	time.Sleep(100 * time.Millisecond)
	if got := ask(""); got != "503 draining\n" {
		t.Errorf("request while it drains: %s", got)
	}
	if got := <-long; got != "200 answer\n" {
		t.Errorf("request taken before: %s", got)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the engine does not end")
	}
}
