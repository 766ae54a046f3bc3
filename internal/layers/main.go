// Command layers checks that imports point one way, and that what is pure
// reaches no input or output, directly or through others.
//
// It reads `go list -deps` for the module in the current folder, prints the
// layers, and a line for every import that breaks a rule. CONTRIBUTING.md says what each layer is for.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const module = "github.com/sfstat/sfstat"

//go:embed rules.yaml
var rulesText []byte

// house is what rules.yaml says.
var house = func() (h struct {
	Layers                               []string
	Rules                                []rule
	Everywhere, Impure, Harmless, Banned []string
	Libraries                            map[string][]string // and the folders that may use them
}) {
	d := yaml.NewDecoder(bytes.NewReader(rulesText))
	d.KnownFields(true)
	if err := d.Decode(&h); err != nil {
		panic(err)
	}
	return h
}()

// rule says what packages under a folder may import of ours.
type rule struct {
	Of       string
	May, Not []string
	Pure     bool
}

// pkg is what `go list` tells of a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Standard   bool // of the standard library
}

// ours returns where a package of the module lies; ok is false for any other.
func ours(path string) (folder string, ok bool) {
	return strings.CutPrefix(path, module+"/")
}

func main() {
	pkgs, err := list()
	if err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(house.Layers, "\n"))
	for _, r := range house.Rules {
		if strings.HasPrefix(r.Of, "engine/") {
			fmt.Printf("%s: %s\n", r.Of, strings.Join(r.May, ", "))
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

// layerOf returns the place of a folder among the layers, −1 if it is in none.
func layerOf(folder string) int {
	best := -1
	for i, l := range house.Layers {
		if liesIn(folder, l) && (best < 0 || len(l) > len(house.Layers[best])) {
			best = i
		}
	}
	return best
}

// list returns the packages of the module in the current folder and all that they import, with
// the files that a build with NVML takes. Further flags go to `go list`.
func list(flags ...string) ([]pkg, error) {
	cmd := exec.Command("go", slices.Concat([]string{"list", "-e", "-deps", "-tags=nvml", "-json=ImportPath,Name,Imports,Standard"}, flags, []string{"./..."})...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=1"), os.Stderr
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
		folder, mine := ours(p.ImportPath)
		if !mine {
			continue
		}
		if slices.Contains(house.Banned, p.Name) {
			say("%s: the package name %s says nothing about what is in it", folder, p.Name)
		}
		i := slices.IndexFunc(house.Rules, func(r rule) bool { return liesIn(folder, r.Of) })
		if i < 0 || layerOf(folder) < 0 {
			say("%s: no layer is set for this folder: add it to internal/layers", folder)
			continue
		}
		for _, imported := range p.Imports {
			if why := house.Rules[i].refuses(folder, imported); why != "" {
				say("%s imports %s: %s", folder, imported, why)
			} else if other, mine := ours(imported); mine && layerOf(other) < layerOf(folder) {
				say("%s imports %s: %s is above %s", folder, imported, house.Layers[layerOf(other)], house.Layers[layerOf(folder)])
			}
		}
		if house.Rules[i].Pure {
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
			if queue[0] != p && slices.Contains(house.Impure, path) && !slices.Contains(house.Harmless, queue[0].ImportPath) {
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

// refuses names why a package in folder must not import another, or nothing.
func (r rule) refuses(folder, imported string) string {
	target, isOurs := ours(imported)
	if !isOurs {
		if r.Pure && slices.Contains(house.Impure, imported) {
			return "engines and the data model are pure"
		}
		for library, homes := range house.Libraries {
			atHome := slices.ContainsFunc(homes, func(home string) bool { return liesIn(folder, home) })
			if liesIn(imported, library) && !atHome {
				return "only " + strings.Join(append(slices.Clone(homes), "tests"), ", ") + " may use this library"
			}
		}
		return ""
	}
	if owner, _, ok := strings.Cut(target, "/internal/"); ok && liesIn(folder, owner) {
		return ""
	}
	if slices.ContainsFunc(r.Not, func(f string) bool { return liesIn(target, f) }) {
		return r.Of + " decides nothing, and words what others decided"
	}
	if slices.ContainsFunc(house.Everywhere, func(f string) bool { return liesIn(target, f) }) {
		return ""
	}
	for _, layer := range r.May {
		if liesIn(target, layer) && !liesIn(target, "cmd") {
			return ""
		}
	}
	if len(r.May) == 0 {
		return r.Of + " imports nothing of ours"
	}
	return r.Of + " may import " + strings.Join(r.May, ", ")
}

// liesIn reports whether path is folder or lies in it; everything lies in "".
func liesIn(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}
