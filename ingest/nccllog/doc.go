// Package nccllog reads the debug log of NCCL 2.4 to 2.30 and of RCCL into a
// [comms.Record]: which calls a process made, on which communicator, in which
// order, how NCCL chose to run them, and over which hardware.
//
// [Builder] puts one or many files, each with one or many processes, together:
// communicators by process and pointer, calls with the tuning line that belongs
// to them, lines that lost their head given back by the communicator that they
// name. What begins like a record and cannot be read is counted by reason, with
// an example.
//
// Times are as stamped, nanoseconds: since the epoch where the log has epoch
// seconds, else of a clock on the wall whose zone the log does not tell. Stamps
// are of CLOCK_REALTIME, which may step.
package nccllog

import "github.com/sfstat/sfstat/ingest/nccllog/internal/logline"

// Recognise reports whether text, the beginning of a file, holds a line of NCCL's log: a head,
// the version, or a call that lost its head. Lines of other programs may stand before it.
func Recognise(text []byte) bool { return logline.Recognise(text) }
