// Package schemas says what a valid frame and a valid payload are.
//
// The rules are the JSON Schema files (draft 2020-12) embedded from the folders
// beside this file. They are the same files that "steerable-sidecar schema dump"
// writes and that hosts generate their types from. A schema's name is its path
// without the suffix, for example "chat/ChatStreamParams"; its $id is that name
// behind a URN that carries the protocol version.
package schemas
