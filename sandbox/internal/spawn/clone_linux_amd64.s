#include "textflag.h"

// func cloneOnStack(nr, first, second uintptr, c *childArgs) int64
TEXT ·cloneOnStack(SB), NOSPLIT, $0-40
	MOVQ nr+0(FP), AX
	MOVQ first+8(FP), DI
	MOVQ second+16(FP), SI
	MOVQ c+24(FP), R12 // the kernel keeps it for the child
	MOVQ $0, DX
	MOVQ $0, R10
	MOVQ $0, R8
	SYSCALL
	TESTQ AX, AX
	JZ   child
	MOVQ AX, ret+32(FP)
	RET

child:
	// SP is the new stack now. childMain has Go's register convention: the
	// argument in AX, R14 as it was, X15 zero.
	XORL  BP, BP
	XORPS X15, X15
	MOVQ  R12, AX
	MOVQ  0(R12), R12 // childArgs.entry
	CALL  R12
	INT   $3
