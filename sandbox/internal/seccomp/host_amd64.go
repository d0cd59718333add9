package seccomp

// Host returns the architecture of this program, and links no other table. ok is
// false for those without one, where no rung that needs a filter works.
func Host() (arch Arch, ok bool) { return amd64(), true }
