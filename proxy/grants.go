package proxy

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

// maxGrants bounds the session's grants: a control client in a loop should
// meet an error rather than the end of memory.
const maxGrants = 4096

// grant is one widening of the list for this process's life.
type grant struct {
	entry   egress.Endpoint
	expires time.Time // zero: when the process ends
}

// grants is the session's own list, beside the immutable one.
type grants struct {
	now func() time.Time

	mu      sync.RWMutex // guards following
	entries map[egress.Endpoint]time.Time
}

func newGrants(now func() time.Time) *grants {
	return &grants{now: now, entries: map[egress.Endpoint]time.Time{}}
}

// add grants entry for ttl, or for good if ttl is zero; a second grant of the
// same entry replaces the first. It reports false when there are too many.
func (g *grants) add(entry egress.Endpoint, ttl time.Duration) bool {
	entry.Host = entry.Host.Unmap()
	var expires time.Time
	if ttl > 0 {
		expires = g.now().Add(ttl)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prune()
	if _, ok := g.entries[entry]; !ok && len(g.entries) >= maxGrants {
		return false
	}
	g.entries[entry] = expires
	return true
}

// prune drops what has expired; the lock is held.
func (g *grants) prune() {
	now := g.now()
	for e, expires := range g.entries {
		if !expires.IsZero() && !now.Before(expires) {
			delete(g.entries, e)
		}
	}
}

// remove takes a grant back and reports whether there was one.
func (g *grants) remove(entry egress.Endpoint) bool {
	entry.Host = entry.Host.Unmap()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prune()
	_, ok := g.entries[entry]
	delete(g.entries, entry)
	return ok
}

// match returns the grant that opens port on host, if one does.
func (g *grants) match(host egress.Host, port uint16) (egress.Endpoint, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, e := range []egress.Endpoint{{Host: host, Port: port}, {Host: host}} {
		expires, ok := g.entries[e]
		if ok && e.Covers(host, port) && (expires.IsZero() || g.now().Before(expires)) {
			return e, true
		}
	}
	return egress.Endpoint{}, false
}

// list returns the grants in force in the order of their spelling.
func (g *grants) list() []grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prune()
	out := make([]grant, 0, len(g.entries))
	for e, expires := range g.entries {
		out = append(out, grant{e, expires})
	}
	slices.SortFunc(out, func(a, b grant) int { return strings.Compare(a.entry.String(), b.entry.String()) })
	return out
}
