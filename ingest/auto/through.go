package auto

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/hangtext"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/trace/input"
)

// maxPipeBytes is how much of a pipe is searched, since it cannot be read twice.
const maxPipeBytes = 16 << 20

// minLogSteps is the number of lines with a step time that make a file of a folder a training log.
const minLogSteps = 3

// lookThrough searches text to its end for training steps and time-out messages, which may follow modules, arguments and
// the start of NCCL. It returns Unknown if there are neither; near is then the closest miss. A file found in a folder
// needs several such lines.
func (r *Reader) lookThrough(src *ingest.Source, named bool) (found Format, near error) {
	from := io.Reader(nil)
	if src.Size() == ingest.UnknownSize {
		head, _ := src.Peek(maxPipeBytes)
		from = strings.NewReader(string(head))
	} else {
		again, err := r.source(src.Name())
		if err != nil {
			return Unknown, err
		}
		defer again.Close()
		from = again
	}
	steps, stopped := r.o.Dialects.Recogniser(), hangtext.Scanner{Rank: -1}
	least, bare := minLogSteps, trainlog.Bare{}
	if named {
		least = 1
	}
	for lines := ingest.NewTerminalLines(from, src.Name(), r.o.Limits); ; {
		line, _, err := lines.NextCut()
		if err != nil {
			break
		}
		n := lines.Pos().Line
		stopped.Line(line, n)
		if bare.Line(line); r.o.Columns != nil && r.o.Columns.Reads(line) {
			return TrainLog, nil
		}
		if steps.Line(line, n); steps.Steps >= least {
			return TrainLog, nil
		}
	}
	if stopped.HasFindings() {
		return HangText, nil
	}
	if ended := stopped.Exits(); named && len(ended) > 0 && steps.Nearest.Lacks < trainlog.LacksStep {
		return Unknown, &AsideError{ended}
	}
	header := headerOf(src)
	if ask := bare.Ask(); ask != "" && header == "" && steps.Nearest.Lacks < trainlog.LacksTime {
		return Unknown, input.Bad(input.ErrFormat, "nearly a table: %s", ask)
	}
	return Unknown, unreadText(&steps.Nearest, header)
}

// isScarce reports whether the beginning of a log has so few lines with a step time that it may be any text.
func (r *Reader) isScarce(src *ingest.Source) bool {
	head, _ := src.Peek(sniffed)
	steps := r.o.Dialects.Recogniser()
	for line := range ingest.TerminalLines(head) {
		steps.Line(line, 1)
	}
	return steps.Steps > 0 && steps.Steps < minLogSteps
}

// hasOtherParts reports whether a log of JSON objects has the parts of each step under names of its own, which add up to the whole: it is
// read as a table, which takes any name.
func (r *Reader) hasOtherParts(src *ingest.Source) bool {
	head, _ := src.Peek(sniffed)
	if !csv.HasPartsOfSteps(head) {
		return false
	}
	steps := r.o.Dialects.Recogniser()
	for line := range ingest.TerminalLines(head) {
		if steps.Line(line, 1); steps.Steps > 0 {
			return !steps.ReadsParts()
		}
	}
	return false
}

// headerOf returns the first line of what is a table, whose first two lines have as many cells; "" of other text.
func headerOf(src *ingest.Source) string {
	head, _ := src.Peek(sniffed)
	first, rest, _ := strings.Cut(string(head), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	for _, comma := range []string{",", ";", "\t"} {
		if n := strings.Count(first, comma); n > 0 && n == strings.Count(second, comma) && !strings.ContainsAny(first, "0123456789[]{}:") && strings.ContainsAny(second, "0123456789") {
			return strings.TrimSpace(first)
		}
	}
	return ""
}

// whatToRecord answers the two usual questions with what to record.
const whatToRecord = "For slow steps: log step, data_time and time of each rank in a line, or use sfstat's recorder. " +
	"For a hang: py-spy dump of each rank into pyspy_RANK.txt, or dumps of PyTorch's Flight Recorder"

// howToDescribe is how a user makes a line readable.
const howToDescribe = "describe the line in a file, for --dialect FILE"

// plainText is of text that is nearly nothing.
const plainText = "text without times of steps"

// unreadText returns the refusal of text: which format it nearly is, and what to record instead.
func unreadText(near *trainlog.Nearest, table string) error {
	if table != "" {
		return input.Bad(input.ErrFormat, "a table without columns that are known: it needs step, rank and a time for each stage, and has %s. %s", cut(table), whatToRecord)
	}
	text := plainText + ", and without messages of a time-out"
	if near.Line > 0 {
		what := map[trainlog.Lack]string{
			trainlog.LacksBoth:         "numbers, as other lines of its form have, and neither a step nor a time under a name that is known: " + howToDescribe,
			trainlog.LacksStep:         "a time, and no number of a step: " + howToDescribe,
			trainlog.LacksTime:         "the number of a step, and no time",
			trainlog.LacksTimeButStamp: "the number of a step, and no time but its stamp: to take steps from stamps, " + howToDescribe + " and say stamps: true",
			trainlog.LacksName:         "the number of a step, and a time under no name that is known: " + howToDescribe,
		}[near.Lacks]
		text = fmt.Sprintf("text that is nearly a training log: line %d, %q, has %s", near.Line, cut(string(near.Text)), what)
	}
	return input.Bad(input.ErrFormat, "%s. %s", text, whatToRecord)
}

// strangers are formats that are known by name and not read, with a sign of each and what to give instead.
var strangers = []struct{ sign, says string }{
	{`-chakra.`, "a Chakra execution trace, which has operators and their order, and no measured times of ranks: give the profiler's trace that it was made with"},
	{`"rf_ids"`, "an execution trace of PyTorch, which has no times: give the profiler's trace (torch.profiler)"},
	{`"device_traces"`, "a memory snapshot of PyTorch, which has no times of steps: give the profiler's trace (torch.profiler)"},
}

// unreadJSON returns the refusal of JSON.
func unreadJSON(head []byte) error {
	for _, s := range strangers {
		if bytes.Contains(head, []byte(s.sign)) {
			return input.Bad(input.ErrFormat, "%s. %s", s.says, whatToRecord)
		}
	}
	return input.Bad(input.ErrFormat, "JSON of no kind that is known: neither a profiler's trace nor packets (\"schema\": \"sfstat.packet/1\"), and no log with a step and a time in each line. %s", whatToRecord)
}

// cut returns the beginning of a line.
func cut(line string) string {
	if r := []rune(line); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return line
}
