package proxy

import (
	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/hello"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// alert is a fatal TLS alert, unrecognized_name (RFC 8446, section 6.2).
const alert = "\x15\x03\x03\x00\x02\x02\x70"

// Words for Event.Detail.
const (
	detailOtherName = "other_name"
	detailNoName    = "no_name"
	detailBadHello  = "bad_hello"
)

// inspector compares the server name of the tunnel's TLS hello with the host
// that was asked for. Observing lets bytes pass as they come; enforcing holds
// them until the name is known. Protocols that do not begin like TLS pass.
func (x *exchange) inspector(host egress.Host) relay.Inspector {
	var r hello.Reader
	var held []byte
	enforce := x.s.opt.SNI == SNIEnforce
	return func(p []byte) (pass []byte, done bool, farewell []byte) {
		state, info, err := r.Add(p)
		detail := ""
		switch {
		case err != nil:
			detail = detailBadHello
		case state == hello.Done:
			detail = x.compare(host, info)
		}
		done = err != nil || state != hello.More
		if !enforce {
			x.event.Detail = detail
			return p, done, nil
		}
		if detail != "" {
			x.event.Reason, x.event.Detail = ReasonSNIMismatch, detail
			return nil, true, []byte(alert)
		}
		held = append(held, p...)
		if !done {
			return nil, false, nil
		}
		return held, true, nil
	}
}

// compare returns "" for a hello that names host, and what is wrong otherwise.
// A name in the hello of a tunnel to an address is another name: the list
// opened the address only.
func (x *exchange) compare(host egress.Host, info hello.Info) string {
	x.event.ECH = info.ECH
	if info.ServerName == "" {
		if host.Name() == "" {
			return ""
		}
		return detailNoName
	}
	name, err := egress.ParseHost(info.ServerName)
	if err != nil {
		return detailBadHello
	}
	if name == host {
		return ""
	}
	x.event.SNI = name.String()
	return detailOtherName
}
