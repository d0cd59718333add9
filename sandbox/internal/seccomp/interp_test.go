package seccomp

import (
	"encoding/binary"
	"fmt"
)

// call is one system call as a filter sees it.
type call struct {
	arch Arch
	nr   uint32
	args [6]uint64
}

// data lays the call out as struct seccomp_data.
func (c call) data() []byte {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint32(b, c.nr)
	binary.LittleEndian.PutUint32(b[4:], c.arch.Audit)
	for i, a := range c.args {
		binary.LittleEndian.PutUint64(b[16+8*i:], a)
	}
	return b
}

// interpret runs prog on data as the kernel would (net/core/filter.c) and
// returns the action. Anything the kernel's checker would refuse is an error.
func interpret(prog []Instruction, data []byte) (uint32, error) {
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		in := prog[pc]
		jump := func(taken bool) {
			if taken {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case opLoad:
			if in.K%4 != 0 || int(in.K)+4 > len(data) {
				return 0, fmt.Errorf("pc %d: load at %d", pc, in.K)
			}
			a = binary.LittleEndian.Uint32(data[in.K:])
		case opEqual:
			jump(a == in.K)
		case opAtLeast:
			jump(a >= in.K)
		case opSet:
			jump(a&in.K != 0)
		case opJump:
			pc += int(in.K)
		case opAnd:
			a &= in.K
		case opReturn:
			return in.K, nil
		default:
			return 0, fmt.Errorf("pc %d: opcode %#x", pc, in.Code)
		}
	}
	return 0, fmt.Errorf("fell off the end")
}
