package egress

import (
	"net/netip"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/egress"
)

// Options loosens the verdict on addresses. The zero value is strict.
type Options struct {
	// AllowFakeIP lets 198.18.0.0/15 pass. Resolvers of some proxies answer
	// with made-up addresses from this range and keep the name to
	// themselves. It is meant for answers of a resolver, never for literals.
	AllowFakeIP bool
}

// CheckAddr gives the verdict on an address. Addresses with a zone and the zero
// address are refused.
func CheckAddr(addr netip.Addr, opts Options) authz.Verdict {
	switch {
	case !addr.IsValid():
		return authz.Refuse(authz.ReasonNoAddress)
	case addr.Zone() != "":
		return authz.Refuse(authz.ReasonZoneID)
	}
	class := egress.Classify(addr)
	if class == egress.Benchmarking && addr.Is4() && opts.AllowFakeIP {
		return authz.Pass()
	}
	if class == egress.Public && !egress.Metadata(addr) {
		return authz.Pass()
	}
	return authz.Refuse(classReason(class, addr.Is4()))
}

// classReason names why a class is refused: one of the ten ranges, or that it
// is not public for another reason. Classes that do not exist yet fall under
// the latter.
func classReason(class egress.Class, is4 bool) authz.Reason {
	if class == egress.Unspecified && is4 {
		class = egress.ThisNetwork
	}
	for _, r := range []struct {
		class  egress.Class
		reason authz.Reason
	}{
		{egress.Private, authz.ReasonPrivateIPv4},
		{egress.Loopback, authz.ReasonLoopback},
		{egress.LinkLocal, authz.ReasonLinkLocal},
		{egress.ThisNetwork, authz.ReasonThisNetwork},
		{egress.UniqueLocal, authz.ReasonPrivateIPv6},
		{egress.Mapped, authz.ReasonIPv4Mapped},
	} {
		if r.class == class {
			return r.reason
		}
	}
	return authz.ReasonSpecialPurpose
}

// CheckResolved gives the verdict on all answers for one name: the first
// refusal, or a pass if there is none. No answer at all is refused.
func CheckResolved(addrs []netip.Addr, opts Options) authz.Verdict {
	if len(addrs) == 0 {
		return authz.Refuse(authz.ReasonNoAddress)
	}
	for _, a := range addrs {
		if v := CheckAddr(a, opts); !v.Allowed() {
			return v
		}
	}
	return authz.Pass()
}
