// Package probe waits until a component answers that it is ready.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
)

const (
	interval       = 100 * time.Millisecond
	requestTimeout = 3 * time.Second
)

// Once asks one time; nil means ready.
func Once(ctx context.Context, p component.Probe) error {
	client, err := clientOf(p)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return ask(ctx, client, p.URL)
}

// Wait asks until the answer is 200, ctx ends, or alive says that the process is gone.
func Wait(ctx context.Context, p component.Probe, alive func() bool) error {
	client, err := clientOf(p)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for {
		err := ask(ctx, client, p.URL)
		if err == nil {
			return nil
		}
		if !alive() {
			return fmt.Errorf("the process ended before it was ready")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready in time, the last answer: %w", err)
		case <-time.After(interval):
		}
	}
}

func clientOf(p component.Probe) (*http.Client, error) {
	transport := &http.Transport{}
	if p.Authority != "" {
		pem, err := os.ReadFile(p.Authority)
		if err != nil {
			return nil, fmt.Errorf("authority of %s: %w", p.URL, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("authority of %s: %s holds no certificate", p.URL, p.Authority)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: transport, Timeout: requestTimeout}, nil
}

func ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d, expected 200: %s", url, answer.StatusCode, strings.TrimSpace(string(body)))
	}
	return nil
}
