// Package signals brings the signals of this process into a pipe.
//
// The launcher lives for some milliseconds and waits for two things at once:
// the end of its child, and signals that it has to pass on. Package os/signal
// takes a thread, a goroutine and a round trip between threads for every
// signal, which together is longer than many a command. Here a handler of a
// few instructions writes the signal's number into a pipe, and whoever waits
// reads it from there: no thread is started, and nothing is lost while nobody
// reads.
package signals
