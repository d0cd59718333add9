#include "textflag.h"

// func cloneOnStack(nr, first, second uintptr, c *childArgs) int64
TEXT ·cloneOnStack(SB), NOSPLIT|NOFRAME, $0-40
	MOVD nr+0(FP), R8
	MOVD first+8(FP), R0
	MOVD second+16(FP), R1
	MOVD c+24(FP), R10 // the kernel keeps it for the child
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	SVC
	CBZ  R0, child
	MOVD R0, ret+32(FP)
	RET

child:
	// RSP is the new stack now. childMain has Go's register convention: the
	// argument in R0, R28 as it was.
	MOVD $0, R29
	MOVD R10, R0
	MOVD (R10), R10 // childArgs.entry
	BL   (R10)
	BRK
