package arrivals

import (
	"fmt"
	"path"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
)

// Line is the line of the user's code from which a call was entered.
type Line struct {
	File     string // as recorded
	Line     int    // number of the line, from 1
	Function string // function that the line is in
	Call     string // library function that the line calls; "": not known
	Phase    Phase
}

// IsZero reports whether the line is not known.
func (l Line) IsZero() bool { return l.File == "" }

// Phase is the part of a training step that a stack is in, as far as names of
// functions tell.
type Phase uint8

const (
	PhaseUnknown Phase = iota
	PhaseData
	PhaseForward
	PhaseBackward
	PhaseOptimizer
)

var phaseNames = [...]string{"unknown", "data", "forward", "backward", "optimizer"}

func (p Phase) String() string { return enum.Name(phaseNames[:], p) }

// Names returns all of them.
func (Phase) Names() []string { return phaseNames[:] }

// String returns the line as people write it: "train.py:66".
func (l Line) String() string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(l.File), l.Line)
}

// lineOf finds in a stack, innermost frame first, the first frame outside of
// PyTorch, the packages installed beside it, and the standard library.
func lineOf(stack []comms.Frame) Line {
	packages := ""
	for _, f := range stack {
		if before, _, ok := strings.Cut(f.File, "/torch/"); ok && before != "" {
			packages = before + "/"
			break
		}
	}
	l := Line{Phase: phaseOf(stack)}
	for i, f := range stack {
		if library(f.File, packages) {
			continue
		}
		l.File, l.Line, l.Function = f.File, f.Line, f.Function
		for j := i - 1; j >= 0 && l.Call == ""; j-- {
			if !wrapping[stack[j].Function] {
				l.Call = strings.TrimLeft(stack[j].Function, "_")
			}
		}
		return l
	}
	return l
}

// library reports whether a file is no user's.
func library(file, packages string) bool {
	if packages != "" && strings.HasPrefix(file, packages) {
		return true
	}
	for _, part := range []string{"site-packages/", "dist-packages/", "/torch/", "lib/python3", "/sfstat_recorder/", "<frozen", "<string>"} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return file == "" || file == "??" || strings.HasPrefix(file, "torch/") || strings.HasPrefix(file, "multiprocessing/") || standing[file]
}

// standing are files of the standard library that a program which stands still is in, as py-spy writes
// them: without the folder that they are installed in.
var standing = map[string]bool{"threading.py": true, "queue.py": true, "selectors.py": true, "socket.py": true, "ssl.py": true, "subprocess.py": true,
	"contextlib.py": true, "concurrent/futures/_base.py": true}

// wrapping are functions that only call another.
var wrapping = map[string]bool{"wrapper": true, "_wrapped_call_impl": true, "_call_impl": true, "decorate_context": true, "inner": true,
	"_fn": true, "__call__": true, "<genexpr>": true, "<listcomp>": true, "<lambda>": true}

// phaseOf goes by the names of functions, the innermost that says something.
func phaseOf(stack []comms.Frame) Phase {
	for _, f := range stack {
		name := strings.ToLower(f.Function)
		switch {
		case strings.Contains(name, "backward"):
			return PhaseBackward
		case strings.Contains(name, "forward"), name == "_call_impl" && strings.Contains(f.File, "nn/modules"):
			return PhaseForward
		case name == "__next__", name == "__iter__", strings.Contains(name, "num_items_in_batch"), strings.Contains(name, "get_batch"),
			strings.HasPrefix(name, "fetch"), strings.Contains(name, "dataloader"), strings.Contains(name, "next_batch"), strings.Contains(name, "next_data"):
			return PhaseData
		case name == "step" && strings.Contains(f.File, "optim"), strings.Contains(name, "clip_grad"), strings.Contains(name, "optimizer_step"):
			return PhaseOptimizer
		}
	}
	return PhaseUnknown
}
