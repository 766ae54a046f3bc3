package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
	"slices"
)

// Schema is the ordered list of stages of a window. Order is meaning: prefixes
// and the frontier are taken in it.
type Schema struct {
	Stages []string
}

// Hash returns a stable digest of the stage names in order: 16 hexadecimal digits, the same on every machine and in every
// version. Names are length-prefixed, so ["ab","c"] and ["a","bc"] differ.
func (s Schema) Hash() string {
	h := sha256.New()
	var n [8]byte
	for _, name := range s.Stages {
		binary.LittleEndian.PutUint64(n[:], uint64(len(name)))
		h.Write(n[:])
		h.Write([]byte(name))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Equal reports whether both list the same stages in the same order.
func (s Schema) Equal(o Schema) bool { return slices.Equal(s.Stages, o.Stages) }

// Index returns the position of the named stage, or −1.
func (s Schema) Index(name string) int { return slices.Index(s.Stages, name) }

// Groups maps every stage to its semantic group: the stage names with their
// accumulation indices ("data.next_wait@2" belongs to "data.next_wait")
// dropped. names lists the groups in order of first appearance and of[i] is
// the group of stage i.
func (s Schema) Groups() (names []string, of []int) {
	of = make([]int, len(s.Stages))
	for i, stage := range s.Stages {
		base, _ := stagename.Split(stage)
		g := slices.Index(names, base)
		if g < 0 {
			g = len(names)
			names = append(names, base)
		}
		of[i] = g
	}
	return names, of
}

// Limits on what a schema may hold: far above any real one, low enough that a
// hostile file cannot make a reader allocate without end.
const (
	MaxStages    = 4096
	MaxStageName = 512 // bytes
)

// Validate refuses an empty list, empty or over-long names, duplicates, and a
// recorded stage with the name of the derived residual.
func (s Schema) Validate() error {
	if len(s.Stages) == 0 {
		return input.Bad(input.ErrEmpty, "no stages: a schema needs at least one")
	}
	if len(s.Stages) > MaxStages {
		return input.Bad(input.ErrTooLarge, "%d stages, at most %d are read", len(s.Stages), MaxStages)
	}
	seen := make(map[string]bool, len(s.Stages))
	for i, name := range s.Stages {
		switch {
		case name == "":
			return input.Bad(input.ErrEmpty, "stage %d has an empty name", i)
		case len(name) > MaxStageName:
			return input.Bad(input.ErrTooLarge, "stage %d has a name of %d bytes, at most %d are read", i, len(name), MaxStageName)
		case seen[name]:
			return input.Bad(input.ErrDuplicate, "stage %q is listed twice", name)
		case name == stagename.Residual:
			return input.Bad(input.ErrDuplicate, "stage %q is derived from the wall time and cannot be recorded", name)
		}
		seen[name] = true
	}
	return nil
}
