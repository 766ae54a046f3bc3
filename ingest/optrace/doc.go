// Package optrace reads and writes operator traces: one row per operator
// instance of a hybrid-parallel training job, as the public artifact of the
// OSDI'25 what-if analysis has them, in Parquet or CSV.
//
// Columns, in any order, others are ignored:
//
//	dp_rank   replica                      stage     pipeline stage
//	rank      worker (dp_rank·pp + stage where absent)
//	step      step index                   optype    name of the operator
//	start_ts  start                        duration  duration
//	seq_id    ordinal of the name in its step on its worker, by start
//	mc, gmc   model chunk in the stage, and in the whole model (−1 or absent: none)
//	mb_id     microbatch (−1 or absent: none)
//
// Traces of profilers have more, all of them or none:
//
//	lane      stream of the device       group      number of the collective, −1: none
//	kernel    whole name                 collective what it communicates, "" if nothing
//	bytes     of the collective, or −1   launched_by stage of the windows, "" for none
//
// Times are nanoseconds where they are integers (or Parquet timestamps), and
// seconds where they are fractions; [operator.Trace.Units] says which was found
// and [operator.Trace.Resolution] how fine. Seconds become nanoseconds by
// rounding once: decimal text digit by digit, binary floats as whole seconds
// and a fraction.
//
// A YAML file beside the trace tells the layout: dp_size, pp_size, tp_size,
// dsp_size, vpp_size, world_size, trial_name, resolution_ns. Without one the
// layout is inferred from the columns, and axes that leave no column count as 1.
//
// Operators that communicate are joined into groups by the rules of
// [operator.Trace.Wire]; a trace for which they do not hold is still read, with
// a note.
//
// What is written has these columns, in whole nanoseconds, and is read as it
// was; resolution_ns in the meta file keeps how fine the times of the source
// were. Groups are written of the traces of profilers only, with the ranks and
// notes in the meta file: of others they follow from the rest.
package optrace
