// Package auditlog keeps audit chains on disk: one directory of append-only
// segments per owner, written by any number of processes.
//
//	log, err := auditlog.Open(auditlog.Options{Dir: dir, WritableRoots: roots})
//	receipt, err := log.Append(ctx, auditlog.Record{Fields: outcome.Record(), Durable: true})
//	if err != nil {
//		// Not recorded, so it must not happen.
//	}
//
// Layout, below Options.Dir:
//
//	<first 16 hex digits of SHA-256(owner)>/
//	    000001.jsonl   one entry per line; the next segment goes on where it ends
//	    head.json      where the chain ends: count, fingerprint, signature
//	    lock           held from reading the head to writing behind it
//	    pruned.json    where the chain begins, if old segments were removed
//	    quarantine/    bytes of lines that a crash cut off
//
// One goroutine per [Log] writes. It takes what has gathered while the last
// commit was flushed, up to [Options.MaxBatch] records, and flushes once for
// all of them. Several processes may write one owner: the lock keeps a second
// writer out while a chain is between two states, and each writer first reads,
// and checks, what others have appended since.
//
// A record is acknowledged when it is in the file and, as [Options.Sync] says,
// on the disk. What was acknowledged survives the death of the process at any
// moment. A line that a crash cut off is moved to quarantine before anything
// is written behind it, and a record says so. If a write fails the file is cut
// back; if that fails too, or a flush fails, nobody knows what is on disk, and
// the chain refuses further records.
//
// head.json follows each flushed commit, or under load some of them. It shows that a tail was cut off by
// somebody who did not also rewrite it; a head that was stored elsewhere shows
// it whoever did it. Heads are signed if there is a key. It is replaced without
// a flush of its own, so after a power failure it may lag behind the chain,
// never lead it.
//
// The directory must not be writable for what the log is about: [Open] refuses
// a directory inside a sandbox's writable roots.
package auditlog
