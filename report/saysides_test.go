package report

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestClaimsHoldBothSides counts which branches of the sentences (say_*.go) the values of claims.txt take, by go test -cover. Each
// sentence must be said of some value, and text that a condition guards must be said of one and left out for another.
// A case of a switch that returns a constant is the meaning of its value and needs none: TestWords has those.
func TestClaimsHoldBothSides(t *testing.T) {
	counts := coverClaims(t)
	files, err := filepath.Glob("say_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of sentences: %v", err)
	}
	for _, name := range files {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &sides{t, fset, counts[name]}
		ast.Inspect(file, s.visit)
	}
}

// coverClaims runs TestClaims and returns how often each block of the files ran.
func coverClaims(t *testing.T) map[string][]covered {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "claims.cover")
	args := []string{"test", "-vet=off", "-covermode=count", "-coverprofile=" + profile, "-run=^TestClaims$", "-count=1"}
	if info, ok := debug.ReadBuildInfo(); ok { // the same flags find the packages below compiled
		for _, s := range info.Settings {
			if s.Key == "-tags" || s.Key == "-gcflags" || s.Key == "-trimpath" {
				args = append(args, s.Key+"="+s.Value)
			}
		}
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string][]covered{}
	for line := range strings.Lines(string(text)) {
		var b covered
		path, rest, _ := strings.Cut(line, ":")
		if n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.begin.line, &b.begin.column, &b.end.line, &b.end.column, &b.statements, &b.count); n == 6 {
			counts[filepath.Base(path)] = append(counts[filepath.Base(path)], b)
		}
	}
	return counts
}

// covered is a block of statements that run one after the other.
type covered struct {
	begin, end        position
	statements, count int
}

type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column <= q.column
}

// sides compares how often branches of a file ran with how often their conditions were asked.
type sides struct {
	*testing.T
	fset   *token.FileSet
	blocks []covered
}

// count returns how often the statement at a position ran, −1 where nothing was counted there.
func (s *sides) count(pos token.Pos) int {
	at := position{s.fset.Position(pos).Line, s.fset.Position(pos).Column}
	best := covered{count: -1}
	for _, b := range s.blocks {
		if b.begin.before(at) && at.before(b.end) && (best.count < 0 || best.begin.before(b.begin)) {
			best = b
		}
	}
	return best.count
}

func (s *sides) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if !meanings(n) && s.count(n.Body.List[0].Pos()) == 0 {
			s.Errorf("no value of %s has %s said", claimsFile, n.Name.Name)
			return false
		}
	case *ast.IfStmt:
		s.compare(n.If, n.Body.List)
		if other, ok := n.Else.(*ast.BlockStmt); ok {
			s.compare(n.If, other.List)
		}
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			if c := c.(*ast.CaseClause); n.Tag == nil || !constant(c) {
				s.compare(n.Switch, c.Body)
			}
		}
	case *ast.RangeStmt:
		if len(n.Body.List) > 0 && s.count(n.Body.List[0].Pos()) == 0 {
			s.Errorf("no value of %s enters the loop at %s", claimsFile, s.fset.Position(n.For))
		}
	}
	return true
}

// compare reports a branch that no value takes, or that all take which reach its condition.
func (s *sides) compare(condition token.Pos, branch []ast.Stmt) {
	if len(branch) == 0 || !slices.ContainsFunc(branch, hasText) {
		return
	}
	asked, taken := s.count(condition), s.count(branch[0].Pos())
	switch at := s.fset.Position(branch[0].Pos()); {
	case taken == 0:
		s.Errorf("no value of %s has %s said", claimsFile, at)
	case taken >= asked:
		s.Errorf("no value of %s leaves %s out", claimsFile, at)
	}
}

// hasText reports whether a statement has text of its own, with a letter beside the verbs of Sprintf.
func hasText(n ast.Stmt) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if x, ok := n.(*ast.BasicLit); ok && x.Kind == token.STRING {
			text, err := strconv.Unquote(x.Value)
			found = found || err != nil || strings.ContainsFunc(verb.ReplaceAllString(text, ""), unicode.IsLetter)
		}
		return !found
	})
	return found
}

var verb = regexp.MustCompile(`%[.0-9]*[a-z]`)

// constant reports whether a case only returns a constant.
func constant(c *ast.CaseClause) bool {
	if len(c.Body) != 1 {
		return false
	}
	r, ok := c.Body[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	switch x := r.Results[0].(type) {
	case *ast.BasicLit:
		return true
	case *ast.CompositeLit:
		return len(x.Elts) > 0
	}
	return false
}

// meanings reports whether a function is but the meanings of a closed set.
func meanings(f *ast.FuncDecl) bool {
	s, ok := f.Body.List[0].(*ast.SwitchStmt)
	return ok && s.Tag != nil && !slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return !constant(c.(*ast.CaseClause)) })
}
