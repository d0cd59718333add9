#include "textflag.h"

// func advise(at, length uintptr) int64
TEXT ·advise(SB), NOSPLIT, $0-24
	MOVD at+0(FP), R0
	MOVD length+8(FP), R1
	MOVD $23, R2  // MADV_POPULATE_WRITE
	MOVD $233, R8 // SYS_MADVISE
	SVC
	MOVD R0, ret+16(FP)
	RET
