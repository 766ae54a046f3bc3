// Package nsight reads what Nsight Systems recorded, from the SQLite files of
// `nsys export --type sqlite`, and reduces it to a profile of every rank.
//
// A file holds the processes of one `nsys profile`: those of a node, or a
// single one. A process is a rank when it marked steps with NVTX ranges, or,
// where none did, when it had work on a GPU. Of each rank the package takes
//
//   - NVTX ranges, push/pop and start/end, whose names package stagemap knows:
//     steps and stages. The names of ranges in NCCL's own domain are calls of
//     collectives.
//   - API calls that launch, and the work on the GPU, joined by correlation id
//     within the process: kernels, copies, memsets, and CUDA graphs. Kernels
//     that communicate are known by their names.
//
// Times are nanoseconds UTC where the file says when its session began, which
// is good to about a millisecond between hosts; package profile brings clocks
// together by collectives. Without it they count from that beginning.
//
// Tables and columns may be missing, and are in old exports: what cannot be
// done then is said in the notes of the ranks.
//
// Source of the tables: the documentation of Nsight Systems ("Exporter
// Details"), and exports of 2021 to 2026. Cost: one walk of the tables side by
// side, O(n) for n rows that come in up to 64 series of their order, as those of
// several processes do; others SQLite sorts in a second one. Memory is bounded but
// for the strings of a file and NCCL's calls.
package nsight
