// Package alignment scores the pairing of NCCL calls with kernels on scenarios of
// known truth. It is tests only.
package alignment
