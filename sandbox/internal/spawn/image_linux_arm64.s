#include "textflag.h"
#include "go_asm.h"

// func imageCodeAt() uintptr
TEXT ·imageCodeAt(SB), NOSPLIT, $0-8
	MOVD $·imageCode(SB), R0
	MOVD R0, ret+0(FP)
	RET

// imageCode is the whole code of an image, copied there and entered by the
// kernel. It uses no stack and no address but those of the table.
//
//	R19 imageArgs   R20 instruction   R21 end   R22 first argument
//
// The kernel overwrites R0 in a call and keeps the rest.
//
// func imageCode()
TEXT ·imageCode(SB), NOSPLIT|NOFRAME, $0-0
	// In two parts: a larger constant would be loaded from behind the code.
	MOVD $const_imageBase, R19
	ADD  $const_imageData, R19
	MOVD imageArgs_first(R19), R20
	MOVD imageArgs_end(R19), R21

next:
	CMP  R21, R20
	BHS  end
	MOVD (instruction_args+0)(R20), R22
	MOVD (instruction_args+8)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R22
	MOVD (instruction_args+16)(R20), R1
	MOVD (instruction_args+24)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R1
	MOVD (instruction_args+32)(R20), R2
	MOVD (instruction_args+40)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R2
	MOVD (instruction_args+48)(R20), R3
	MOVD (instruction_args+56)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R3
	MOVD (instruction_args+64)(R20), R4
	MOVD (instruction_args+72)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R4
	MOVD (instruction_args+80)(R20), R5
	MOVD (instruction_args+88)(R20), R9
	CBZ  R9, 2(PC)
	MOVD (R9), R5
	MOVD instruction_op(R20), R10
	MOVD instruction_nr(R20), R8
	CMP  $const_opStore, R10
	BEQ  store
	CMP  $const_opEach, R10
	BEQ  each
	CMP  $const_opGuard, R10
	BEQ  guard

call:
	MOVD R22, R0
	SVC
	CMN  $4095, R0
	BHS  failed
	CMP  $const_opFork, R10
	BEQ  forked
	CMP  $const_opProceed, R10
	BNE  done
	CBNZ R0, done
	MOVD $const_imageEPIPE, R0
	B    judge

failed:
	NEG  R0, R0
	CMP  $const_opProceed, R10
	BNE  judge
	CMP  $const_imageEINTR, R0
	BEQ  call

judge:
	MOVD instruction_accept(R20), R9
	CMP  R9, R0
	BEQ  done
	CMP  $const_opFork, R10
	BEQ  report
	MOVD instruction_skip(R20), R9
	CBZ  R9, report
	ADD  R9, R20
	B    next

done:
	MOVD instruction_out(R20), R9
	CBZ  R9, advance
	MOVD R0, (R9)

advance:
	ADD  $instruction__size, R20
	B    next

forked:
	CBNZ R0, done
	MOVD instruction_skip(R20), R9
	ADD  R9, R20
	B    next

guard:
	MOVD instruction_out(R20), R24

wait:
	MOVD $-1, R0
	MOVD R24, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $260, R8 // SYS_WAIT4
	SVC
	CMP  R22, R0
	BEQ  ended
	CMN  $const_imageEINTR, R0
	BEQ  wait
	CMN  $4095, R0
	BLO  wait // another child
	B    end

ended:
	// A shell's status: the exit code, or 128 and the signal.
	MOVWU (R24), R0
	AND  $0x7f, R0, R9
	CBNZ R9, killed
	LSR  $8, R0
	AND  $0xff, R0
	B    exit

killed:
	ADD  $128, R9, R0

exit:
	MOVD $94, R8 // SYS_EXIT_GROUP
	SVC
	BRK

store:
	MOVD instruction_out(R20), R9
	MOVW R22, (R9)
	B    advance

each:
	MOVD R1, R23
	MOVD $0, R1

again:
	MOVD R22, R0
	SVC
	CMN  $4095, R0
	BHS  advance
	ADD  $1, R1
	CMP  R23, R1
	BLS  again
	B    advance

report:
	// imageArgs.msg: the tag is there, the index and the error follow.
	ADD  $imageArgs_msg, R19, R1
	MOVD instruction_index(R20), R9
	MOVW R9, 1(R1)
	MOVW R0, 5(R1)
	MOVD imageArgs_report(R19), R0
	MOVD $const_FailureSize, R2
	MOVD $64, R8 // SYS_WRITE
	SVC

end:
	MOVD $const_imageStatus, R0
	MOVD $94, R8 // SYS_EXIT_GROUP
	SVC
	BRK
	WORD $const_imageEnd
	WORD $const_imageEnd
