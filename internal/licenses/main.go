// Command licenses writes the licences of everything that is linked into the program: of
// Go itself, and of each module the texts that lie in it and in the folders of the packages
// that are linked.
//
//	go run ./internal/licenses [-o FILE] [-- FLAGS OF GO BUILD]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	out := flag.String("o", "", "write to this file; without it, to standard output")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(out string, flags []string) error {
	all, err := listModules("./cmd/sfstat", flags)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := write(&text, all); err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.Write(text.Bytes())
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o666)
}

// module is one that is linked.
type module struct {
	Path, Version, Dir string
	packages           []string // folders of its packages that are linked
}

// perPackage is what go list says of each package of another module.
const perPackage = `{{with .Module}}{{if not .Main}}{{.Path}}|{{.Version}}|{{.Dir}}|{{$.Dir}}{{end}}{{end}}`

// listModules lists Go and the modules that a program is linked of, but for its own.
func listModules(program string, flags []string) ([]*module, error) {
	list := exec.Command("go", slices.Concat([]string{"list", "-deps", "-f", perPackage}, flags, []string{program})...)
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, err
	}
	home, version, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	all := []*module{{Path: "Go", Version: version, Dir: home}}
	lines := strings.Fields(string(text))
	slices.Sort(lines)
	for _, line := range lines {
		of := strings.Split(line, "|")
		if all[len(all)-1].Path != of[0] {
			all = append(all, &module{Path: of[0], Version: of[1], Dir: of[2]})
		}
		m := all[len(all)-1]
		m.packages = append(m.packages, of[3])
	}
	return all, nil
}

// isLicence is how files of licences are called.
var isLicence = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^notice|^patents$`)

// texts returns the files of licences of a module, by path: in its folder, in those of linked
// packages, between them, and whatever lies in a folder called licenses.
func (m *module) texts() ([]string, error) {
	folders := map[string]bool{m.Dir: true}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var found []string
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		more, err := filepath.Glob(filepath.Join(dir, "licenses", "*.txt"))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
		for _, e := range entries {
			if name := e.Name(); e.Type().IsRegular() && isLicence.MatchString(name) && filepath.Ext(name) != ".go" {
				found = append(found, filepath.Join(dir, name))
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s %s: no licence in %s", m.Path, m.Version, m.Dir)
	}
	slices.Sort(found)
	return found, nil
}

// write writes the texts of all modules.
func write(w io.Writer, all []*module) error {
	fmt.Fprintln(w, "sfstat is linked of these modules, under these licences. Its own is in LICENSE.")
	for _, m := range all {
		found, err := m.texts()
		if err != nil {
			return err
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, m.Dir)), "/")
			if _, err := fmt.Fprintf(w, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.Path, m.Version, name, bytes.TrimSpace(text)); err != nil {
				return err
			}
		}
	}
	return nil
}
