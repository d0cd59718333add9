#include "textflag.h"

// func advise(at, length uintptr) int64
TEXT ·advise(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), DI
	MOVQ length+8(FP), SI
	MOVQ $23, DX // MADV_POPULATE_WRITE
	MOVQ $28, AX // SYS_MADVISE
	SYSCALL
	MOVQ AX, ret+16(FP)
	RET
