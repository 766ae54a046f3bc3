package opnames

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// widestLabel is how many characters the label of an operator has at most.
const widestLabel = 44

// noise are parts of the names of kernels that tell nothing to a person.
var noise = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "", "at::native::", "", "at::cuda::", "", "c10::", "", "cutlass::", "", "std::", "")

// Label returns the name of an operator for people: without return type, parameters and the namespaces of PyTorch. A name that
// is still long is cut, and a digest of the name distinguishes it.
func Label(name string) string {
	short := noise.Replace(strings.TrimPrefix(name, "void "))
	short = trimParameters(short)
	if utf8.RuneCountInString(short) <= widestLabel {
		return short
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	runes := []rune(short)
	return fmt.Sprintf("%s…%04x", string(runes[:widestLabel-5]), h.Sum32()&0xffff)
}

// trimParameters cuts the parameter list at the end of a name.
func trimParameters(name string) string {
	if !strings.HasSuffix(name, ")") {
		return name
	}
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 && name[i-1] != ' ' { // "Memcpy HtoD (Pinned -> Device)" has no parameters
				return name[:i]
			}
		}
	}
	return name
}
