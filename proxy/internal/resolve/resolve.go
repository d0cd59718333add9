package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound reports a name without addresses.
	ErrNotFound = errors.New("no address for this name")
	// ErrServer reports a server that failed, refused or answered nonsense.
	ErrServer = errors.New("name server failure")
)

// Family is an address family to look up.
type Family string

// The two families, as net.Resolver spells them.
const (
	IPv4 Family = "ip4"
	IPv6 Family = "ip6"
)

// Source looks up the addresses of one family. Implementations return
// ErrNotFound for a name without any, and are safe for concurrent use.
type Source interface {
	Lookup(ctx context.Context, family Family, name string) ([]netip.Addr, error)
}

// System returns a source that asks the system's resolver, with its hosts file
// and search list.
func System() Source { return system{r: &net.Resolver{}} }

type system struct{ r *net.Resolver }

func (s system) Lookup(ctx context.Context, family Family, name string) ([]netip.Addr, error) {
	addrs, err := s.r.LookupNetIP(ctx, string(family), name)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, ErrNotFound
	case errors.As(err, &dns) && dns.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("look up %s: %w", name, context.DeadlineExceeded)
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", name, ErrServer)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap() // some resolvers give IPv4 in its mapped form
	}
	return addrs, nil
}

// settle is how long a lookup waits for the second family once the first has
// addresses (RFC 8305, section 3, recommends 50 ms).
const settle = 50 * time.Millisecond

type answer struct {
	family Family
	addrs  []netip.Addr
	err    error
}

// Both asks src for both families at once and returns what there is, IPv6
// first. One family's failure does not matter while the other has addresses.
// With wait, it always waits for both answers, for callers who must judge the
// whole set; otherwise an answer that lags the other by 50 ms is left out.
func Both(ctx context.Context, src Source, name string, wait bool) ([]netip.Addr, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the lookup that was left behind; it needs no waiting
	answers := make(chan answer, 2)
	for _, family := range []Family{IPv6, IPv4} {
		go func() {
			addrs, err := src.Lookup(ctx, family, name)
			answers <- answer{family, addrs, err}
		}()
	}
	first := <-answers
	second := answer{err: first.err}
	if wait || len(first.addrs) == 0 {
		second = <-answers
	} else {
		timer := time.NewTimer(settle)
		defer timer.Stop()
		select {
		case second = <-answers:
		case <-timer.C:
		}
	}
	if first.family == IPv4 {
		first, second = second, first
	}
	addrs := append(first.addrs, second.addrs...)
	if len(addrs) > 0 {
		return addrs, nil
	}
	// A failure says more than an empty answer beside it.
	for _, err := range []error{first.err, second.err} {
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("look up %s: %w", name, ErrNotFound)
}
