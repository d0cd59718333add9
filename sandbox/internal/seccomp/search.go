package seccomp

// rule is what happens at one system call. Its body starts with the call's
// number in A and ends in a return on every path.
type rule struct {
	nr   uint32
	body func(*assembler)
}

// insert adds a rule to those in order of their numbers. There are about a
// hundred, for which a sorting algorithm is more code than it saves time.
func insert(rules []rule, r rule) []rule {
	at := len(rules)
	for at > 0 && rules[at-1].nr > r.nr {
		at--
	}
	if at > 0 && rules[at-1].nr == r.nr {
		panic("bug: two rules for one system call")
	}
	rules = append(rules, r)
	copy(rules[at+1:], rules[at:])
	rules[at] = r
	return rules
}

// leaf is how many rules are tried one by one.
const leaf = 3

// search adds a binary search of rules in order; a number without a rule is
// allowed. A list would give the same answers and be slower twice: the kernel
// runs a filter for every call that it cannot decide beforehand, and to find
// those it runs the filter once for every number when it is loaded
// (seccomp_cache_prepare in kernel/seccomp.c).
func (a *assembler) search(rules []rule) {
	if len(rules) <= leaf {
		for _, r := range rules {
			a.when(r.nr, r.body)
		}
		a.allow()
		return
	}
	middle := len(rules) / 2
	// A conditional jump is too short for half a filter.
	a.emit(opAtLeast, rules[middle].nr, 0, 1)
	jump := len(a.code)
	a.emit(opJump, 0, 0, 0)
	a.search(rules[:middle])
	a.code[jump].K = uint32(len(a.code) - jump - 1)
	a.search(rules[middle:])
}
