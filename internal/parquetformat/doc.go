// Package parquetformat is what the readers and writers of Parquet files here
// have in common (Apache parquet-format 2.11): the frame of a file, what its
// footer says, the pages of a column, the protocol of their headers, and the
// encodings whose runs have lengths of their own. Which of it a file may use,
// and whether its counts fit together, is up to each reader.
//
// All of it is for hostile files: nothing is allocated for what an input
// claims, every count is checked against the bytes that are there, and nothing
// is unsafe.
package parquetformat
