// Package egress says which URLs and addresses may not be reached.
//
//	v := egress.CheckURL("http://169.254.169.254/latest/meta-data/")
//	v.Reason() // REASON_LINK_LOCAL
//
// A URL passes if its scheme is http or https, its host means one thing to
// every parser, the name is none that leads inside, and a literal address lies
// outside ten ranges that are private by standard and outside everything else
// that is not public. Ambiguous spellings are refused before anybody resolves
// them: "127.1", "0x7f.1" and "2130706433" are addresses to some programs and
// names to others.
//
// A name that passes can still resolve to a private address. Whoever connects
// checks every answer with [CheckResolved], and again the address that is
// dialled with [CheckAddr].
package egress
