// Package kineto reads traces of the PyTorch profiler: Chrome trace events as
// JSON, one file for each rank, plain or compressed.
//
// A file is read once, from front to back, in memory that does not depend on
// its size: a scanner over a buffer takes the events one after the other, and
// of each the few members that matter; what they come down to is kept by
// [profiler.Builder]. No document is built, and encoding/json is not used.
//
// What profilers write is not always JSON, and this reader takes it as it is:
// NaN and Infinity, unescaped quotes and backslashes in names, control
// characters, invalid UTF-8, trailing commas, members that are there twice,
// numbers as strings and the other way round, members in any order and of any
// type. An event that cannot be read, or is too large to be held, is left out
// and counted, and so is one of a category that is not known. A file that ends
// too early gives what came before, and says so.
//
// Stamps are microseconds, with or without decimals, and become nanoseconds as
// decimal numbers, never through float64.
package kineto
