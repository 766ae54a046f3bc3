// Package nccllog reads the debug log of NCCL 2.4 to 2.30 and of RCCL: which
// calls a process made, on which communicator, in which order, how NCCL chose to
// run them, and over which hardware.
//
// [Reader] streams records, one or more for each line, in memory that does not
// grow with the input. [Builder] puts the records of one or many files, each
// with one or many processes, together as a [Log]: communicators by process
// and pointer, calls with the tuning line that belongs to them, lines that lost
// their head given back by the communicator that they name.
//
// A head, host:pid:tid [device] NCCL INFO, is looked for anywhere in a line,
// since launchers put prefixes before it. Where two processes wrote
// into one line, each head begins a record. What has a head but no use here is
// counted by what it is about, what has none by line, and what begins like a
// record and cannot be read is [Damaged], with the reason: nothing is dropped
// without a count and an example ([Census]).
//
// Times are as stamped, nanoseconds: since the epoch where the log has epoch
// seconds, else of a clock on the wall whose zone the log does not tell. Stamps
// are of CLOCK_REALTIME, which may step.
package nccllog
