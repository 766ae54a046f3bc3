package nccllog

import (
	"bytes"
	"strings"
)

const (
	maxTopics  = 200 // kinds of messages that are told apart
	maxExample = 200 // bytes of text kept
)

// others is what messages are about once there are maxTopics kinds.
const others = "other messages"

// tally counts by what a message is about.
type tally struct {
	at   map[string]int
	list []Example
}

// add counts a message; text is kept if it is the first.
func (t *tally) add(about []byte, b *Builder, text []byte) {
	i, ok := t.at[string(about)]
	if !ok {
		if t.at == nil {
			t.at = map[string]int{}
		}
		name := string(about)
		if len(t.list) >= maxTopics {
			name = others
			if i, ok = t.at[name]; ok {
				t.list[i].Count++
				return
			}
		}
		i = len(t.list)
		t.at[name] = i
		t.list = append(t.list, b.example(name, text))
	}
	t.list[i].Count++
}

// example keeps the beginning of a text.
func (b *Builder) example(about string, text []byte) Example {
	return Example{About: strings.ToValidUTF8(about, "?"), File: b.file, Line: b.reader.record.Line, Text: clean(text)}
}

func clean(text []byte) string {
	text = bytes.TrimSpace(text[:min(len(text), maxExample)])
	return strings.ToValidUTF8(string(text), "?")
}

// topic is the first two words of a message, without numbers, so that messages of
// one format come together.
func topic(text []byte) []byte {
	text = text[:min(len(text), 60)]
	words, end := 0, 0
	for i, c := range text {
		if c-'0' < 10 || c == '<' || c == '\'' {
			break
		}
		if end = i + 1; c == ' ' || c == ':' {
			if words++; words == 2 {
				break
			}
		}
	}
	return bytes.TrimRight(text[:end], " :([")
}

// count takes a record into the census.
func (b *Builder) count(r *Record) {
	c := &b.log.Census
	c.Records++
	c.Kinds[r.Kind]++
	switch r.Kind {
	case Info:
		b.unused.add(topic(r.Text), b, r.Text)
	case Damaged:
		b.damages.add([]byte(r.Why), b, r.Text)
	case Foreign:
		if c.Foreigner.Count == 0 && len(bytes.TrimSpace(r.Text)) > 0 {
			c.Foreigner = b.example("lines that are not NCCL's", r.Text)
		}
		if c.Foreigner.Line > 0 {
			c.Foreigner.Count++
		}
	}
}
