// Package dlp looks for what must not leave, in the payload that is about to,
// and can rewrite a payload so that it may.
//
//	s := dlp.New(dlp.Options{})
//	payload, err := dlp.JSON(arguments)
//	report := s.Scan(payload, authz.Medium)
//	if report.Blocked() {
//		clean := s.Redact(payload, authz.Medium)
//	}
//
// Fifteen lightweight shapes, named forms of leaks, are always looked for; six
// heavy shapes of personal data only in the bands high and critical. A finding
// blocks the payload and is reported by category, never by content.
//
// A payload is searched as its receiver would read it: strings of JSON decoded,
// each together with the name of its member, and names as well. Three further
// readings defeat simple disguises: the text in Unicode form NFKC without
// invisible characters, one level of encoding (base64 and hexadecimal, also as a
// segment of a path; percent and form encoding; the escapes of strings, since a
// text may be JSON itself), and the strings of one object or array put together.
//
// A redacted payload is clean: masks trigger no pattern, and masking repeats
// until nothing triggers. The mask keeps the first four and the last two
// characters of a value of more than six. That shows six of seven; set
// [Options.StrictMask] where this is too much.
package dlp
