package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// identity names an error by the text at its place, which does not move with lines above it.
type identity struct {
	File string `yaml:"file"`
	Line string `yaml:"line"` // text of the line that it begins in
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// mutant is a file with one error.
type mutant struct {
	identity
	name   string // of a mutant of a list
	number int    // of the line
	within span   // of the function that it is in; of none it is zero
	text   []byte // of the whole file
}

func (m *mutant) folder() string { return filepath.ToSlash(filepath.Dir(m.File)) }

func (m *mutant) String() string {
	s := fmt.Sprintf("%s:%d: %s → %s", m.File, m.number, brief(m.From), brief(m.To))
	if m.name != "" {
		s = m.name + ": " + s
	}
	return s
}

// brief returns a text on one line, shortened.
func brief(s string) string {
	const most = 100
	if s = strings.Join(strings.Fields(s), " "); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if s == "" {
		return "nothing"
	}
	return s
}

// find returns the errors that can be made, by place, in the files of folders whose paths match.
func find(folders []string, only *regexp.Regexp) (places [][]*mutant, err error) {
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") || !only.MatchString(path) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			in, err := findIn(filepath.ToSlash(path), text)
			if err != nil {
				return nil, err
			}
			places = append(places, in...)
		}
	}
	return places, nil
}

// finder collects the errors that can be made in a file.
type finder struct {
	path   string
	text   []byte
	file   *token.File
	within span // of the function that is looked at
	places [][]*mutant
}

func findIn(path string, text []byte) ([][]*mutant, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{path: path, text: text, file: set.File(parsed.FileStart)}
	for _, d := range parsed.Decls {
		f.within = span{}
		if function, ok := d.(*ast.FuncDecl); ok {
			f.within = span{f.file.Line(function.Pos()), f.file.Line(function.End())}
		}
		ast.Inspect(d, f.visit)
	}
	return f.places, nil
}

// change is a part of a file that another text takes the place of.
type change struct {
	from, to token.Pos
	text     string
}

// add notes what a node of the source becomes, which are the errors at one place.
func (f *finder) add(n ast.Node, changes ...change) {
	var list []*mutant
	at, end := f.file.Offset(n.Pos()), f.file.Offset(n.End())
	line := f.file.Line(n.Pos())
	for _, c := range changes {
		from, to := f.file.Offset(c.from), f.file.Offset(c.to)
		text := slices.Concat(f.text[:from], []byte(c.text), f.text[to:])
		id := identity{File: f.path, Line: lineOf(f.text, at), From: string(f.text[at:end]), To: string(text[at : end+len(text)-len(f.text)])}
		list = append(list, &mutant{identity: id, number: line, within: f.within, text: text})
	}
	if len(list) > 0 {
		f.places = append(f.places, list)
	}
}

// lineOf returns the line of a text that a place is in, without the space around it.
func lineOf(text []byte, at int) string {
	from := strings.LastIndexByte(string(text[:at]), '\n') + 1
	line, _, _ := strings.Cut(string(text[from:]), "\n")
	return strings.TrimSpace(line)
}

// visit notes the errors that can be made at a node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.add(n, swap(n.OpPos, n.Op)...)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			f.add(n, change{n.OpPos, n.X.Pos(), ""})
		}
	case *ast.BasicLit:
		f.add(n, scale(n)...)
	case *ast.Ident:
		if other, ok := opposite[n.Name]; ok {
			f.add(n, change{n.Pos(), n.End(), other})
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.add(n, append(swap(n.TokPos, n.Tok), change{n.Pos(), n.End(), ""})...)
		}
	case *ast.IncDecStmt:
		f.add(n, append(swap(n.TokPos, n.Tok), change{n.Pos(), n.End(), ""})...)
	case *ast.BranchStmt:
		f.add(n, swap(n.TokPos, n.Tok)...)
	case *ast.ExprStmt:
		f.add(n, change{n.Pos(), n.End(), ""})
	case *ast.FuncDecl:
		f.returnEarly(n)
	}
	return true
}

// opposite are names that one is written for when the other is meant.
var opposite = map[string]string{"min": "max", "max": "min", "Min": "Max", "Max": "Min", "Ceil": "Floor", "Floor": "Ceil", "Lower": "Upper", "Upper": "Lower"}

var swapped = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC}, token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// swap returns an operator's changes into the others that it may be mistaken for.
func swap(at token.Pos, op token.Token) (out []change) {
	for _, other := range swapped[op] {
		out = append(out, change{at, at + token.Pos(len(op.String())), other.String()})
	}
	return out
}

// scale returns a number's changes: a whole one by one more, one less and twice, one with a fraction by 1.2 and 2 either way.
func scale(n *ast.BasicLit) (out []change) {
	put := func(s string) { out = append(out, change{n.Pos(), n.End(), s}) }
	switch n.Kind {
	case token.INT:
		x, err := strconv.ParseInt(n.Value, 0, 64)
		if err != nil {
			return nil
		}
		put(strconv.FormatInt(x+1, 10))
		if x > 0 {
			put(strconv.FormatInt(x-1, 10))
		}
		if x > 1 {
			put(strconv.FormatInt(2*x, 10))
		}
	case token.FLOAT:
		if x, err := strconv.ParseFloat(n.Value, 64); err != nil || x == 0 {
			return nil
		}
		for _, by := range []string{"*1.2", "/1.2", "*2.0", "/2.0"} {
			put("(" + n.Value + by + ")")
		}
	}
	return out
}

// returnEarly notes a function that returns zero values at once.
func (f *finder) returnEarly(n *ast.FuncDecl) {
	if n.Body == nil || len(n.Body.List) == 0 {
		return
	}
	var zeros []string
	if n.Type.Results != nil {
		for _, r := range n.Type.Results.List {
			of := "*new(" + string(f.text[f.file.Offset(r.Type.Pos()):f.file.Offset(r.Type.End())]) + ")"
			zeros = append(zeros, slices.Repeat([]string{of}, max(1, len(r.Names)))...)
		}
	}
	at := n.Body.Lbrace + 1
	text := slices.Concat(f.text[:f.file.Offset(at)], []byte(" return "+strings.Join(zeros, ", ")+"\n"), f.text[f.file.Offset(at):])
	id := identity{File: f.path, Line: lineOf(f.text, f.file.Offset(n.Pos())), From: "func " + n.Name.Name, To: "return at once"}
	f.places = append(f.places, []*mutant{{identity: id, number: f.file.Line(n.Pos()), within: f.within, text: text}})
}
