// Package export reads the SQLite files that `nsys export --type sqlite`
// writes, as typed rows, one at a time.
//
// NVIDIA declares the tables unstable. They are created when there is
// something to put in them, and columns come and go with the version, so every
// table and column but a kernel's times and name may be absent: its fields are
// then [Absent], and [File.Has] tells.
//
// The file is only read: nothing is locked or created beside it. That is safe
// only for a file at rest, so a file with a
// write-ahead log or a rollback journal beside it, or one that is shorter than
// its header says, is refused.
//
// What the file claims is not trusted: package sqlite checks its structure, and a
// value that is not of its column's type counts as absent.
package export
