// Package relay moves bytes between two connections.
//
// A tunnel costs two goroutines and nothing else while it is idle: a direction
// takes a buffer from a pool only once its source is readable, and gives it
// back before it waits again. A direction that carries a lot switches to
// splice(2) on Linux, whose pipes are borrowed in the same way, so that a
// tunnel at rest holds exactly its two descriptors.
//
// Ends are passed on as they are. A FIN becomes a FIN and the other direction
// goes on; a reset becomes a reset, so that a stream that was cut is never
// taken for one that ended. One sweeper bounds silence for all tunnels of an
// [Engine], both of whole tunnels and of half-closed ones.
package relay
