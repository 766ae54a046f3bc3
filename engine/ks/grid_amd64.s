#include "textflag.h"

// func raise4AVX2(gap, a *int32, stride int, b *int32, n int)
//
// Y0 … Y3 hold the largest differences so far, eight windows each, of the four
// rows of a; Y4 holds eight counts of b.
TEXT ·raise4AVX2(SB), NOSPLIT, $0-40
	MOVQ  gap+0(FP), DI
	MOVQ  a+8(FP), SI
	MOVQ  stride+16(FP), R8
	MOVQ  b+24(FP), DX
	MOVQ  n+32(FP), CX
	LEAQ  (SI)(R8*4), R9
	LEAQ  (R9)(R8*4), R10
	LEAQ  (R10)(R8*4), R11
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

loop:
	VMOVDQU (DX)(AX*4), Y4
	VPSUBD  (SI)(AX*4), Y4, Y5
	VPSUBD  (R9)(AX*4), Y4, Y6
	VPSUBD  (R10)(AX*4), Y4, Y7
	VPSUBD  (R11)(AX*4), Y4, Y8
	VPABSD  Y5, Y5
	VPABSD  Y6, Y6
	VPABSD  Y7, Y7
	VPABSD  Y8, Y8
	VPMAXSD Y5, Y0, Y0
	VPMAXSD Y6, Y1, Y1
	VPMAXSD Y7, Y2, Y2
	VPMAXSD Y8, Y3, Y3
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     loop

	// Transpose and reduce: X0 becomes the maxima of the four rows.
	VEXTRACTI128 $1, Y0, X4
	VEXTRACTI128 $1, Y1, X5
	VEXTRACTI128 $1, Y2, X6
	VEXTRACTI128 $1, Y3, X7
	VPMAXSD      X4, X0, X0
	VPMAXSD      X5, X1, X1
	VPMAXSD      X6, X2, X2
	VPMAXSD      X7, X3, X3
	VPUNPCKLDQ   X1, X0, X4 // r0.0 r1.0 r0.1 r1.1
	VPUNPCKHDQ   X1, X0, X5 // r0.2 r1.2 r0.3 r1.3
	VPUNPCKLDQ   X3, X2, X6
	VPUNPCKHDQ   X3, X2, X7
	VPMAXSD      X5, X4, X4 // r0 r1 r0 r1
	VPMAXSD      X7, X6, X6 // r2 r3 r2 r3
	VPUNPCKLQDQ  X6, X4, X0 // r0 r1 r2 r3
	VPUNPCKHQDQ  X6, X4, X1
	VPMAXSD      X1, X0, X0
	VPMAXSD      (DI), X0, X0
	VMOVDQU      X0, (DI)
	VZEROUPPER
	RET
