// Package export reads the SQLite files that `nsys export --type sqlite`
// writes, table by table.
//
// NVIDIA declares the tables unstable. They are created when there is
// something to put in them, and columns come and go with the version, so every
// table and column may be absent: its integers are then [Absent], and
// [File.Has] tells.
//
// The file is opened read-only and immutable: nothing is locked or created
// beside it. That is safe only for a file at rest, so a file with a
// write-ahead log or a rollback journal beside it, or one that is shorter than
// its header says, is refused.
//
// What the file claims is not trusted. Views, virtual tables and generated
// columns, which run the file's own code, are not looked at. A value that is
// not of its column's type counts as absent, a text or row has at most 1 MiB,
// and no query yields more rows than the file has room for, so that pages that
// lead in a circle end.
package export
