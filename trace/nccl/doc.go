// Package nccl is the vocabulary that the readers of NCCL's debug log, of GPU
// traces and of PyTorch's recordings share with the engines: operations, element
// types, reductions, algorithms, protocols, and what names say of them.
//
// The numbers are those that NCCL prints; they are the same from NCCL 2.4 to
// 2.30 and in RCCL (nccl.h, device.h at those tags). The zero of every type
// that NCCL does not number is Unknown.
package nccl
