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
	VMOVDQU    (DI), Y2
	VMOVDQU    32(DI), Y3
	VPADDQ     (SI), Y2, Y2
	VPADDQ     32(SI), Y3, Y3
	VMOVDQU    Y2, (DI)
	VMOVDQU    Y3, 32(DI)
	VPCMPGTQ   Y0, Y2, Y4
	VPCMPGTQ   Y1, Y3, Y5
	VPBLENDVB  Y4, Y2, Y0, Y0
	VPBLENDVB  Y5, Y3, Y1, Y1
	ADDQ       $64, DI
	ADDQ       $64, SI
	SUBQ       $8, CX
	JGE        eight

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
