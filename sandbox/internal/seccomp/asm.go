package seccomp

// Instruction is one BPF instruction in the layout of struct sock_filter
// (linux/filter.h).
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Opcodes of classic BPF that the filter uses (linux/bpf_common.h).
const (
	opLoad    = 0x20 // A = word at offset K
	opEqual   = 0x15 // A == K
	opAtLeast = 0x35 // A >= K
	opSet     = 0x45 // A & K != 0
	opJump    = 0x05 // skip K instructions
	opAnd     = 0x54 // A &= K
	opReturn  = 0x06
)

// Actions of a filter (linux/seccomp.h).
const (
	actKill   = 0x80000000
	actErrno  = 0x00050000
	actNotify = 0x7fc00000
	actAllow  = 0x7fff0000
)

// Errno values a filter answers with; they are the same on every
// architecture this package knows.
const (
	ePerm           = 1
	eNoSys          = 38
	eProtoNoSupport = 93
	eOpNotSupp      = 95
	offNumber       = 0 // of the call's number in struct seccomp_data
	offArch         = 4
	offArgs         = 16
	sizeArg         = 8
	maxRelative     = 255 // a conditional jump holds eight bits
)

// assembler collects instructions. Its code has room for a whole filter, so
// that it does not grow through many sizes of memory.
type assembler struct {
	code []Instruction
}

func (a *assembler) emit(op uint16, k uint32, jt, jf uint8) {
	a.code = append(a.code, Instruction{Code: op, Jt: jt, Jf: jf, K: k})
}

// low loads the low 32 bits of argument i. The kernel reads the arguments
// checked here as 32 bit values, so comparing more would let a caller hide a
// forbidden value behind high bits that the kernel throws away
// (CVE-2019-10063 was of this kind).
func (a *assembler) low(i uint32) { a.emit(opLoad, offArgs+sizeArg*i, 0, 0) }

// high loads the high 32 bits of argument i.
func (a *assembler) high(i uint32) { a.emit(opLoad, offArgs+sizeArg*i+4, 0, 0) }

func (a *assembler) and(mask uint32) { a.emit(opAnd, mask, 0, 0) }
func (a *assembler) ret(act uint32)  { a.emit(opReturn, act, 0, 0) }
func (a *assembler) errno(e uint32)  { a.ret(actErrno | e) }
func (a *assembler) allow()          { a.ret(actAllow) }
func (a *assembler) notify()         { a.ret(actNotify) }

// when runs body if A equals k; body must end in a return.
func (a *assembler) when(k uint32, body func(*assembler)) { a.block(opEqual, k, body) }

// whenAny runs body if A equals one of ks; body must end in a return.
func (a *assembler) whenAny(ks []uint32, body func(*assembler)) {
	for _, k := range ks {
		a.when(k, body)
	}
}

// whenSet runs body if A shares a bit with mask; body must end in a return.
func (a *assembler) whenSet(mask uint32, body func(*assembler)) { a.block(opSet, mask, body) }

// block adds body behind a conditional jump over it.
func (a *assembler) block(op uint16, k uint32, body func(*assembler)) {
	jump := len(a.code)
	a.emit(op, k, 0, 0)
	body(a)
	length := len(a.code) - jump - 1
	if length > maxRelative {
		panic("bug: a filter block is longer than a jump")
	}
	a.code[jump].Jf = uint8(length)
}
