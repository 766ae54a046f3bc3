// Package campaign makes runs whose fault is known, and keeps what they recorded
// in a folder.
//
// A [Spec] lists runs. [Execute] has a [Maker] make those that are not done, and
// keeps the windows of each with where they come from; [Open] gives the folder
// to those who make more of it (package tables). [Simulation] is one Maker, real
// jobs on this machine (package ddp) and on a cluster (package slurm) are others.
package campaign
