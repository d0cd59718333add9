package main

import (
	"os"
	"strings"
	"sync"
)

// vault reads secrets out of the environment, once: the variable is unset and
// its text is overwritten where the kernel shows it to others. The values stay
// here, so that a policy that is read again can name them again.
type vault struct {
	mu    sync.Mutex // guards following
	taken map[string]string
}

func newVault() *vault { return &vault{taken: map[string]string{}} }

// take returns the value of name, "" without one.
func (v *vault) take(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if value, ok := v.taken[name]; ok {
		return value
	}
	value := strings.Clone(os.Getenv(name))
	if value == "" {
		return ""
	}
	v.taken[name] = value
	_ = os.Unsetenv(name)
	scrub(name)
	return value
}
