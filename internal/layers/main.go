// Command layers checks that imports point one way, and that what is pure
// reaches no input or output, directly or through others.
//
// It reads `go list -deps` for the module in the current folder, prints the
// layers, and a line for every import that breaks a rule. CONTRIBUTING.md says what each layer is for.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/sfstat/sfstat"

// layers are the folders from top to bottom: an import goes down or stays. Of
// two folders that one package lies in, the deeper is its layer.
var layers = []string{"cmd", "bench", "fixtures", "eval", "page", "sample", "live", "batch", "report", "batch/findings", "plots", "doctor", "diagnose", "ingest/auto", "archive", "ingest", "engine", "internal", "trace", "recorder"}

// rule says what packages under a folder may import of ours, by folder. The
// first rule that matches counts. A package may always import what lies under
// an internal folder of its own.
type rule struct {
	of   string
	may  []string
	not  []string // of these and of everywhere: what decides, where others only word it
	pure bool     // no I/O, flags, logging, processes or databases, whatever it imports
}

var rules = []rule{
	{of: "trace", may: []string{"trace"}, pure: true},
	{of: "engine/monitoring", may: []string{"trace", "engine/peers"}, pure: true},
	{of: "engine/overhead", may: []string{"trace", "engine/bootstrap"}, pure: true},
	{of: "engine/frontier", may: []string{"trace", "engine/frontier"}, pure: true},
	{of: "engine/comm", may: []string{"trace", "engine/clock", "engine/comm", "engine/points", "engine/delay"}, pure: true},
	{of: "engine/points", pure: true},
	{of: "engine/delay", may: []string{"engine/points", "engine/changepoint"}, pure: true},
	{of: "engine", may: []string{"trace", "engine/clock", "engine/points"}, pure: true},
	{of: "ingest/auto", may: []string{"trace", "ingest", "archive", "engine/stages", "internal/parquet"}},
	{of: "ingest/ingesttest", may: []string{"trace", "ingest"}},
	{of: "ingest", may: []string{"trace", "ingest", "internal/parquet", "internal/decimal", "internal/strictyaml"}},
	{of: "archive/calls", may: []string{"trace", "engine"}},
	{of: "archive/partitions", may: []string{"trace", "ingest", "archive", "internal/atomicfile"}},
	{of: "archive", may: []string{"trace", "ingest", "internal/parquet"}},
	{of: "eval/simulate", may: []string{"trace", "eval/simulate", "internal/strictyaml"}},
	{of: "diagnose/evidence", may: []string{"trace/enum"}, pure: true},
	{of: "diagnose/answer", may: []string{"trace/enum", "diagnose/evidence"}, pure: true},
	{of: "diagnose/operators", may: []string{"trace", "engine"}, pure: true},
	{of: "diagnose/opnames", may: []string{"trace", "engine"}, pure: true},
	{of: "diagnose/crosscheck", may: []string{"trace", "engine"}, pure: true},
	{of: "diagnose/runs", may: []string{"trace", "engine", "diagnose", "diagnose/answer", "diagnose/evidence"}, pure: true},
	{of: "diagnose", may: []string{"trace", "engine", "diagnose/answer", "diagnose/evidence", "diagnose/operators", "diagnose/opnames"}, pure: true},
	{of: "batch/findings", may: []string{"trace", "engine", "diagnose"}, pure: true},
	{of: "batch", may: []string{"trace", "engine", "diagnose", "ingest", "batch/findings", "internal"}},
	{of: "live", may: []string{"trace", "diagnose", "ingest", "archive", "report", "internal/atomicfile"}},
	{of: "doctor", pure: true},
	{of: "report/metrics", may: []string{"diagnose", "report"}, pure: true},
	{of: "report", may: []string{"trace", "engine", "diagnose", "batch/findings", "doctor"}, not: []string{"engine/gates", "engine/delay"}, pure: true},
	{of: "page/web", may: []string{"page", "report"}},
	{of: "page/serve", may: []string{"report", "diagnose"}},
	{of: "page", may: []string{"trace", "engine", "diagnose", "report"}, pure: true},
	{of: "plots", may: []string{"trace", "engine", "diagnose", "plots"}},
	{of: "eval/selfcheck", may: []string{"trace", "engine", "diagnose", "eval/simulate"}, pure: true},
	{of: "eval/campaign", may: []string{"trace", "engine", "diagnose", "plots", "ingest", "archive", "eval/campaign", "eval/simulate", "recorder", "internal"}},
	{of: "recorder"},
	{of: "sample", may: []string{"internal"}},
	{of: "eval/accuracy", may: []string{""}},
	{of: "eval/links", may: []string{""}},
	{of: "bench", may: []string{""}},
	{of: "fixtures", may: []string{""}},
	{of: "internal/parquet", may: []string{"trace"}},
	{of: "internal/decimal"},
	{of: "internal/strictyaml", may: []string{"trace"}},
	{of: "internal"},
	{of: "cmd", may: []string{""}},
}

// everywhere lists packages that any other may import: they are pure and import
// nothing of ours but one another.
var everywhere = []string{"internal/bug", "internal/robust", "internal/natural", "internal/student", "internal/flatrow", "internal/parallel", "internal/ordered", "internal/glyph", "internal/table", "engine/gates"}

