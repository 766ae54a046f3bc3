package sqlite

import (
	"slices"
	"strings"
)

// declare reads the columns from the CREATE TABLE of a table; ok is false where it cannot be read as a
// table with row numbers.
func (t *Table) declare(sql string) (ok bool) {
	words := tokens(sql)
	from := slices.Index(words, "(")
	if from < 0 {
		return false
	}
	stored := 0
	var key []string // of a constraint of the table
	var types []string
	for from++; ; from++ {
		to := from + endOf(words[from:])
		if to == len(words) {
			return false
		}
		if part := words[from:to]; len(part) > 0 {
			if constraint(part[0]) {
				if at := slices.Index(part, "("); has(part, "primary", "key") && at+2 < len(part) && part[at+2] == ")" {
					key = part[at+1 : at+2]
				}
			} else {
				types = t.column(part, &stored, types)
			}
		}
		if from = to; words[from] == ")" {
			break
		}
	}
	if has(words[from:], "without", "rowid") {
		return false
	}
	for i, name := range t.Columns {
		if len(key) == 1 && strings.EqualFold(unquoted(key[0]), name) && types[i] == "integer" {
			t.at[i] = -1
		}
	}
	return len(t.Columns) > 0
}

// column adds a column by its declaration, unless it is computed. stored counts those that rows have.
func (t *Table) column(part []string, stored *int, types []string) []string {
	if part = outside(part); len(part) == 0 {
		return types
	}
	if slices.ContainsFunc(part[1:], func(w string) bool { return strings.EqualFold(w, "as") }) {
		if strings.EqualFold(part[len(part)-1], "stored") {
			*stored++
		}
		return types
	}
	at, kind := *stored, ""
	if *stored++; len(part) > 1 {
		kind = strings.ToLower(part[1])
	}
	if kind == "integer" && has(part[2:], "primary", "key") && !slices.ContainsFunc(part, func(w string) bool { return strings.EqualFold(w, "desc") }) {
		at = -1
	}
	t.Columns, t.at = append(t.Columns, unquoted(part[0])), append(t.at, at)
	return append(types, kind)
}

// outside are the words that stand in no parentheses, as those of expressions do.
func outside(part []string) (out []string) {
	depth := 0
	for _, w := range part {
		switch {
		case w == "(":
			depth++
		case w == ")":
			depth--
		case depth == 0:
			out = append(out, w)
		}
	}
	return out
}

// constraint reports whether a word begins a constraint of the whole table; a column of such a name is quoted.
func constraint(word string) bool {
	return slices.Contains([]string{"constraint", "primary", "unique", "check", "foreign"}, strings.ToLower(word))
}

// has reports whether two words stand one after the other.
func has(words []string, first, second string) bool {
	for i := range len(words) - 1 {
		if strings.EqualFold(words[i], first) && strings.EqualFold(words[i+1], second) {
			return true
		}
	}
	return false
}

// endOf is where the part at hand of a list in parentheses ends: at its comma, or the parenthesis.
func endOf(words []string) int {
	depth := 0
	for i, w := range words {
		switch {
		case depth == 0 && (w == "," || w == ")"):
			return i
		case w == "(":
			depth++
		case w == ")":
			depth--
		}
	}
	return len(words)
}

// closing ends what a character begins: names and texts in quotes.
var closing = map[byte]string{'"': `"`, '\'': `'`, '`': "`", '[': "]"}

// tokens are the words, quoted names and marks of a declaration, without comments.
func tokens(sql string) (out []string) {
	for sql != "" {
		n := 1
		switch c := sql[0]; {
		case strings.HasPrefix(sql, "--"):
			n = past(sql, 2, "\n")
		case strings.HasPrefix(sql, "/*"):
			n = past(sql, 2, "*/")
		case c == ' ' || c >= '\t' && c <= '\r':
		case closing[c] != "":
			n = past(sql, 1, closing[c])
			for c != '[' && n < len(sql) && sql[n] == c { // twice is the character itself
				n = past(sql, n+1, closing[c])
			}
			out = append(out, sql[:n])
		case c == '(' || c == ')' || c == ',':
			out = append(out, sql[:1])
		default:
			if n = strings.IndexAny(sql, " \t\n\v\f\r(),\"'`["); n <= 0 {
				n = len(sql)
			}
			out = append(out, sql[:n])
		}
		sql = sql[n:]
	}
	return out
}

// past is where a text goes on behind a mark that is looked for from a place on.
func past(text string, from int, mark string) int {
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}

// unquoted is a name without its quotes.
func unquoted(word string) string {
	end := closing[word[0]]
	if end == "" || len(word) < 2 || !strings.HasSuffix(word, end) {
		return word
	}
	return strings.ReplaceAll(word[1:len(word)-1], end+end, end)
}
