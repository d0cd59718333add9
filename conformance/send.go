package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxRepeat bounds @repeat: four times the protocol's largest line.
const maxRepeat = 64 << 20

// expand writes the text that is really sent for a sendStep.
func expand(text, modelURL string, ids map[string]string) (string, error) {
	text = strings.ReplaceAll(text, "$LLM", modelURL)
	text, err := expandIDs(text, ids)
	if err != nil {
		return "", err
	}
	return expandRepeats(text)
}

// expandIDs replaces "<id:NAME>", quotes included, by the captured JSON.
func expandIDs(text string, ids map[string]string) (string, error) {
	re, err := regexp.Compile(`"<id:([^">]*)>"`)
	if err != nil {
		return "", fmt.Errorf("bug: %w", err)
	}
	missing := ""
	text = re.ReplaceAllStringFunc(text, func(found string) string {
		name := re.FindStringSubmatch(found)[1]
		value, ok := ids[name]
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", fmt.Errorf("nothing has been captured as %q", missing)
	}
	return text, nil
}

// expandRepeats replaces @repeat(N,TEXT).
func expandRepeats(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "@repeat(")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		call, after, closed := strings.Cut(rest, ")")
		count, what, ok := strings.Cut(call, ",")
		n, err := strconv.Atoi(count)
		if !closed || !ok || err != nil || n < 0 || n*max(1, len(what)) > maxRepeat {
			return "", fmt.Errorf("bad @repeat(%s", clip(rest))
		}
		b.WriteString(strings.Repeat(what, n))
		text = after
	}
}
