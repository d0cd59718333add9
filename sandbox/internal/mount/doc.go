// Package mount lays out the file system that a confined command sees.
//
// A [Plan] is the one description from which both namespace rungs are built:
// [Plan.BwrapArgs] words it for the bwrap program and [Plan.Append] for the
// launcher's own child. What a command can write is what the plan binds
// writable; everything else lies under a read-only mount, which also answers
// chmod, chown, utime and setxattr, the calls Landlock has no right for.
package mount
