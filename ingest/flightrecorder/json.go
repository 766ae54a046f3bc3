package flightrecorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
)

// deepest is how far lists and objects of a dump may be within one another.
const deepest = 32

// scanned reads a dump in JSON into the same values as a pickle. What ends too early is kept
// as far as it goes, and truncated is true.
func (d *document) scanned() (root value, truncated bool, err error) {
	in := json.NewDecoder(bytes.NewReader(d.data))
	in.UseNumber()
	var open []value // lists and objects that have not ended
	for {
		token, err := in.Token()
		at := int(in.InputOffset())
		var wrong *json.SyntaxError
		switch number, _ := token.(json.Number); {
		case errors.As(err, &wrong):
			return value{}, false, d.bad(input.ErrFormat, int(wrong.Offset), "no JSON: %v", err)
		case err != nil || number != "" && at == len(d.data): // the number may go on
			return root, true, nil
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			if open = open[:len(open)-1]; len(open) == 0 {
				return root, false, nil
			}
			continue
		}
		if len(open) > deepest {
			return value{}, false, d.bad(input.ErrTooLarge, at, "lists and objects within one another, more than %d deep", deepest)
		}
		v := d.scalar(token)
		if len(open) == 0 {
			root = v
		} else {
			d.add(open[len(open)-1], v)
		}
		if v.kind == list || v.kind == dict {
			open = append(open, v)
		}
	}
}

// scalar is the value of a token, which is an empty list or dict at the beginning of one.
func (d *document) scalar(token json.Token) value {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return d.container(dict)
		}
		return d.container(list)
	case string:
		return d.written(t)
	case bool:
		if t {
			return value{kind: boolean, x: 1}
		}
		return value{kind: boolean}
	case json.Number:
		if x, err := strconv.ParseInt(string(t), 10, 64); err == nil {
			return value{kind: integer, x: x}
		}
		return value{kind: float}
	}
	return value{}
}
