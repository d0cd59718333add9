// Package schemas says what a valid frame and a valid payload are, and holds
// texts to it.
//
// The rules are the JSON Schema files (draft 2020-12) embedded from the folders
// beside this file. They are the same files that "steerable-sidecar schema dump"
// writes and that hosts generate their types from. A schema's name is its path
// without the suffix, for example "chat/ChatStreamParams"; its $id is that name
// behind a URN that carries the protocol version. [Params], [Result],
// [Notification], [ReverseParams] and [ReverseResult] give the names that belong
// to a method.
//
// What the sidecar sends is described by closed objects, so that a member added
// by mistake is an error of ours and not a surprise for a host. What it receives
// may have unknown members, since newer hosts know more; known members must
// still have the right type. Two exceptions refuse unknown members, because a
// misspelt one would silently weaken a turn: chat/AuthzOptions and
// safety/CommandSafetyPattern.
//
// There are two engines. A table, built from a schema file at its first use,
// checks the grammar of the text and the schema in one pass over the raw bytes
// without allocating. It knows the common keywords; what it does not know is
// left to jsonschema v5, which the tests also use to prove the tables right.
// Nothing is prepared before it is needed: a process that only answers pings
// compiles one schema.
//
// Decoding is not done here. encoding/json matches names without regard to case,
// the schemas match them exactly: whoever decodes checked parameters into a
// struct must not let "Mode" override a checked "mode".
package schemas
