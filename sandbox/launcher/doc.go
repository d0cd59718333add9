// Package launcher is the program that stands between a host's shell and a
// confined command.
//
//	launcher ── starts ──▶ guardian or bwrap ──▶ command
//	   │                                            │
//	   │◀────────── control socket ─────────────────┤ ready: listener descriptors
//	   ├─────────── go ─────────────────────────────▶ exec
//	   └─ answers its suspended calls, relays egress, forwards signals, waits
//
// It scrubs the environment, closes descriptors, lays out what the command may
// do, starts it confined by one rung of the ladder, and stays: as supervisor
// of the calls a filter cannot judge, as relay to the one endpoint the command
// may reach, as forwarder of signals. When the command ends, whatever it left
// behind is killed and its status is mirrored (128+n for signal n).
//
// Failures of the launcher itself exit with 125 and one line on standard
// error, "steerable-sandbox: <reason>", before the command has run at all.
// 126 and 127 mean what a shell means by them: the command could not be
// executed, or was not found. It never runs a command less confined than it
// reports.
//
// The package does its work while it initialises (early.go), so that a large
// program which links it can confine commands at nearly the speed of the small
// one in cmd/steerable-sandbox: Go initialises packages in the order of their
// import paths once their imports are done, and this one imports little. It
// must therefore not import encoding/json, net, os/exec or net/url.
package launcher
