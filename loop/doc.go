// Package loop runs one chat turn: it asks the model, runs the tool calls it
// makes, gives it the results, and asks again, until the model answers without
// calls, a limit is reached, somebody cancels or something fails.
//
// A turn needs a provider, an executor and a receiver of events; it knows
// neither frames nor hosts, so it is tested without either. Two rules hold on
// every path:
//
//   - A tool runs only when the model's reply carried an end mark and the call's
//     arguments are one JSON object (package llm and the executors' validation).
//   - Every tool call in the transcript has exactly one answer right behind it:
//     its result, or why there is none. A transcript that breaks this rule makes
//     every later request of a chat fail.
//
// This package may change before version 1.
package loop
