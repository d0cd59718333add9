package spawn

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// Slot holds the result of a step for later steps to use.
type Slot uintptr

// Arg is one argument of a system call: a value known beforehand, or the
// content of a slot at the time of the call.
type Arg struct {
	value uintptr
	slot  *Slot
}

// Val is an argument known beforehand.
func Val[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr](v T) Arg {
	return Arg{value: uintptr(v)}
}

// Result is the content of s when the step runs.
func Result(s *Slot) Arg { return Arg{slot: s} }

// kind tells the child's loop what a step is.
type kind uint8

const (
	kindCall     kind = iota // a system call
	kindStore                // copy a slot into 32 bits of memory
	kindEqual                // fail unless a call's result is what a slot holds
	kindFork                 // fork; the child continues in another program
	kindGuard                // reap until the forked child ends, then kill the rest and exit
	kindProceed              // read one byte; end of file means the parent is gone
	kindDefaults             // give signals with a handler their default action
	kindEach                 // a call for every value of its second argument, up to an error
)

// step is one entry of the table.
type step struct {
	kind   kind
	name   string
	nr     uintptr
	args   [6]Arg
	out    *Slot         // where the result goes, or nil
	accept syscall.Errno // this error counts as success
	skip   int           // on any error, skip so many following steps instead of failing
	store  *int32
	child  *Program
	fork   *childArgs // child, prepared by Start
	action *action    // scratch of kindDefaults
}

// Program is a list of system calls. The zero value is an empty program.
// Build it completely before running it; it is not safe for concurrent use.
type Program struct {
	steps  []step
	keep   []any   // what the steps point to, beside
	memory *memory // where their data lies, nil without data
	tag    byte    // of failure messages, 0 is FailureTag
}

// Option adjusts a step.
type Option func(*step)

// Into stores the result in s.
func Into(s *Slot) Option { return func(st *step) { st.out = s } }

// Accept lets one error count as success.
func Accept(errno syscall.Errno) Option { return func(st *step) { st.accept = errno } }

// SkipOnError makes any error jump over the n steps that follow.
func SkipOnError(n int) Option { return func(st *step) { st.skip = n + 1 } }

// add appends a step. Most programs have fewer than what there is room for at
// once; growing through all sizes would touch more memory.
func (p *Program) add(s step) {
	if p.steps == nil {
		const room = 40
		p.steps = make([]step, 0, room)
	}
	p.steps = append(p.steps, s)
}

// Call appends a system call. name appears in error texts.
func (p *Program) Call(name string, nr uintptr, args []Arg, opts ...Option) {
	st := step{kind: kindCall, name: name, nr: nr}
	copy(st.args[:], args)
	for _, opt := range opts {
		opt(&st)
	}
	p.add(st)
}

// Each appends a system call that is made for every value from 0 to last as its
// second argument, or up to the first error, which is ignored.
func (p *Program) Each(name string, nr uintptr, first Arg, last int) {
	p.add(step{kind: kindEach, name: name, nr: nr, args: [6]Arg{first, Val(last)}})
}

// DefaultSignals appends the step that takes away every signal handler. It
// belongs before signals are unblocked.
func (p *Program) DefaultSignals() {
	p.add(step{kind: kindDefaults, name: "reset signal handlers", action: new(action)})
}

// Slot returns a slot that holds v.
func (p *Program) Slot(v int) *Slot { return Place(p, Slot(v)) }

// Store copies the low 32 bits of s to dst, for structures that carry a
// descriptor.
func (p *Program) Store(dst *int32, s *Slot) {
	p.add(step{kind: kindStore, store: dst, args: [6]Arg{Result(s)}})
}

// Equal appends a system call without arguments that must return what s
// holds.
func (p *Program) Equal(name string, nr uintptr, s *Slot) {
	p.add(step{kind: kindEqual, name: name, nr: nr, args: [6]Arg{Result(s)}})
}

// Proceed reads one byte from fd and fails at end of file: the process at the
// other end decides whether this one goes on.
func (p *Program) Proceed(name string, fd Arg, opts ...Option) {
	b := Place(p, [8]byte{})
	st := step{
		kind: kindProceed, name: name, nr: syscall.SYS_READ,
		args: [6]Arg{fd, Val(uintptr(unsafe.Pointer(b))), Val(1)},
	}
	for _, opt := range opts {
		opt(&st)
	}
	p.add(st)
}

