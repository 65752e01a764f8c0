package nodes

import "sync"

// Pass follows the first pass over all nodes of a cluster, after which what GPUNodes say is what the cluster is.
type Pass struct {
	mu       sync.Mutex
	expected []string
	done     map[string]bool
	complete chan struct{}
	over     bool
}

// NewPass returns a Pass that has not begun.
func NewPass() *Pass { return &Pass{done: map[string]bool{}, complete: make(chan struct{})} }

// Expect says which nodes the pass is over. It is called once.
func (p *Pass) Expect(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append([]string{}, names...)
	p.check()
}

// Done says that a node was brought up to date, before or after Expect.
func (p *Pass) Done(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.done[name] = true
	p.check()
}

// Complete is closed when the pass is over.
func (p *Pass) Complete() <-chan struct{} { return p.complete }

// Over is true when the pass is over.
func (p *Pass) Over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

func (p *Pass) check() {
	if p.expected == nil || p.over {
		return
	}
	for len(p.expected) > 0 {
		last := len(p.expected) - 1
		if !p.done[p.expected[last]] {
			return
		}
		p.expected = p.expected[:last]
	}
	p.over, p.done = true, nil
	close(p.complete)
}
