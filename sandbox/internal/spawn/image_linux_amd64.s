#include "textflag.h"
#include "go_asm.h"

// func imageCodeAt() uintptr
TEXT ·imageCodeAt(SB), NOSPLIT, $0-8
	LEAQ ·imageCode(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// imageCode is the whole code of an image, copied there and entered by the
// kernel. It uses no stack and no address but those of the table.
//
//	R12 imageArgs   BX instruction
//
// The kernel overwrites AX, CX and R11 in a call and keeps the rest.
//
// func imageCode()
TEXT ·imageCode(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $const_imageArgsAt, R12
	MOVQ imageArgs_first(R12), BX

next:
	CMPQ BX, imageArgs_end(R12)
	JCC  end
	MOVQ (instruction_args+0)(BX), DI
	MOVQ (instruction_args+8)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), DI
	MOVQ (instruction_args+16)(BX), SI
	MOVQ (instruction_args+24)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), SI
	MOVQ (instruction_args+32)(BX), DX
	MOVQ (instruction_args+40)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), DX
	MOVQ (instruction_args+48)(BX), R10
	MOVQ (instruction_args+56)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), R10
	MOVQ (instruction_args+64)(BX), R8
	MOVQ (instruction_args+72)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), R8
	MOVQ (instruction_args+80)(BX), R9
	MOVQ (instruction_args+88)(BX), AX
	TESTQ AX, AX
	JZ   2(PC)
	MOVQ (AX), R9
	MOVQ instruction_op(BX), AX
	CMPQ AX, $const_opStore
	JEQ  store
	CMPQ AX, $const_opEach
	JEQ  each
	CMPQ AX, $const_opGuard
	JEQ  guard

call:
	MOVQ instruction_nr(BX), AX
	SYSCALL
	CMPQ AX, $-4095
	JCC  failed
	CMPQ instruction_op(BX), $const_opFork
	JEQ  forked
	CMPQ instruction_op(BX), $const_opProceed
	JNE  done
	TESTQ AX, AX
	JNZ  done
	MOVQ $const_imageEPIPE, AX
	JMP  judge

failed:
	NEGQ AX
	CMPQ instruction_op(BX), $const_opProceed
	JNE  judge
	CMPQ AX, $const_imageEINTR
	JEQ  call

judge:
	CMPQ AX, instruction_accept(BX)
	JEQ  done
	CMPQ instruction_op(BX), $const_opFork
	JEQ  report
	MOVQ instruction_skip(BX), CX
	TESTQ CX, CX
	JZ   report
	ADDQ CX, BX
	JMP  next

done:
	MOVQ instruction_out(BX), CX
	TESTQ CX, CX
	JZ   advance
	MOVQ AX, (CX)

advance:
	ADDQ $instruction__size, BX
	JMP  next

forked:
	TESTQ AX, AX
	JNZ  done
	ADDQ instruction_skip(BX), BX
	JMP  next

guard:
	MOVQ DI, R13
	MOVQ instruction_out(BX), SI

wait:
	MOVQ $-1, DI
	XORL DX, DX
	XORL R10, R10
	MOVQ $61, AX // SYS_WAIT4
	SYSCALL
	CMPQ AX, R13
	JEQ  ended
	CMPQ AX, $-const_imageEINTR
	JEQ  wait
	CMPQ AX, $-4095
	JCS  wait // another child
	JMP  end

ended:
	// A shell's status: the exit code, or 128 and the signal.
	MOVL (SI), DI
	MOVL DI, CX
	ANDL $0x7f, CX
	JNZ  killed
	SHRL $8, DI
	ANDL $0xff, DI
	JMP  exit

killed:
	LEAL 128(CX), DI

exit:
	MOVQ $231, AX // SYS_EXIT_GROUP
	SYSCALL
	INT  $3

store:
	MOVQ instruction_out(BX), CX
	MOVL DI, (CX)
	JMP  advance

each:
	MOVQ SI, R13
	XORL SI, SI

again:
	MOVQ instruction_nr(BX), AX
	SYSCALL
	CMPQ AX, $-4095
	JCC  advance
	INCQ SI
	CMPQ SI, R13
	JLS  again
	JMP  advance

report:
	// imageArgs.msg: the tag is there, the index and the error follow.
	LEAQ imageArgs_msg(R12), SI
	MOVQ instruction_index(BX), CX
	MOVL CX, 1(SI)
	MOVL AX, 5(SI)
	MOVQ imageArgs_report(R12), DI
	MOVQ $const_FailureSize, DX
	MOVQ $1, AX // SYS_WRITE
	SYSCALL

end:
	MOVQ $const_imageStatus, DI
	MOVQ $231, AX // SYS_EXIT_GROUP
	SYSCALL
	INT  $3
	LONG $const_imageEnd
	LONG $const_imageEnd
