package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/head"
)

// route returns what carries out an authorised request, nil for nothing.
func (s *Server) route(h *head.Head) func(body []byte) controlReply {
	switch string(h.Method) + " " + string(h.Target) {
	case "POST /allow":
		return s.controlAllow
	case "DELETE /allow":
		return s.controlRemove
	case "GET /allow":
		return s.controlList
	case "GET /metrics":
		return func([]byte) controlReply {
			return controlReply{status: 200, kind: "text/plain; version=0.0.4", body: s.metrics()}
		}
	case "GET /decisions":
		return func([]byte) controlReply { return controlReply{status: 200, stream: s.streamDecisions} }
	default:
		return nil
	}
}

// maxTTL keeps a TTL inside a time.Duration; it is a bit over a century.
const maxTTL = 1 << 32

// readAllow reads the body of POST and DELETE /allow, {"host", "ttl_s"}. Other
// keys are let through: callers may send more than this version knows.
func readAllow(body []byte) (egress.Endpoint, time.Duration, error) {
	var fields map[string]json.RawMessage // a map keeps the case of keys
	if err := json.Unmarshal(body, &fields); err != nil {
		return egress.Endpoint{}, 0, fmt.Errorf("parse body: %w", err)
	}
	if err := checkKeys(body, nil); err != nil {
		return egress.Endpoint{}, 0, fmt.Errorf("parse body: %w", err)
	}
	var host *string
	var ttl *float64
	if err := errors.Join(readField(fields, "host", &host), readField(fields, "ttl_s", &ttl)); err != nil {
		return egress.Endpoint{}, 0, err
	}
	if host == nil {
		return egress.Endpoint{}, 0, errors.New("parse body: no host")
	}
	entry, err := egress.ParseEndpoint(*host)
	if err != nil {
		return egress.Endpoint{}, 0, err
	}
	if ttl == nil {
		return entry, 0, nil
	}
	if !(*ttl > 0 && *ttl <= maxTTL) {
		return egress.Endpoint{}, 0, errors.New("parse body: ttl_s out of range")
	}
	return entry, time.Duration(math.Ceil(*ttl * float64(time.Second))), nil
}

// readField decodes one field, if it is there.
func readField(fields map[string]json.RawMessage, name string, into any) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("parse body: %s: %w", name, err)
	}
	return nil
}

func (s *Server) controlAllow(body []byte) controlReply {
	entry, ttl, err := readAllow(body)
	if err != nil {
		return controlReply{status: 400}
	}
	if !s.grants.add(entry, ttl) {
		return controlReply{status: 507}
	}
	reply := controlReply{status: 200, kind: "application/json", body: describe("allowed", entry)}
	if !slices.ContainsFunc(entry.Ports(), func(p uint16) bool { return !s.denied(entry.Host.Unmap(), p) }) {
		// The grant stands, and opens nothing for as long as the deny entry does.
		reply.extra = "x-proxy-error: " + string(ReasonDenied) + "\r\n"
	}
	s.opt.Logger.Info().Str("entry", entry.String()).Dur("ttl", ttl).Msg("grant added")
	return reply
}

// describe spells an entry the way the sidecar's ask flow reads it: one blank
// after every colon and comma between keys, IPv6 without brackets.
func describe(verb string, e egress.Endpoint) string {
	ports := make([]string, 0, 2)
	for _, p := range e.Ports() {
		ports = append(ports, strconv.Itoa(int(p)))
	}
	return fmt.Sprintf(`{"%s": "%s", "ports": "%s"}`, verb, unbracket(e.Host.String()), strings.Join(ports, ","))
}

func (s *Server) controlRemove(body []byte) controlReply {
	entry, _, err := readAllow(body)
	if err != nil {
		return controlReply{status: 400}
	}
	if !s.grants.remove(entry) {
		return controlReply{status: 404}
	}
	s.opt.Logger.Info().Str("entry", entry.String()).Msg("grant removed")
	return controlReply{status: 200, kind: "application/json", body: describe("removed", entry)}
}

// listing is the body of GET /allow.
type listing struct {
	Allow  []string      `json:"allow"`
	Deny   []string      `json:"deny"`
	Grants []listedGrant `json:"grants"`
}

type listedGrant struct {
	Host string `json:"host"` // as POST takes it
	// ExpiresInS is how long it still holds; absent for good.
	ExpiresInS float64 `json:"expires_in_s,omitempty"`
	// Denied tells that a deny entry covers every port of it.
	Denied bool `json:"denied,omitempty"`
}

func (s *Server) controlList([]byte) controlReply {
	p := s.policy.Load()
	out := listing{Allow: spell(p.list.Allow()), Deny: spell(p.list.Deny()), Grants: []listedGrant{}}
	for _, g := range s.grants.list() {
		item := listedGrant{Host: g.entry.String()}
		if !g.expires.IsZero() {
			item.ExpiresInS = g.expires.Sub(s.opt.Now()).Seconds()
		}
		item.Denied = !slices.ContainsFunc(g.entry.Ports(), func(port uint16) bool { return !s.denied(g.entry.Host, port) })
		out.Grants = append(out.Grants, item)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return controlReply{status: 400}
	}
	return controlReply{status: 200, kind: "application/json", body: string(text)}
}

func spell(patterns []egress.Pattern) []string {
	out := make([]string, 0, len(patterns))
	for _, p := range patterns {
		out = append(out, p.String())
	}
	return out
}

// metrics is the text format of Prometheus.
func (s *Server) metrics() string {
	var b strings.Builder
	b.WriteString("# TYPE egress_proxy_decisions_total counter\n")
	for _, r := range reasons() {
		fmt.Fprintf(&b, "egress_proxy_decisions_total{reason=%q} %d\n", r, s.sink.counts[r].Load())
	}
	b.WriteString("# TYPE egress_proxy_bytes_total counter\n")
	fmt.Fprintf(&b, "egress_proxy_bytes_total{direction=\"up\"} %d\n", s.sink.up.Load())
	fmt.Fprintf(&b, "egress_proxy_bytes_total{direction=\"down\"} %d\n", s.sink.down.Load())
	b.WriteString("# TYPE egress_proxy_open_tunnels gauge\n")
	fmt.Fprintf(&b, "egress_proxy_open_tunnels %d\n", s.tunnels.Open())
	b.WriteString("# TYPE egress_proxy_session_grants gauge\n")
	fmt.Fprintf(&b, "egress_proxy_session_grants %d\n", len(s.grants.list()))
	return b.String()
}

// streamDecisions sends decisions as server-sent events until the client
// leaves or the server stops.
func (s *Server) streamDecisions(ctx context.Context, conn net.Conn) {
	events, end := s.sink.listen()
	defer end()
	const opening = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
	if _, err := conn.Write([]byte(opening)); err != nil {
		return
	}
	ctx, w := watch(ctx, conn, watchFor{limit: drainBytes, halfClose: true})
	defer w.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			text, err := json.Marshal(e)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(conn, "data: %s\n\n", text); err != nil {
				return
			}
		}
	}
}
