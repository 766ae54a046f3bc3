package main

import (
	"encoding/binary"
	"fmt"
	"math"
)

// unpickle returns the value of a pickle of plain data in protocols 2 to 5, as PyTorch writes the dumps of
// its Flight Recorder: dicts, lists, tuples, texts, numbers, booleans and None. Dicts are
// map[string]any, lists and tuples []any.
func unpickle(data []byte) (root any, err error) {
	defer func() {
		if short := recover(); short != nil {
			err = notApplicable("a pickle that breaks off or is another: %v", short)
		}
	}()
	m := &unpickler{data: data, memo: map[uint32]any{}}
	for {
		if op := m.take(1)[0]; op == '.' {
			return m.finish(m.stack[len(m.stack)-1]), nil
		} else if err := m.run(op); err != nil {
			return nil, err
		}
	}
}

// unpickler is the part of the pickle machine that such dumps need.
type unpickler struct {
	data  []byte
	stack []any
	marks []int
	memo  map[uint32]any
}

// Containers are held by reference while they are filled: the memo names them before.
type (
	growingList struct{ items []any }
	growingDict struct{ items []any } // keys and values in turn
)

func (m *unpickler) take(n int) []byte {
	out := m.data[:n]
	m.data = m.data[n:]
	return out
}

func (m *unpickler) push(v any) { m.stack = append(m.stack, v) }

// popMark takes what lies on the stack above the last mark.
func (m *unpickler) popMark() []any {
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	out := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return out
}

func (m *unpickler) top(n int) []any {
	out := append([]any(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return out
}

func (m *unpickler) run(op byte) error {
	u32 := func() uint32 { return binary.LittleEndian.Uint32(m.take(4)) }
	switch op {
	case 0x80:
		m.take(1)
	case 0x95: // a frame
		m.take(8)
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 'h':
		m.push(m.memo[uint32(m.take(1)[0])])
	case 'j':
		m.push(m.memo[u32()])
	case 'q':
		m.memo[uint32(m.take(1)[0])] = m.stack[len(m.stack)-1]
	case 'r':
		m.memo[u32()] = m.stack[len(m.stack)-1]
	case 0x94:
		m.memo[uint32(len(m.memo))] = m.stack[len(m.stack)-1]
	case 'X':
		m.push(string(m.take(int(u32()))))
	case 0x8c:
		m.push(string(m.take(int(m.take(1)[0]))))
	case 'N':
		m.push(nil)
	default:
		if m.number(op) || m.container(op) {
			return nil
		}
		return notApplicable("a pickle with operation 0x%02x", op)
	}
	return nil
}

// number runs the operations of numbers and booleans, and reports whether op is one.
func (m *unpickler) number(op byte) bool {
	switch op {
	case 'K':
		m.push(int64(m.take(1)[0]))
	case 'M':
		m.push(int64(binary.LittleEndian.Uint16(m.take(2))))
	case 'J':
		m.push(int64(int32(binary.LittleEndian.Uint32(m.take(4)))))
	case 0x8a:
		bytes, x := m.take(int(m.take(1)[0])), int64(0)
		for i := len(bytes) - 1; i >= 0; i-- {
			if i == len(bytes)-1 {
				x = int64(int8(bytes[i]))
				continue
			}
			x = x<<8 | int64(bytes[i])
		}
		m.push(x)
	case 'G':
		m.push(math.Float64frombits(binary.BigEndian.Uint64(m.take(8))))
	case 0x88, 0x89:
		m.push(op == 0x88)
	default:
		return false
	}
	return true
}

// container runs the operations of dicts, lists and tuples, and reports whether op is one.
func (m *unpickler) container(op byte) bool {
	into := func(items []any) {
		switch to := m.stack[len(m.stack)-1].(type) {
		case *growingList:
			to.items = append(to.items, items...)
		case *growingDict:
			to.items = append(to.items, items...)
		}
	}
	switch op {
	case '}':
		m.push(&growingDict{})
	case ']', ')':
		m.push(&growingList{})
	case 'u', 'e':
		into(m.popMark())
	case 's':
		into(m.top(2))
	case 'a':
		into(m.top(1))
	case 't':
		m.push(&growingList{m.popMark()})
	case 0x85, 0x86, 0x87:
		m.push(&growingList{m.top(int(op) - 0x84)})
	default:
		return false
	}
	return true
}

// finish returns a value whose containers are full.
func (m *unpickler) finish(v any) any {
	switch v := v.(type) {
	case *growingList:
		out := make([]any, len(v.items))
		for i, item := range v.items {
			out[i] = m.finish(item)
		}
		return out
	case *growingDict:
		out := map[string]any{}
		for i := 0; i+1 < len(v.items); i += 2 {
			out[fmt.Sprint(m.finish(v.items[i]))] = m.finish(v.items[i+1])
		}
		return out
	}
	return v
}
