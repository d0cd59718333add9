package conformance

import (
	"fmt"
	"os"
	"strings"
)

// Baseline names transcripts that a peer is known to fail, and why.
type Baseline map[string]string

// ReadBaseline reads a file with a name and a reason on each line. Blank lines
// and lines that start with # are comments. A name without a reason and a name
// given twice are errors.
func ReadBaseline(path string) (Baseline, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b := Baseline{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			return nil, fmt.Errorf("%s:%d: %s has no reason", path, number, name)
		}
		if _, repeated := b[name]; repeated {
			return nil, fmt.Errorf("%s:%d: %s is named twice", path, number, name)
		}
		b[name] = reason
	}
	return b, nil
}
