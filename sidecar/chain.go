package sidecar

import (
	"time"

	"github.com/steerable-go/sidecar/executors"
)

// chain puts the layers of a tool call together. This is the only place that
// decides their order; outermost first:
//
//   - Validate: a call that cannot run is answered before anybody is asked.
//   - Timeout: bounds the tool's running time.
//
// Inside stands the host's executor or the router.
func chain(inner executors.ToolExecutor, catalog *executors.Catalog, limit time.Duration) executors.ToolExecutor {
	return executors.Chain(inner,
		executors.Validate(catalog),
		executors.Timeout(limit),
	)
}
