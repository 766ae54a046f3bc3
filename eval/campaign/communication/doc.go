// Package communication evaluates recordings of a job's communication that lie in a campaign's folder: it asks how
// often calls and kernels are paired right, what counting lines of a log makes of them, and how the volumes compare with
// theory. Its tables are those of the NCCL Trace Profiler (Heidelberg 2026), the published figures beside.
//
// A recording is a folder in [Folder] of the campaign: NCCL's debug logs and exports of Nsight Systems, as
// sfstat comm reads them; model.yaml, what was trained, where volumes are to be compared; truth.csv, which
// kernel ran which call, where that is known.
//
//	precision  pairs that are true of those that were found
//	recall     true pairs that were found, of those whose call and kernel were both recorded
//	F1         2·true found/(found + true)
//
// Bytes are as the log counts them, element count · size; GB are 10⁹ of them.
package communication
