// Package match finds many regular expressions in one text at the speed of a
// table look-up per two bytes.
//
// A [Set] gives exactly the matches that each expression alone would give with
// FindAll, followed by its check. What it saves is looking where nothing can
// be: every pattern names keywords without which it cannot match, one pass over
// the text finds the places where a keyword may stand, and only there the
// expression runs. The pass looks at three pairs of bytes in a row, which show
// up to six bytes of a keyword, and knows for each pair which groups of keywords
// could have it there. A keyword begins at the first or at the second byte of a
// pair; both cases are in the tables, so the pass may take two bytes at a time.
//
// Cost stays proportional to the text, whatever the text is: a pattern whose
// attempts fail too expensively falls back to one ordinary search.
//
// Letters fold within ASCII only. Go's (?i) would let "s" match U+017F and "k"
// match U+212A, which a byte-wise filter cannot see; callers who need those
// scan the text's NFKC form as well, in which they are plain letters.
package match
