package capabilities

import (
	"iter"
	"slices"

	"github.com/steerable-go/sidecar/authz"
)

// Principal is somebody on whose behalf calls are made. It is immutable; the
// zero value has no owner and holds nothing.
type Principal struct {
	owner  string
	groups []string
}

// NewPrincipal returns a principal. Owner is compared byte for byte everywhere;
// an empty owner is nobody. The groups are copied; order, repetition and names
// that are not known do not matter.
func NewPrincipal(owner string, groups ...string) Principal {
	return Principal{owner: owner, groups: slices.Clone(groups)}
}

// Owner returns the owner's name, "" for nobody.
func (p Principal) Owner() string { return p.owner }

// Groups yields the group names as they were given.
func (p Principal) Groups() iter.Seq[string] { return slices.Values(p.groups) }

// Source resolves a principal to what it may do. Implementations are safe for
// concurrent use and give an empty set for a principal they cannot resolve.
type Source interface {
	Capabilities(p Principal) Set
}

// FromGroups is the [Source] that reads the groups which a login provider
// reported. Its zero value is ready and safe for concurrent use.
type FromGroups struct{}

var _ Source = FromGroups{}

// Capabilities is [Expand].
func (FromGroups) Capabilities(p Principal) Set { return Expand(p) }

// Set is an immutable set of capabilities. The zero value is empty.
type Set struct {
	names []authz.Capability // sorted, distinct
}

// Expand returns the base set and what p's groups add to it. Without an owner
// the set is empty, whatever the groups say.
func Expand(p Principal) Set {
	if p.owner == "" {
		return Set{}
	}
	// A sorted slice, not a map: sets are small and made for every call.
	names := base()
	for _, name := range p.groups {
		names = append(names, group(name)...)
	}
	slices.Sort(names)
	return Set{names: slices.Compact(names)}
}

// Has reports whether the set holds exactly c. The empty name is never held.
func (s Set) Has(c authz.Capability) bool {
	_, ok := slices.BinarySearch(s.names, c)
	return ok && c != ""
}

// Len returns the number of distinct capabilities.
func (s Set) Len() int { return len(s.names) }

// All yields the capabilities in sorted order.
func (s Set) All() iter.Seq[authz.Capability] { return slices.Values(s.names) }