// onlyIn lists libraries that belong to certain folders; nil is none, but tests
// may import everything.
var onlyIn = map[string][]string{
	"github.com/schollz/progressbar/v3":        {"cmd"},
	"golang.org/x/term":                        {"cmd"},
	"github.com/xrash/smetrics":                {"cmd"},
	"gonum.org/v1/plot":                        {"plots"},
	"codeberg.org/go-pdf/fpdf":                 {"plots"},
	"golang.org/x/image":                       {"plots"},
	"github.com/parquet-go/parquet-go":         {"fixtures", "archive", "batch", "ingest/optrace"},
	"modernc.org/sqlite":                       {"fixtures"},
	"github.com/minio/minio-go/v7":             {"internal/objectstore"},
	"github.com/rclone/gofakes3":               nil,
	"github.com/rogpeppe/go-internal":          nil,
	"github.com/google/go-cmp":                 {"ingest/ingesttest"},
	"github.com/santhosh-tekuri/jsonschema/v6": nil,
}

// impure are packages of the standard library that an engine has no use for.
var impure = []string{"os", "io/ioutil", "flag", "log", "log/slog", "net", "net/http", "os/exec", "syscall", "database/sql"}

// harmless are libraries that import something impure and do nothing with it that a caller sees.
var harmless = []string{"golang.org/x/sys/cpu"} // asks the system what the processor can

// bannedNames say nothing about what is inside.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

// pkg is what `go list` tells of a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Standard   bool // of the standard library
}

// folder is where a package of ours lies; ok is false for any other.
func (p *pkg) folder() (folder string, ok bool) { return ours(p.ImportPath) }

func ours(path string) (folder string, ok bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func main() {
	pkgs, err := list()
	if err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(layers, "\n"))
	for _, r := range rules {
		if strings.HasPrefix(r.of, "engine/") {
			fmt.Printf("%s: %s\n", r.of, strings.Join(r.may, ", "))
		}
	}
	wrong := check(pkgs)
	for _, line := range wrong {
		fmt.Println(line)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// layerOf is the place of a folder among the layers, −1 if it is in none.
func layerOf(folder string) int {
	best := -1
	for i, l := range layers {
		if under(folder, l) && (best < 0 || len(l) > len(layers[best])) {
			best = i
		}
	}
	return best
}

func list() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Name,Imports,Standard", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs, nil
		}
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}

// check returns a line for every import, name or folder that breaks the rules.
func check(pkgs []pkg) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	at := make(map[string]*pkg, len(pkgs))
	for i := range pkgs {
		at[pkgs[i].ImportPath] = &pkgs[i]
	}
	for i := range pkgs {
		p := &pkgs[i]
		folder, mine := p.folder()
		if !mine {
			continue
		}
		if slices.Contains(bannedNames, p.Name) {
			say("%s: the package name %s says nothing about what is in it", folder, p.Name)
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return under(folder, r.of) })
		if i < 0 || layerOf(folder) < 0 {
			say("%s: no layer is set for this folder: add it to internal/layers", folder)
			continue
		}
		for _, imported := range p.Imports {
			if why := rules[i].refuses(folder, imported); why != "" {
				say("%s imports %s: %s", folder, imported, why)
			} else if other, mine := ours(imported); mine && layerOf(other) < layerOf(folder) {
				say("%s imports %s: %s is above %s", folder, imported, layers[layerOf(other)], layers[layerOf(folder)])
			}
		}
		if rules[i].pure {
			for _, by := range impureThrough(p, at) {
				say("%s reaches %s: what is pure has no use for it", folder, by)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// impureThrough lists what p reaches that is impure through packages that are not of the standard library, each with the one that
// imports it.
func impureThrough(p *pkg, at map[string]*pkg) (found []string) {
	seen := map[string]bool{p.ImportPath: true}
	for queue := []*pkg{p}; len(queue) > 0; queue = queue[1:] {
		for _, path := range queue[0].Imports {
			if queue[0] != p && slices.Contains(impure, path) && !slices.Contains(harmless, queue[0].ImportPath) {
				found = append(found, path+" through "+queue[0].ImportPath)
			}
			if next := at[path]; next != nil && !next.Standard && !seen[path] {
				seen[path] = true
				queue = append(queue, next)
			}
		}
	}
	return found
}

// refuses says why a package in folder must not import another, or nothing.
func (r rule) refuses(folder, imported string) string {
	target, isOurs := ours(imported)
	if !isOurs {
		if r.pure && slices.Contains(impure, imported) {
			return "engines and the data model are pure"
		}
		for library, homes := range onlyIn {
			atHome := slices.ContainsFunc(homes, func(home string) bool { return under(folder, home) })
			if under(imported, library) && !atHome {
				return "only " + strings.Join(append(slices.Clone(homes), "tests"), ", ") + " may use this library"
			}
		}
		return ""
	}
	if owner, _, ok := strings.Cut(target, "/internal/"); ok && under(folder, owner) {
		return ""
	}
	if slices.ContainsFunc(r.not, func(f string) bool { return under(target, f) }) {
		return r.of + " decides nothing, and words what others decided"
	}
	if slices.ContainsFunc(everywhere, func(f string) bool { return under(target, f) }) {
		return ""
	}
	for _, layer := range r.may {
		if under(target, layer) && !under(target, "cmd") {
			return ""
		}
	}
	if len(r.may) == 0 {
		return r.of + " imports nothing of ours"
	}
	return r.of + " may import " + strings.Join(r.may, ", ")
}

// under reports whether path is folder or lies in it; everything lies in "".
func under(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}
