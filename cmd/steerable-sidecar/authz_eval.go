package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/egress"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/authz/policy"
	"github.com/steerable-go/sidecar/authz/risk"
	"github.com/steerable-go/sidecar/authz/signing"
)

// evaluator answers lines of "authz eval". The stages are made once.
type evaluator struct {
	scorer   *risk.Scorer
	scanner  *dlp.Scanner
	governor *govern.Governor
}

func newEvaluator() *evaluator {
	return &evaluator{scorer: risk.New(), scanner: dlp.New(dlp.Options{}), governor: govern.New(govern.Options{})}
}

// answer runs one line.
func (e *evaluator) answer(line []byte) result {
	var row struct {
		Module string          `json:"module"`
		Input  json.RawMessage `json:"input"`
	}
	err := json.Unmarshal(line, &row)
	if err == nil {
		var out result
		if out, err = e.run(row.Module, row.Input); err == nil {
			return out
		}
	}
	out := result{"error": err.Error()}
	if errors.Is(err, audit.ErrShape) {
		out["ok"], out["code"] = false, audit.CodeShape
	}
	return out
}

func (e *evaluator) run(module string, input json.RawMessage) (result, error) {
	modules := map[string]func(json.RawMessage) (result, error){
		"audit":        evalAudit,
		"capabilities": evalCapabilities,
		"chain":        evalChain,
		"dlp":          e.dlp,
		"egress":       evalEgress,
		"govern":       e.govern,
		"policy":       evalPolicy,
		"risk":         e.risk,
		"signing":      evalSigning,
	}
	f, ok := modules[module]
	if !ok {
		return nil, fmt.Errorf("unknown module %q", module)
	}
	return f(input)
}

func verdict(v authz.Verdict) result { return result{"allowed": v.Allowed(), "reason": v.Reason()} }

