//go:build !unix

package approvals_test

import "errors"

// restrict has no counterpart of resource limits and users here.
func restrict(string) error { return errors.ErrUnsupported }
