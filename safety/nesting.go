package safety

import "strings"

// nestedTooDeep scans for more open brackets and compound commands than the
// parser and the walk, which recurse, should be given. Brackets count wherever
// they stand, quoted or not, because telling the two apart takes the parser.
// Keywords count only outside quotes, and only in a line without here-documents:
// prose and programs are full of them.
func nestedTooDeep(src string) bool {
	if len(src) <= maxNesting {
		return false
	}
	keywords := !strings.Contains(src, "<<")
	depth, words := 0, 0
	var quote byte
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		case '\\':
			if quote != '\'' {
				i++
			}
		case '\'', '"':
			quote = toggleQuote(quote, c)
		case 'i', 'w', 'u', 'f', 'c', 's', 'd', 'e', 't', '!':
			if keywords && quote == 0 {
				n, change := keywordAt(src, i)
				words = max(0, words+change)
				i += n
			}
		}
		if depth > maxNesting || words > maxNesting {
			return true
		}
	}
	return false
}

// toggleQuote is the quote state after the quote character c.
func toggleQuote(state, c byte) byte {
	switch state {
	case 0:
		return c
	case c:
		return 0
	default:
		return state
	}
}

// keywordAt recognises a word that opens (+1) or closes (-1) a compound
// command, and returns how many bytes to skip beyond the first.
func keywordAt(src string, i int) (skip, change int) {
	end := i
	for end < len(src) && (src[end] == '!' || 'a' <= src[end] && src[end] <= 'z') {
		end++
	}
	if i > 0 && strings.IndexByte(" \t\n;&|(){}", src[i-1]) < 0 {
		return end - i - 1, 0
	}
	switch src[i:end] {
	case "if", "while", "until", "for", "case", "select", "time", "coproc":
		return end - i - 1, 1
	case "fi", "done", "esac":
		return end - i - 1, -1
	}
	return end - i - 1, 0
}
