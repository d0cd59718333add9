package sidecar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

func (s *Server) toolList(context.Context, *protocol.Request) (any, error) {
	return s.router.Descriptors(), nil
}

// toolInvoke runs an in-process tool for the host, through the same chain as a
// model's call.
func (s *Server) toolInvoke(ctx context.Context, req *protocol.Request) (any, error) {
	var p protocol.ToolInvokeParams
	if err := decode(bytes.Clone(req.Params), &p); err != nil {
		return nil, err
	}
	if p.Name == "" {
		return nil, protocol.InvalidParams("name is required")
	}
	tool, ok := s.router.Lookup(p.Name)
	if ok && tool.Destructive && !p.ConsentGranted {
		return nil, &protocol.Error{
			Code: protocol.CodePolicyDenied, Kind: protocol.KindPolicyDenied,
			Message: "tool '" + p.Name + "' is destructive and needs consentGranted",
		}
	}
	arguments := present(p.Arguments)
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	turn := &executors.Turn{Context: present(p.Context)}
	spec, err := s.plainSpec(s.router.Catalog(), turn)
	if err != nil {
		return nil, err
	}
	call := &executors.Call{
		ToolCall: protocol.ToolCall{ID: cmp.Or(p.ID, newID("call_")), Name: p.Name, Arguments: arguments},
		Turn:     turn,
	}
	return protocol.Deferred(func(context.Context) (any, error) {
		result, err := s.chain(ctx, s.router, spec, s.authorization(&spec.layers)).Execute(ctx, call)
		if err != nil {
			return nil, &protocol.Error{Code: protocol.CodeToolFailed, Kind: protocol.KindToolFailed, Message: err.Error()}
		}
		if result.Error == executors.ErrorPolicyDenied {
			return nil, policyDenied(result)
		}
		if short := s.spill.Shorten(result); short != nil {
			return short, nil
		}
		return result, nil
	}), nil
}

// policyDenied turns the refusal of a policy into the error that hosts know it
// by.
func policyDenied(result *protocol.ToolResult) error {
	var data struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(result.Data, &data) // made by us; without a message the code says enough
	return &protocol.Error{
		Code: protocol.CodePolicyDenied, Kind: protocol.KindPolicyDenied,
		Message: cmp.Or(data.Message, result.Error), Data: result.Data,
	}
}
