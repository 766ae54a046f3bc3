package logline

import "bytes"

// Recognise reports whether text, the beginning of a file, holds a line of NCCL's log: a head,
// the version, or a call that lost its head. Lines of other programs may stand before it.
func Recognise(text []byte) bool {
	if _, found := nextHead(text, 0); found {
		return true
	}
	for _, mark := range [...]string{"\nNCCL version ", "\nRCCL version "} {
		if bytes.Contains(text, []byte(mark)) || bytes.HasPrefix(text, []byte(mark)[1:]) {
			return true
		}
	}
	return bytes.Contains(text, opCount) && bytes.Contains(text, []byte(" sendbuff ")) && bytes.Contains(text, []byte(" nranks="))
}
