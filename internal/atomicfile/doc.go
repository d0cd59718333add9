// Package atomicfile replaces small files so that a reader, another process or
// a crash sees either the old contents or the new, never a mixture, and lets
// processes take turns on a file.
//
// The order of the steps is the whole point: write a new file beside the
// target, flush it, rename it over the target, flush the directory. Without
// the first flush a crash can leave an empty file under the final name;
// without the second the rename itself can be lost.
//
// Locks are advisory and belong to an open file, not to a process: two [Lock]
// calls in one process exclude each other as two processes do. The kernel
// releases them when the holder dies, so a lock can never be left behind.
package atomicfile