// Fork appends a fork whose child runs the program child; its pid goes to s.
func (p *Program) Fork(child *Program, s *Slot) {
	p.keep = append(p.keep, child)
	p.add(step{kind: kindFork, name: "fork", out: s, child: child})
}

// Guard appends the end of a guardian: it waits until the process in child
// ends, then kills and reaps whatever is left and exits with the child's
// status in the shell's form (128+n for signal n). parent is the pid whose
// loss ends everything as well.
//
// Killing is kill(-1, SIGKILL). That is safe only where the kernel limits it
// to this guardian's own processes: as pid 1 of a pid namespace, or in a
// Landlock domain with the signal scope. With contained false nothing but the
// child is waited for. An image has neither contained nor parent.
func (p *Program) Guard(child, parent *Slot, contained bool) {
	st := step{kind: kindGuard, name: "guard", args: [6]Arg{Result(child), Result(parent), Val(0)}}
	if contained {
		st.args[2] = Val(1)
	}
	p.add(st)
}

// Keep keeps v alive as long as the program.
func (p *Program) Keep(v any) { p.keep = append(p.keep, v) }

// String returns a NUL-terminated copy of s as an argument. s must not hold a
// NUL byte; what follows one would be lost silently, so it is cut there and
// callers check before.
func (p *Program) String(s string) Arg {
	return Val(uintptr(unsafe.Pointer(p.text(s))))
}

func (p *Program) text(s string) *byte {
	b, err := syscall.ByteSliceFromString(s)
	if err != nil {
		b = []byte{0}
	}
	return PlaceSlice(p, b)
}

// Strings returns a NULL-terminated vector of strings, as execve wants it.
func (p *Program) Strings(list []string) (Arg, error) {
	ptrs := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return Arg{}, syscall.EINVAL
		}
		ptrs = append(ptrs, p.text(s))
	}
	return Val(uintptr(unsafe.Pointer(PlaceSlice(p, append(ptrs, nil))))), nil
}

// Pointer returns the address of a copy of v as an argument, or that of v if it
// comes from [Place]. Pointers in v must come from there.
func Pointer[T any](p *Program, v *T) Arg {
	return p.pointer(unsafe.Pointer(v), unsafe.Sizeof(*v))
}

func (p *Program) pointer(at unsafe.Pointer, size uintptr) Arg {
	if p.memory == nil || !p.memory.holds(at) {
		at = p.place(at, size)
	}
	return Val(uintptr(at))
}

// StepError is a step that failed.
type StepError struct {
	Step  string
	Errno syscall.Errno
}

// Error names the step and the error.
func (e *StepError) Error() string { return e.Step + ": " + e.Errno.Error() }

// Unwrap returns the errno.
func (e *StepError) Unwrap() error { return e.Errno }

// names lists the steps of p and of the programs it forks, in the numbering
// that failures are reported in.
func (p *Program) names() []string {
	var names []string
	for i := range p.steps {
		names = append(names, p.steps[i].name)
	}
	for i := range p.steps {
		if p.steps[i].child != nil {
			names = append(names, p.steps[i].child.names()...)
		}
	}
	return names
}

// FailureSize is the length of a failure message on the report descriptor.
const FailureSize = 9

// FailureTag is the first byte of a failure message, by which it is told from
// other messages on the same socket.
const FailureTag = 'E'

// Failure decodes a message of a child of p. ok is false if b is none.
func (p *Program) Failure(b []byte) (err *StepError, ok bool) {
	tag := p.tag
	if tag == 0 {
		tag = FailureTag
	}
	if len(b) != FailureSize || b[0] != tag {
		return nil, false
	}
	u32 := func(b []byte) uint32 {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	err = &StepError{Step: "child", Errno: syscall.Errno(u32(b[5:]))}
	if names, i := p.names(), u32(b[1:]); int(i) < len(names) {
		err.Step = names[i]
	}
	return err, true
}

// Run executes p on the calling thread, which must be locked to its
// goroutine. It returns the step that failed; it does not return if the
// program ends in execve and that succeeds. Programs with forks are for Start.
func (p *Program) Run() error {
	at, errno := walk(p.steps)
	runtime.KeepAlive(p)
	if errno != 0 {
		return &StepError{Step: p.steps[at].name, Errno: errno}
	}
	return nil
}
