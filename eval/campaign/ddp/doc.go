// Package ddp is the real counterpart of package simulate: it carries a run of a
// campaign out as a PyTorch job of DistributedDataParallel, one process
// for each rank, recorded by sfstat_recorder.
//
// Real are the processes, gradients, buckets and their all-reduce, barriers,
// the recorder, and the machine with its noise. Emulated is the work of the
// stages: the job sleeps in them for as long as the spec draws, so that eight
// ranks fit on two cores. Draws are of the same distributions as the
// simulator's, not the same numbers. Device work is a queue that drains with
// time: forward fills it and does not wait, backward waits.
//
// [Maker] runs jobs on this machine; [Install] gives others, such as a batch system, what they need to
// start it:
//
//	python DIR/job.py --spec spec.json --out PACKETS
//
// with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or Slurm's variables, in
// each process's environment, and the resolved spec as JSON.
package ddp
