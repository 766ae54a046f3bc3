// Package packet reads and writes recorder packets, the JSON Lines format
// "sfstat.packet/1": one line per rank and window.
//
//	{"schema":"sfstat.packet/1","run":"job-42","window":0,"rank":3,"world_size":8,
//	 "host":"n0","local_rank":3,"role":{"dp":3},"stages":["data.next_wait", …],
//	 "first_step":20,"durations_ns":[[…one per stage…], …one per step…],"wall_ns":[…one per step…],
//	 "side":{"model.fwd_loss_cuda_event_ms":{"steps":[…],"ms":[…],"ready":[…]}},
//	 "notes":["rank 3 lost 2 windows before this one: …"],
//	 "data_wait":"consuming","accumulation":1,"gather_ok":true}
//
// Required are schema, run, window, rank, world_size, stages, first_step and
// durations_ns. Without the others: no host, local rank −1, no role, no wall
// time, no side channels, no notes, data_wait "consuming", accumulation 1, gather_ok
// true; null means the same as leaving the key out. Keys come in any order,
// unknown keys are skipped and counted, a key given twice is refused.
// Durations and wall times are whole nanoseconds, written as integers from 0
// to 2⁶³−1; a side channel's value may be null where it is not ready.
//
// # From packets to windows
//
// [Reader] joins the packets of one or many streams into windows and holds no
// more than the windows that are still open:
//
//  1. Every stream is read in its own order, all streams together: the packet
//     that is next comes from the stream that is furthest behind, by run (in
//     order of first appearance, streams by name), window, step and rank.
//  2. A window waits for its ranks. It closes when all of the world have
//     reported the same steps and no stream has more of it at hand.
//  3. A rank that has reported in this run stops holding the window back when
//     it has gone past it: its streams have ended; or it is alone in its stream
//     and has a later window there; or it has delivered [Patience] later ones.
//     A rank that went silent holds windows back until [Silence] later windows
//     are as full as the one that waits. Up to Options.Hold it holds them back
//     until its streams end, and a window waits for those of lower numbers.
//  4. A rank that never reported holds windows back until all streams end, or
//     until half of ingest.Limits.Pending is used by what waits. A stream that
//     is ordered by rank may use all of it; past that the input is refused.
//  5. Windows of a run close in order of their number. A rank that goes back in
//     windows but on in steps was restarted: its windows come after all that
//     were numbered before. What is missing is noted by trace.Join.
//
// A stream that ends in the middle of a line is not refused: jobs are killed
// while they write. The windows of its run that close after that carry a
// input.NoteTruncated.
package packet