func evalEgress(data json.RawMessage) (result, error) {
	var in struct {
		URL         *string  `json:"url"`
		Resolved    []string `json:"resolved"`
		AllowFakeIP bool     `json:"allowFakeIP"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	if in.URL == nil && in.Resolved == nil {
		return nil, errors.New("malformed input: neither url nor resolved")
	}
	if in.URL != nil {
		if v := egress.CheckURL(*in.URL); !v.Allowed() || in.Resolved == nil {
			return verdict(v), nil
		}
	}
	var addrs []netip.Addr
	for _, s := range in.Resolved {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			addr = netip.Addr{} // what is no address is refused as none
		}
		addrs = append(addrs, addr)
	}
	return verdict(egress.CheckResolved(addrs, egress.Options{AllowFakeIP: in.AllowFakeIP})), nil
}

func (e *evaluator) risk(data json.RawMessage) (result, error) {
	var in struct {
		Kind            string `json:"kind"`
		Description     string `json:"description"`
		Content         string `json:"content"`
		CommandCritical bool   `json:"commandCritical"`
		CommandWarning  bool   `json:"commandWarning"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	kind, err := authz.ParseKind(in.Kind)
	if err != nil {
		kind = authz.KindUnknown // scored like a command
	}
	a := e.scorer.Score(risk.Input{
		Kind: kind, Description: in.Description, Content: in.Content,
		CommandCritical: in.CommandCritical, CommandWarning: in.CommandWarning,
	})
	return result{
		"band": a.Band().String(), "sideEffect": a.SideEffect().String(), "signals": append([]string{}, a.Signals()...),
		"secrets": a.HasSecrets(), "personal": a.HasPersonal(), "egress": a.Leaves(),
	}, nil
}

func evalPolicy(data json.RawMessage) (result, error) {
	var in struct {
		Required   authz.Capability `json:"required"`
		Held       bool             `json:"held"`
		Band       string           `json:"band"`
		SideEffect string           `json:"sideEffect"`
		Secrets    bool             `json:"secrets"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	// Words that nobody knows become the unknown values, which policy handles.
	band, _ := authz.ParseBand(in.Band)
	side, _ := authz.ParseSideEffect(in.SideEffect)
	v := policy.Decide(policy.Input{Required: in.Required, Held: in.Held, Band: band, SideEffect: side, Secrets: in.Secrets})
	return result{"decision": v.Decision().String(), "firstReason": v.Reasons()[0], "reasons": v.Reasons()}, nil
}

func evalChain(data json.RawMessage) (result, error) {
	in := struct {
		RequestOwner string       `json:"requestOwner"`
		CallOwner    string       `json:"callOwner"`
		Calls        int64        `json:"calls"`
		Bytes        int64        `json:"bytes"`
		Size         int64        `json:"size"`
		Limits       chain.Limits `json:"limits"`
	}{Limits: chain.DefaultLimits()}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	used := chain.Counters{Calls: in.Calls, Bytes: in.Bytes}
	return verdict(chain.Check(in.RequestOwner, chain.Call{Owner: in.CallOwner, Size: in.Size}, used, in.Limits)), nil
}

func evalCapabilities(data json.RawMessage) (result, error) {
	var in struct {
		Owner  string   `json:"owner"`
		Groups []string `json:"groups"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	set := capabilities.Expand(capabilities.NewPrincipal(in.Owner, in.Groups...))
	return result{"count": set.Len(), "holds": append([]authz.Capability{}, slices.Collect(set.All())...)}, nil
}

func evalSigning(data json.RawMessage) (result, error) {
	var in struct {
		Case         string `json:"case"`
		EventHash    string `json:"eventHash"`
		Signature    string `json:"signature"`
		PublicKeyPEM string `json:"publicKeyPEM"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	v, err := signing.ParseVerifier([]byte(in.PublicKeyPEM))
	out := result{"valid": v.Verify(in.EventHash, in.Signature), "kid": v.KeyID()}
	if err != nil {
		out["detail"] = err.Error()
	}
	return out, nil
}

func (e *evaluator) dlp(data json.RawMessage) (result, error) {
	var in struct {
		Op      string          `json:"op"`
		Band    string          `json:"band"`
		Payload string          `json:"payload"`
		Args    json.RawMessage `json:"args"`
		Value   string          `json:"value"`
	}
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	band, _ := authz.ParseBand(in.Band) // an unknown band is searched fully
	payload := dlp.Text(in.Payload)
	if in.Args != nil {
		var err error
		if payload, err = dlp.JSON(in.Args); err != nil {
			return nil, err
		}
	}
	report := e.scanner.Scan(payload, band)
	found := result{"blocked": report.Blocked(), "categories": report.Categories()}
	switch in.Op {
	case "scan", "scanArgs":
		return found, nil
	case "redact", "redactArgs":
		clean := e.scanner.Redact(payload, band)
		found["redacted"], found["rescanClean"] = clean, !e.scanner.Scan(clean, band).Blocked()
		return found, nil
	case "mask":
		return result{"masked": dlp.Mask(in.Value)}, nil
	default:
		return nil, fmt.Errorf("unknown operation %q", in.Op)
	}
}

func (e *evaluator) govern(data json.RawMessage) (result, error) {
	in, err := parseGovern(data)
	if err != nil {
		return nil, err
	}
	envelope, state, err := in.prepare()
	if err != nil {
		return nil, err
	}
	return describe(e.governor.Govern(envelope, state)), nil
}

// auditInput is what all operations on chains take.
type auditInput struct {
	Op           string            `json:"op"`
	Record       json.RawMessage   `json:"record"`
	Lines        []json.RawMessage `json:"lines"`
	Text         string            `json:"text"`
	Owner        string            `json:"owner"`
	PublicKeyPEM string            `json:"publicKeyPEM"`
	Anchor       *struct {
		Owner string     `json:"owner"`
		Count uint64     `json:"count"`
		Head  audit.Hash `json:"head"`
	} `json:"anchor"`
}

func evalAudit(data json.RawMessage) (result, error) {
	var op struct {
		Op string `json:"op"`
	}
	if err := json.Unmarshal(data, &op); err != nil {
		return nil, fmt.Errorf("malformed input: %w", err)
	}
	if strings.HasPrefix(op.Op, "append") {
		return nil, errSession
	}
	var in auditInput
	if err := decodeInput(data, &in); err != nil {
		return nil, err
	}
	switch in.Op {
	case "hash":
		rec, err := audit.ParseRecord(in.Record)
		if err != nil {
			return nil, err
		}
		return result{"canonical": string(rec.AppendCanonical(nil)), "event_hash": rec.Hash()}, nil
	case "verify":
		return in.verify(entriesOf(in.Lines))
	case "verifyRaw":
		return in.verify(audit.Lines(strings.NewReader(in.Text)))
	default:
		return nil, fmt.Errorf("unknown operation %q", in.Op)
	}
}

// entriesOf reads entries that came one by one.
func entriesOf(lines []json.RawMessage) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for _, l := range lines {
			e, err := audit.ParseLine(l)
			if err != nil {
				err = &audit.LineError{Code: audit.CodeShape, Err: err}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (in auditInput) verify(entries iter.Seq2[audit.Entry, error]) (result, error) {
	opts := audit.Options{Owner: in.Owner}
	if a := in.Anchor; a != nil {
		opts.Anchor = &audit.Anchor{Owner: a.Owner, Head: audit.Head{Count: a.Count, Hash: a.Head}}
	}
	if in.PublicKeyPEM != "" {
		v, err := signing.ParseVerifier([]byte(in.PublicKeyPEM))
		if err != nil {
			return nil, err
		}
		opts.Signature = func(e audit.Entry) bool {
			sig, _ := e.Signature()
			return v.Verify(e.Hash().String(), sig)
		}
	}
	res := audit.Verify(entries, opts)
	out := result{
		"ok": res.OK, "records": res.Records, "code": res.Code, "tailPinned": res.TailPinned,
		"owner": res.Owner, "head": res.Head.Hash, "signed": res.Signed,
	}
	if !res.OK {
		out["at"] = res.At
	}
	return out, nil
}
