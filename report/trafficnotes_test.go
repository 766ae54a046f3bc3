package report

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// TestCommunicationHasWords: every kind of note and of evidence for a communicator has a sentence of its own.
func TestCommunicationHasWords(t *testing.T) {
	c := &parallel.Communicator{Ops: []parallel.OpUse{{Calls: 1}}}
	texts := map[string]bool{}
	check := func(what, kind, text string) {
		if text == kind || texts[text] || strings.HasSuffix(text, ".") || strings.Contains(text, "%!") || strings.ContainsAny(text, "{}") {
			t.Errorf("%s %s is %q, want a sentence of its own without a full stop", what, kind, text)
		}
		texts[text] = true
	}
	for _, k := range kindsIn(t, "../engine/comm/notes.go", "NoteKind") {
		check("note", k, noteWords(comm.Note{Kind: comm.NoteKind(k)}))
	}
	for _, k := range kindsIn(t, "../engine/comm/parallel/evidence.go", "EvidenceKind") {
		check("evidence", k, communicatorWords(c, parallel.Evidence{Kind: parallel.EvidenceKind(k)}))
	}
}

// kindsIn are the constants of a type of kinds that a file declares.
func kindsIn(t *testing.T, file, of string) (kinds []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	for _, m := range regexp.MustCompile(of+` = "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		kinds = append(kinds, m[1])
	}
	if err != nil || len(kinds) < 5 {
		t.Fatalf("%s has %d kinds, %v", file, len(kinds), err)
	}
	return kinds
}

// Numbers of a note stand where its words have them.
func TestNoteWords(t *testing.T) {
	for name, c := range map[string]struct {
		note comm.Note
		want string
	}{
		"paired":  {comm.Note{Kind: comm.NotePaired, Paired: []int{3, 2, 0, 0, 1}}, "processes of logs and exports were paired: 2 by host and pid, 1 by host and CUDA device"},
		"tied":    {comm.Note{Kind: comm.NoteTied, N: 3, Of: 4}, "calls of 3 of 4 ranks are tied"},
		"sets":    {comm.Note{Kind: comm.NoteDisjoint, Sets: [][]int{{0, 1, 2}, {4, 5}}}, "2 sets of ranks share no communicator, not even over others: 0-2; 4-5. Give"},
		"many":    {comm.Note{Kind: comm.NoteDisjoint, Sets: [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}}, "others: 0-1; 2-3; 4-5; 6-7; …. Give"},
		"layout":  {comm.Note{Kind: comm.NoteLayoutSize, N: 4, Layout: parallel.Layout{TP: 3, CP: 1, DP: 1, PP: 1}}, "a layout of tp=3, cp=1, dp=1, pp=1 has 3 ranks, the logs and exports have 4"},
		"experts": {comm.Note{Kind: comm.NoteLayoutExperts, Layout: parallel.Layout{CP: 2, DP: 2, EP: 3}}, "ep=3 does not divide dp×cp=4"},
		"chosen":  {comm.Note{Kind: comm.NoteRanks, N: 2, Of: 8}, "2 of 8 ranks are shown"},
		"clock":   {comm.Note{Kind: comm.NoteClockUnknown, Source: "node1.sqlite"}, "the clock of node1.sqlite cannot"},
	} {
		if got := noteWords(c.note); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
