//go:build !steerable_weaken

package launcher

import "github.com/steerable-go/sidecar/sandbox/policy"

// weakened reports whether a protection is switched off for a test. In every
// program that is shipped the answer is no; see weak_test_hook.go.
func weakened(policy.Dimension) bool { return false }
