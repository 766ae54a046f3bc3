// Package logline reads the lines of NCCL's debug log one by one.
//
// A head, host:pid:tid [device] NCCL INFO, is looked for anywhere in a line,
// since launchers put prefixes before it. Where two processes wrote
// into one line, each head begins a record. What begins like a record and
// cannot be read is [Damaged], with the reason.
package logline
