// Package seatbelt writes profiles for macOS's sandbox-exec.
//
// The text is made on every system, so that golden files test it everywhere;
// only macOS can run it. Rules are evaluated in order and the last match wins,
// except that a deny of a specific operation (file-write-unlink) is not undone
// by a later allow of a class (file-write*).
//
// Seatbelt matches no host names and no addresses but the loopback one: a
// network filter's host is "*" or "localhost". Entries for other hosts
// therefore degrade to their port, and the profile says so (seed 000, "Egress
// allow-list").
package seatbelt
