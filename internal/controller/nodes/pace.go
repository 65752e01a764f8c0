package nodes

import (
	"sync"
	"time"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
)

// paceInterval is how long a GPUNode stands before it is written again for the sake of its column ALLOCATED alone: a burst of
// pods changes it many times within seconds, on every node.
const paceInterval = 5 * time.Second

// pace remembers when the column was last written, by node.
type pace struct {
	mu      sync.Mutex
	written map[string]time.Time
}

// hold returns the status with the column as it stands in prev while it is too early to write it, and after how long it is not.
// Where something else is to be written too, the column goes with it.
func (p *pace) hold(node string, prev, next v1alpha1.GPUNodeStatus, now time.Time) (v1alpha1.GPUNodeStatus, time.Duration) {
	if prev.Summary.Allocated == next.Summary.Allocated || !gpunode.SameFacts(prev, next) {
		return next, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.written[node]
	if left := paceInterval - now.Sub(last); ok && left > 0 {
		next.Summary.Allocated = prev.Summary.Allocated
		return next, left
	}
	return next, 0
}

// wrote says that a node's column was written.
func (p *pace) wrote(node string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[string]time.Time{}
	}
	p.written[node] = now
}

// forget a node that has gone.
func (p *pace) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, node)
}
