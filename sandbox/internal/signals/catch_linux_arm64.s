#include "textflag.h"

// func handlers() (handler, restorer uintptr)
TEXT ·handlers(SB), NOSPLIT, $0-16
	MOVD $·caught(SB), R0
	MOVD R0, handler+0(FP)
	MOVD ZR, restorer+8(FP) // the kernel returns through its vDSO
	RET

// caught is the handler, in the kernel's convention: the number in R0, a
// pointer to a siginfo_t, which starts with the number, in R1, and where to
// return to in R30. A full pipe loses the number: there are thousands in it to
// be read.
//
// func caught()
TEXT ·caught(SB), NOSPLIT|NOFRAME, $0-0
	MOVW ·pipe(SB), R0
	MOVD $4, R2
	MOVD $64, R8 // SYS_WRITE
	SVC
	RET
