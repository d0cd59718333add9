package sidecar

import (
	"context"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/protocol"
)

// describe says what confinement a shell call would get.
func (s *Server) describe(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.DescribeParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	for i, entry := range p.AllowedHosts {
		if _, err := egress.ParseEndpoint(entry); err != nil {
			return nil, protocol.InvalidParams("allowedHosts[%d]: %s", i, err)
		}
	}
	return protocol.SandboxReport{Backend: "none", Enforcement: "none"}, nil
}
