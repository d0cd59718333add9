#include "textflag.h"

// func prlimit(old *Limit) int64
TEXT ·prlimit(SB), NOSPLIT, $0-16
	MOVD $261, R8 // SYS_PRLIMIT64
	MOVD $0, R0   // this process
	MOVD $7, R1   // RLIMIT_NOFILE
	MOVD $0, R2   // no new limit
	MOVD old+0(FP), R3
	SVC
	MOVD R0, ret+8(FP)
	RET
