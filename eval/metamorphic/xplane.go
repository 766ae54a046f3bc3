package main

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// xplaneProfile is a profile of JAX or TensorFlow. Its fields are edited by their numbers in
// xplane.proto of OpenXLA: XSpace{planes 1, hostnames 4}, XPlane{lines 3}, XLine{timestamp_ns 3, events 4},
// XEvent{offset_ps 2, duration_ps 3}.
var xplaneProfile = &form{
	name:  "XPlane",
	ranks: rankInTheName,
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editProfiles(func([]int, uint64, []byte, *editing) (uint64, []byte) { return keep, nil }),
		renameRanks: unchanged,
		renameHosts: editProfiles(func(at []int, _ uint64, text []byte, e *editing) (uint64, []byte) {
			if isAt(at, 4) {
				return keep, []byte(e.names.host(string(text)))
			}
			return keep, nil
		}),
		shift: func(f *file, e *editing) ([]*file, error) {
			if ranks := f.recordedRanks(); len(ranks) != 1 || ranks[0] != e.rank {
				return []*file{f}, nil
			}
			return editProfiles(func(at []int, x uint64, _ []byte, e *editing) (uint64, []byte) {
				if isAt(at, 1, 3, 3) {
					return x + uint64(e.ns), nil
				}
				return keep, nil
			})(f, e)
		},
		round: editProfiles(func(at []int, x uint64, _ []byte, e *editing) (uint64, []byte) {
			switch {
			case isAt(at, 1, 3, 3):
				return uint64(roundTo(int64(x), e.ns)), nil
			case isAt(at, 1, 3, 4, 2), isAt(at, 1, 3, 4, 3):
				return uint64(roundTo(int64(x), 1000*e.ns)), nil
			}
			return keep, nil
		}),
	},
	not: map[edit]string{
		reorder:  "lines of a profile are read by their names",
		split:    "a profile is one message",
		merge:    "a profile is of one process",
		addStage: "a profile has no table of stages",
		remove:   "a profile is of one process",
	},
}

// keep stands for the value that a field has.
const keep = ^uint64(0)

// isAt reports whether a field has this path of numbers.
func isAt(at []int, numbers ...int) bool {
	if len(at) != len(numbers) {
		return false
	}
	for i := range at {
		if at[i] != numbers[i] {
			return false
		}
	}
	return true
}

// isNested reports whether a field holds messages with fields to edit.
func isNested(at []int) bool { return isAt(at, 1) || isAt(at, 1, 3) || isAt(at, 1, 3, 4) }

// editProfiles edits all fields: change is given the path of a field and its number or text, and
// returns the new number or, not nil, the new text.
func editProfiles(change func(at []int, x uint64, text []byte, e *editing) (uint64, []byte)) func(*file, *editing) ([]*file, error) {
	return contentEdit(func(text []byte, e *editing) ([]byte, error) {
		return message(text, nil, func(at []int, x uint64, text []byte) (uint64, []byte) { return change(at, x, text, e) })
	})
}

func message(text []byte, at []int, change func([]int, uint64, []byte) (uint64, []byte)) (out []byte, err error) {
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return nil, notApplicable("no message: %v", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(number, kind, text[n:])
		if size < 0 {
			return nil, notApplicable("no message: %v", protowire.ParseError(size))
		}
		value, here := text[n:n+size], append(at[:len(at):len(at)], int(number))
		text = text[n+size:]
		out = protowire.AppendTag(out, number, kind)
		switch kind {
		case protowire.VarintType:
			x, _ := protowire.ConsumeVarint(value)
			if to, _ := change(here, x, nil); to != keep {
				x = to
			}
			out = protowire.AppendVarint(out, x)
		case protowire.BytesType:
			content, _ := protowire.ConsumeBytes(value)
			if isNested(here) {
				if content, err = message(content, here, change); err != nil {
					return nil, err
				}
			} else if _, to := change(here, 0, content); to != nil {
				content = to
			}
			out = protowire.AppendBytes(out, content)
		default:
			out = append(out, value...)
		}
	}
	return out, nil
}
