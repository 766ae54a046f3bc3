package input

import (
	"slices"

	"github.com/sfstat/sfstat/trace/enum"
)

// NoteKind classifies what is incomplete about a window.
type NoteKind uint8

const (
	NoteUnknown             NoteKind = iota
	NoteMissingRanks                 // some ranks did not report; the window has the others
	NoteGatherFailed                 // a recorder could not gather the window
	NoteStagesChanged                // steps disagree on the stage list
	NoteWorldSizeChanged             // … on the world size
	NoteAccumulationChanged          // … on the accumulation factor
	NoteStepGap                      // step indices are not consecutive
	NoteTruncated                    // the input ended in the middle of a record
	NoteWallMissing                  // some ranks recorded no wall time, so none is used
	NoteTopologyChanged              // a rank changed its role or host
	NoteStepsSkipped                 // steps of an operator trace that do not run the common program
	NoteUnjoined                     // operators that communicate could not be joined into groups
	NoteRecorder                     // what a recorder says that it lost or left out
	NoteUnits                        // times were not in nanoseconds, as the names of their columns say
	NoteUnitDoubt                    // times look as if they were in another unit than was said
	NoteColumnsIgnored               // columns of a table that are no stages by their names
	NoteStepsRepeated                // steps that an earlier window has too are left out
	NoteStagesDiffer                 // ranks disagree on the stage list, and those of the smaller part are left out
	NoteWholeSteps                   // nothing is timed but whole steps
	NoteRanksNumbered                // nothing tells which rank a file is of
	NoteRowsEmpty                    // rows of a table without a value in a stage are left out
	NoteDamaged                      // parts of the input cannot be what was written
	NoteNoEntries                    // the input is well-formed and holds nothing
	NoteStagesSummed                 // a stage is the sum of others: the wall time, or left out
	NoteWired                        // over what ranks reach each other, and by which version
	NoteRecovered                    // messages of a time-out behind which the job went on
)

var noteNames = [...]string{"unknown", "missing_ranks", "gather_failed", "stages_changed", "world_size_changed",
	"accumulation_changed", "step_gap", "truncated", "wall_missing", "topology_changed",
	"steps_skipped", "unjoined", "recorder", "units", "unit_doubt", "columns_ignored", "steps_repeated", "stages_differ", "whole_steps", "ranks_numbered", "rows_empty", "damaged", "no_entries", "stages_summed", "wired", "recovered"}

func (k NoteKind) String() string { return enum.Name(noteNames[:], k) }

// MarshalText writes the name of the kind, as files have it.
func (k NoteKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind of note, the inverse of String; an unknown name gives NoteUnknown.
func (k *NoteKind) UnmarshalText(text []byte) error {
	*k = NoteKind(max(0, slices.Index(noteNames[:], string(text))))
	return nil
}

// Loses reports whether a note of this kind says that an input was not read whole.
func (k NoteKind) Loses() bool {
	return k == NoteTruncated || k == NoteDamaged || k == NoteNoEntries
}

// Note is one incompleteness of a window: what, and a sentence that says it
// with the ranks and steps that it concerns.
type Note struct {
	Kind NoteKind `json:"kind" yaml:"kind"`
	Text string   `json:"text" yaml:"text"`
}
