// Package conformance judges programs that claim to speak the sidecar's wire
// protocol. It plays transcripts against any command, over the command's
// standard streams, line by line and byte by byte: it shares no code with our
// own implementation, so that a mistake made on both sides cannot hide.
//
// # Transcripts
//
// A transcript is a txtar file. Its comment says what it proves and where the
// rule comes from. Its sections are:
//
//	-- args --      further arguments for the command, one a line
//	-- env --       further environment of the command, NAME=VALUE a line
//	-- file NAME -- a file that is there before the command starts
//	-- model --     JSON array of replies of a scripted language model
//	-- ignore --    frames that may arrive at any time, one matcher a line
//	-- script --    the session, one step a line
//	-- requests --  JSON array of matchers for what the model was sent
//
// Only the script is required. Blank lines and lines that start with # are
// comments.
//
// # Steps
//
//	> TEXT              send TEXT and a newline, exactly as written
//	>part TEXT          send TEXT without a newline
//	>hex 7b 0a          send these bytes and nothing else
//	< FRAME             the next frame must match
//	<+ FRAME            one or more frames whose <join:…> member adds up
//	<? FRAME            this frame may come before the one on the next line
//	<~LANE FRAME        frames of one lane keep their order, lanes interleave
//	< stderr /REGEXP/   a further line of stderr must match
//	< no stderr /REGEXP/  no line of stderr so far may match
//	! none 200ms        nothing may arrive for this long
//	! stall 200ms       the host does not read stdout for this long
//	! signal TERM       send a signal (TERM or INT)
//	! eof               close the command's stdin
//	! exit 0 within 2s  the command must end with this code, its output read
//	! write NAME TEXT   somebody else replaces a file
//	! file NAME MATCHER the one file of this name, or like this pattern, holds
//	                    this text (a string) or this JSON (anything else)
//	! no file NAME      there is no file of this name or like this pattern
//
// +, ? and a lane can be combined: <~a? FRAME. A step waits for its event as
// long as the player's timeout allows.
//
// A script that sends before it has expected lifecycle.ready is given that step.
// A script without an exit step ends like this: stdin is closed, the command
// may send lifecycle.shutdown and nothing else, and it must exit in time.
//
// A session that mentions files has a directory of its own, which is removed
// afterwards. Names of files are below it, and $DIR stands for its absolute
// path everywhere.
//
// Everywhere, @repeat(N,TEXT) is N copies of TEXT. In lines that are sent, $LLM
// is the base URL of the scripted model and "<id:NAME>" is a captured value.
//
// # Matchers
//
// A frame is JSON. Objects are closed: a member that is not named is a
// mismatch, unless the object has the member "...": "...". An array may end
// with "..." in the same way. Numbers are compared by value, ids byte for
// byte. These strings stand for more than themselves:
//
//	"<any>" "<string>" "<int>" "<number>" "<bool>" "<object>" "<array>"
//	"<absent>"          the member must not be there
//	"<re:REGEXP>"       a string that REGEXP matches
//	"<id:NAME>"         any value the first time, the same value afterwards
//	"<id:NAME:REGEXP>"  the same, and its text must match
//	"<join:TEXT>"       only in <+ steps: the pieces add up to TEXT
//	{"<json>": VALUE}   a string that holds JSON which matches VALUE
//	{"<oneof>": [A, B]} any of these
//
// # The scripted model
//
// The replies are served by a loopback HTTP server as OpenAI chat completions,
// one reply a request; the last one repeats. See [Reply].
//
// # What is always checked
//
// Every line of stdout must be one valid JSON-RPC frame in valid UTF-8 and of at
// most 1 MiB, and no frame may be left over.
package conformance
