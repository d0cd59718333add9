// Package match finds many regular expressions in one text at the speed of a
// table look-up per two bytes.
//
// A [Set] gives exactly the matches that each expression alone would give with
// FindAll, followed by its check. What it saves is looking where nothing can
// be: every pattern names keywords without which it cannot match, one pass over
// the text finds the places where a keyword may stand, and only there the
// expression runs. The pass looks at pairs of bytes. A keyword of three bytes
// or more shows one of two known pairs at every second position, so the pass
// may take two bytes at a time.
//
// Cost stays proportional to the text, whatever the text is: a pattern whose
// attempts fail too expensively falls back to one ordinary search.
//
// Letters fold within ASCII only. Go's (?i) would let "s" match U+017F and "k"
// match U+212A, which a byte-wise filter cannot see; callers who need those
// scan the text's NFKC form as well, in which they are plain letters.
package match
