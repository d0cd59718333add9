// Package resolve turns host names into addresses: with the system's
// resolver, one DNS server, a hosts(5) file, or a file before a server.
//
// A and AAAA are asked for separately, so that a server that fails on one of
// them does not hide the other. Nothing is cached and nothing is dialled; the
// caller vets the addresses and dials those very addresses.
package resolve
