//go:build steerable_weaken

package launcher

import (
	"strings"
	"syscall"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// weakened reads STEERABLE_WEAKEN, a list of dimensions separated by commas.
// It exists only in programs built with the tag steerable_weaken, by the test
// that shows that no report claims a protection which is not there.
func weakened(d policy.Dimension) bool {
	for _, entry := range syscall.Environ() {
		names, ok := strings.CutPrefix(entry, "STEERABLE_WEAKEN=")
		if !ok {
			continue
		}
		for _, name := range strings.Split(names, ",") {
			if w, err := policy.ParseDimension(name); err == nil && w == d {
				return true
			}
		}
	}
	return false
}
