#include "textflag.h"

// func addMaxAVX2(p, d *int64, n int) int64
//
// Y0 and Y1 hold the maxima so far of even and odd vectors of four; AVX2 has no
// 64-bit maximum, so each is a comparison and a blend.
TEXT ·addMaxAVX2(SB), NOSPLIT, $0-32
	MOVQ  p+0(FP), DI
	MOVQ  d+8(FP), SI
	MOVQ  n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	SUBQ  $8, CX
	JLT   four

eight:
	VMOVDQU   (DI), Y2
	VMOVDQU   32(DI), Y3
	VPADDQ    (SI), Y2, Y2
	VPADDQ    32(SI), Y3, Y3
	VMOVDQU   Y2, (DI)
	VMOVDQU   Y3, 32(DI)
	VPCMPGTQ  Y0, Y2, Y4
	VPCMPGTQ  Y1, Y3, Y5
	VPBLENDVB Y4, Y2, Y0, Y0
	VPBLENDVB Y5, Y3, Y1, Y1
	ADDQ      $64, DI
	ADDQ      $64, SI
	SUBQ      $8, CX
	JGE       eight

four:
	ADDQ      $8, CX
	JEQ       reduce
	VMOVDQU   (DI), Y2
	VPADDQ    (SI), Y2, Y2
	VMOVDQU   Y2, (DI)
	VPCMPGTQ  Y0, Y2, Y4
	VPBLENDVB Y4, Y2, Y0, Y0

reduce:
	VPCMPGTQ     Y0, Y1, Y4
	VPBLENDVB    Y4, Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPCMPGTQ     X0, X1, X4
	VPBLENDVB    X4, X1, X0, X0
	VMOVQ        X0, AX
	VPEXTRQ      $1, X0, BX
	VZEROUPPER
	CMPQ         BX, AX
	CMOVQGT      BX, AX
	MOVQ         AX, ret+24(FP)
	RET

// func stepMaximaAVX2(step *int64, stages, ranks, columns int, maxima *int64)
//
// Eight columns at a time run through all stages with their prefixes in Y0 and
// Y1; maxima holds, per stage, a vector of four maxima so far.
TEXT ·stepMaximaAVX2(SB), NOSPLIT, $0-40
	MOVQ step+0(FP), SI
	MOVQ stages+8(FP), R8
	MOVQ ranks+16(FP), R9
	MOVQ columns+24(FP), R10
	MOVQ maxima+32(FP), R11
	SHLQ $3, R9

columns:
	MOVQ  SI, AX
	MOVQ  R11, DI
	MOVQ  R8, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

stages:
	VPADDQ    (AX), Y0, Y0
	VPADDQ    32(AX), Y1, Y1
	VMOVDQU   (DI), Y2
	VPCMPGTQ  Y0, Y1, Y3
	VPBLENDVB Y3, Y1, Y0, Y4
	VPCMPGTQ  Y2, Y4, Y3
	VPBLENDVB Y3, Y4, Y2, Y2
	VMOVDQU   Y2, (DI)
	ADDQ      R9, AX
	ADDQ      $32, DI
	DECQ      CX
	JNE       stages

	ADDQ $64, SI
	SUBQ $8, R10
	JNE  columns
	VZEROUPPER
	RET
