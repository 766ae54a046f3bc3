package auto

import (
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
)

// Held is what a file holds for a verdict, by how it begins.
type Held struct {
	Windows bool // stage times
	More    bool // what is judged together with the windows of its run: operators, device times, dumps, calls
}

// Holds looks at the beginning of a file. One that cannot be read holds nothing.
func Holds(path string, lim ingest.Limits) Held {
	if strings.HasSuffix(path, packet.BesideSuffix) {
		return Held{} // read with its table
	}
	src, err := ingest.Open(path, lim)
	if err != nil {
		return Held{}
	}
	defer src.Close()
	f, _ := identify(src, false, ForVerdict)
	gives := f.row().gives
	return Held{Windows: gives&windows != 0, More: gives&^windows != 0 || f == OperatorMeta}
}
