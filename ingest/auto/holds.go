package auto

import (
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
)

// Held is what a file holds for a verdict, by how it begins.
type Held struct {
	Windows  bool // stage times
	More     bool // what is judged together with the windows of its run: operators, device times, dumps, calls
	Readings bool // of monitoring, which is More too
	Plain    bool // packets that are not compressed: what is appended to them can be read alone

	// Unread: its beginning could not be read, which may have passed by now.
	Unread bool

	begins opening // of packets
}

// Run returns the run that packets begin with; "" for all other files.
func (h *Held) Run() string { return h.begins.run }

// Peek returns what a file holds by its beginning. A file that cannot be read holds nothing; its reader reports the
// error.
func Peek(on disk.Disk, path string, lim ingest.Limits) (h Held) {
	var ours error
	defer bug.Contain(path, &ours)
	if strings.HasSuffix(path, packet.SidecarSuffix) {
		return Held{} // read with its table
	}
	src, err := ingest.OpenOn(on, path, lim)
	if err != nil {
		return Held{Unread: ingest.Fails(err)}
	}
	defer src.Close()
	f, err := identify(src, Windows) // which does not look far into text: it may grow, and is looked at again
	gives := f.row().gives
	h = Held{Windows: gives.has(Windows), More: gives.has(everyKind&^Windows) || f == OperatorMeta, Readings: gives == Readings}
	h.Unread = ingest.Fails(err)
	if f == Packets {
		h.begins = openingOf(src)
		h.Plain = src.IsUncompressed()
	}
	return h
}

// Labels returns for each file of packets a label that distinguishes its run from other runs of the same name; "" for
// unique names. Files of one run and one label are read together.
func Labels(files []string, held []Held) []string {
	all := make([]packetFile, len(files))
	for i, path := range files {
		all[i] = packetFile{Stream: packet.Stream{Name: path}, begins: held[i].begins}
	}
	label := make(map[string]string, len(files))
	for _, g := range groupPackets(all) {
		for _, f := range g.files {
			label[f.Name] = g.label
		}
	}
	out := make([]string, len(files))
	for i, path := range files {
		out[i] = label[path]
	}
	return out
}
