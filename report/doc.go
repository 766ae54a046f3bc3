// Package report writes verdicts and frontier accounts for people and for
// programs: text for a terminal, Markdown for a page, CSV for a spreadsheet
// and JSON under a published schema (sfstat schema).
//
// Nothing is computed here beyond scaling and formatting: every number is read
// from a [diagnose.Verdict] or a [frontier.Result]. Text and Markdown are two
// renderings of one document (headline, sections, tables of [table.Table]); CSV
// is one flat table of the same cells in base units (nanoseconds, fractions);
// JSON is encoded by the json tags of the values that are published as they are,
// and of structs here where it is more or less than those: its field names are
// a contract and not an accident.
//
// Names and sentences may come from hostile inputs. Text, CSV and Markdown
// show control characters, invalid UTF-8 and invisible characters as visible
// escapes; Markdown quotes names and escapes markup.
package report
