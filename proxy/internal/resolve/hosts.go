package resolve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/steerable-go/sidecar/egress"
)

// Hosts is a static table of names. Names that are not in it are looked up in
// Next, or do not exist when that is nil. It is read-only after [ParseHosts].
type Hosts struct {
	Next  Source
	addrs map[string][]netip.Addr
}

// ParseHosts reads hosts(5): an address, then names, '#' to the end of the
// line a comment. Names follow the grammar of the egress lists. It fails on
// the first line it cannot read, since a skipped one would send that name
// somewhere else.
func ParseHosts(r io.Reader) (*Hosts, error) {
	h := &Hosts{addrs: map[string][]netip.Addr{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		addr, err := netip.ParseAddr(words[0])
		if err != nil || addr.Zone() != "" {
			return nil, fmt.Errorf("line %d: %q is no address", n, words[0])
		}
		if len(words) == 1 {
			return nil, fmt.Errorf("line %d: no name for %s", n, addr)
		}
		for _, word := range words[1:] {
			host, err := egress.ParseHost(word)
			if err != nil || host.Name() == "" {
				return nil, fmt.Errorf("line %d: %q is no host name", n, word)
			}
			h.addrs[host.Name()] = append(h.addrs[host.Name()], addr)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read hosts: %w", err)
	}
	return h, nil
}

// Lookup implements [Source]. A name that is in the table is never looked up
// elsewhere, not even for a family it has no address of.
func (h *Hosts) Lookup(ctx context.Context, family Family, name string) ([]netip.Addr, error) {
	all, ok := h.addrs[name]
	if !ok && h.Next != nil {
		return h.Next.Lookup(ctx, family, name)
	}
	var addrs []netip.Addr
	for _, a := range all {
		if a.Is4() == (family == IPv4) {
			addrs = append(addrs, a)
		}
	}
	if len(addrs) == 0 {
		return nil, ErrNotFound
	}
	return addrs, nil
}
