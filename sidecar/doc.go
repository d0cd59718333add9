// Package sidecar is the service: it serves the methods of the protocol to one
// host, keeps the registry of running chat streams, wires a turn together and
// decides the order of ending.
//
// [New] builds a [Server] from [Options], which hold everything it may touch:
// streams, clock, randomness, configuration. [Server.Run] serves until the host
// closes the pipe, asks for a shutdown, or the context ends.
//
// The order in which a tool call passes its layers is written in one place,
// chain.go; the order of ending in one place, shutdown.go.
package sidecar
