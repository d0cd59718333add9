// Package audit is a chain of records in which nothing can be changed, removed,
// swapped or added without being seen.
//
//	genesis: sha256:000…000
//	   │
//	   ▼
//	record 0 { owner, action, capability, decision, risk, sequence: 0, prev_hash: genesis } ──► event_hash A
//	   │
//	   ▼
//	record 1 { …, sequence: 1, prev_hash: A } ──► event_hash B
//
// A record's fingerprint is the SHA-256 of its canonical form: RFC 8785
// restricted to what a record has, that is strings and one unsigned integer,
// keys sorted, no blanks. [Head] is the place where the next record goes;
// [Head.Next] makes it; [Verify] walks a chain and names the first fault.
// Sequence numbers count per owner from zero.
//
// A chain alone cannot show that its newest records were cut off. An [Anchor],
// a head that was stored elsewhere, can: results always say whether the tail
// was pinned by one.
//
// On disk and on the wire an entry is one line of JSON:
//
//	{"event_hash":"sha256:…","record":{…},"meta":{…},"sig":"…","kid":"…","v":1}
//
// Only the record is hashed. It names the digest of "meta" in an eighth field,
// "detail", which is absent when there is no side object, so that records
// without one have the same fingerprint as ever. "v" is the version of the
// line; a later version never re-hashes old records.
//
// The package computes; package auditlog writes the files.
package audit
