// Package executors carries tool calls out.
//
// A [ToolExecutor] runs one call. Every layer between the model and the tool —
// validation, authorization, safety, approval, confinement, time limits — is a
// [Middleware] around the next executor, and [Chain] puts them together,
// outermost first. The one place that decides the order is sidecar/chain.go.
//
// At the inner end stands one of two executors: [HostToolExecutor] hands the
// call to the host over the reverse channel, [Router] runs a tool inside this
// process.
//
// What a call comes to is a value, [protocol.ToolResult], also for refusals: a
// model must be able to read why it was refused. An error from Execute is for
// what ends the turn ([AbortError]) and for the end of the context.
package executors
