package controller

import (
	"context"
	"time"

	"github.com/gpu-dra/gpu-dra/internal/controller/webhook"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// admitLook is the pause between two looks at whether the webhook can be called.
const admitLook = 200 * time.Millisecond

// admit serves the admission webhook, whether this process leads or not.
func (p *process) admit(ctx context.Context) error {
	first := p.firstSidecar(ctx)
	if first == nil {
		return nil
	}
	server, err := webhook.New(p.WebhookAddress, first, p.REST, p.Log.WithName("webhook"))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go p.follow(ctx, server)
	return server.Run(ctx)
}

// follow hands new configurations on and keeps the readiness.
func (p *process) follow(ctx context.Context, server *webhook.Server) {
	tick := time.NewTicker(admitLook)
	defer tick.Stop()
	for ctx.Err() == nil {
		state, changed := p.config.State()
		if state.Good != nil {
			server.Use(state.Good)
		}
		p.admits.set(server.Problem())
		select {
		case <-ctx.Done():
		case <-changed:
		case <-tick.C:
		}
	}
}

// firstSidecar returns the first configuration that says what the webhook needs, nil when ctx ended before there was one.
func (p *process) firstSidecar(ctx context.Context) *settings.ControllerConfig {
	for {
		state, changed := p.config.State()
		if state.Good != nil && state.Good.Sidecar != nil {
			return state.Good
		}
		if state.Good != nil {
			p.admits.set("the configuration has no block sidecar, which the webhook needs")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
