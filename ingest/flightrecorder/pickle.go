package flightrecorder

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace/input"
)

// machine is the part of the pickle machine that plain data needs: dicts,
// lists, tuples, texts, numbers, None and the memo, in protocols 2 to 5; PyTorch writes 2. It
// builds values and calls nothing. Every other operation is refused by name.
type machine struct {
	*document
	at    int // of the operation that runs
	next  int // byte after it
	stack []value
	marks []int
	memo  []value
}

// readPickle reads a pickle to its STOP. Of one that ends before it, what had been
// read is put together as it stands, and truncated is true.
func (m *machine) readPickle() (root value, truncated bool, err error) {
	m.stack, m.marks, m.memo, m.next = m.stack[:0], m.marks[:0], m.memo[:0], 0
	if m.data[0] != 0x80 {
		return value{}, false, m.bad(input.ErrFormat, 0,
			"a pickle of protocol 0 or 1; PyTorch writes 2: write it again, pickle.dump(dump, file, protocol=2)")
	}
	for {
		m.at = m.next
		if m.at >= len(m.data) {
			return m.salvage(), true, nil
		}
		op := m.data[m.at]
		m.next++
		if op == '.' {
			break
		}
		if err := m.run(op); err == errShort {
			return m.salvage(), true, nil
		} else if err != nil {
			return value{}, false, err
		}
		if !m.fits(len(m.stack)) {
			return value{}, false, m.bad(input.ErrTooLarge, m.at, "a pickle of more parts than its length allows a Flight Recorder dump")
		}
	}
	switch {
	case len(m.stack) == 0:
		return value{}, false, m.bad(input.ErrFormat, m.at, "the pickle ends with nothing on its stack")
	case len(m.marks) > 0: // its end stands in the middle
		return m.salvage(), true, nil
	}
	return m.stack[len(m.stack)-1], false, nil
}

// fits reports whether a stack of n values and the containers are no more
// than the input's length allows.
func (m *machine) fits(n int) bool {
	return n <= len(m.data)/perValue+64 && len(m.containers) <= len(m.data)/perContainer+64
}

// Bytes that a dump has at least for each value that is on the stack at a time, and for each list and dict: those of PyTorch have
// fifteen and more for a container.
const perValue, perContainer = 4, 10

// salvage closes the containers that a pickle which breaks off left open.
func (m *machine) salvage() value {
	for len(m.marks) > 0 {
		top := m.marks[len(m.marks)-1]
		m.marks = m.marks[:len(m.marks)-1]
		items := m.stack[top:]
		m.stack = m.stack[:top]
		if top == 0 {
			continue
		}
		switch below := m.stack[top-1]; below.kind {
		case list:
			m.add(below, items...)
		case dict:
			m.add(below, items[:len(items)&^1]...)
		}
	}
	if len(m.stack) == 0 {
		return value{}
	}
	return m.stack[0]
}

// errShort says that the input ends within an operation.
var errShort = input.ErrTruncated

// widths are how many bytes of an operation are its number: a length, a place in the memo, or a value.
var widths = [256]uint8{
	'h': 1, 'q': 1, 'K': 1, 'U': 1, 'C': 1, 0x80: 1, 0x8a: 1, 0x8c: 1,
	'M': 2,
	'j': 4, 'r': 4, 'X': 4, 'T': 4, 'B': 4, 'J': 4, 0x8b: 4,
	'G': 8, 0x8d: 8, 0x8e: 8, 0x95: 8,
}

// operand returns the number of an operation.
func (m *machine) operand(op byte) (n uint64, err error) {
	width := int(widths[op])
	if width > len(m.data)-m.next {
		return 0, errShort
	}
	b := m.data[m.next:]
	m.next += width
	switch width {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	case 8:
		return binary.LittleEndian.Uint64(b), nil
	}
	return 0, nil
}

// run carries one operation out.
func (m *machine) run(op byte) error {
	n, err := m.operand(op)
	if err != nil {
		return err
	}
	switch op {
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 'h', 'j':
		return m.recall(n)
	case 'q', 'r':
		return m.keep(n)
	case 0x94:
		return m.keep(uint64(len(m.memo)))
	case 'X', 0x8c, 0x8d, 'T', 'U', 'B', 'C', 0x8e: // bytes are read as text
		return m.text(n)
	case 'K', 'M':
		m.push(value{kind: integer, x: int64(n)})
	case 'J':
		m.push(value{kind: integer, x: int64(int32(n))})
	case 0x8a, 0x8b:
		return m.readLong(n)
	case 'G': // a time that nothing of a dump is counted by
		m.push(value{kind: float})
	case 'N':
		m.push(value{})
	case 0x88, 0x89:
		m.push(value{kind: boolean, x: int64(0x89 - op)})
	case '}':
		m.push(m.container(dict))
	case ']', ')':
		m.push(m.container(list))
	case 'u', 'e', 's', 'a':
		return m.fill(op)
	case 't', 0x85, 0x86, 0x87:
		return m.gather(op)
	case 0x95: // a frame's length, which a reader of the whole input has no use for
	case 0x80:
		if n < 2 || n > 5 {
			return m.bad(input.ErrFormat, m.at, "pickle protocol %d, expected 2 to 5", n)
		}
	default:
		return m.errOpcode(op)
	}
	return nil
}

func (m *machine) push(v value) { m.stack = append(m.stack, v) }

// recall pushes a value of the memo.
func (m *machine) recall(i uint64) error {
	if i >= uint64(len(m.memo)) {
		return m.bad(input.ErrFormat, m.at, "the pickle refers to number %d of its memo, which has %d", i, len(m.memo))
	}
	m.push(m.memo[i])
	return nil
}

// keep writes the top of the stack to the memo.
func (m *machine) keep(i uint64) error {
	switch {
	case len(m.stack) == 0:
		return m.underflow()
	case i > uint64(len(m.data)):
		return m.bad(input.ErrTooLarge, m.at, "number %d of a memo, in a pickle of %d bytes", i, len(m.data))
	}
	for uint64(len(m.memo)) <= i {
		m.memo = append(m.memo, value{})
	}
	m.memo[i] = m.stack[len(m.stack)-1]
	return nil
}

// text reads a text of n bytes.
func (m *machine) text(n uint64) error {
	if n > uint64(len(m.data)-m.next) {
		return errShort
	}
	m.push(m.textAt(m.next, int(n)))
	m.next += int(n)
	return nil
}

// readLong reads a number of n bytes, the lowest first, in two's complement.
func (m *machine) readLong(n uint64) error {
	if n > uint64(len(m.data)-m.next) {
		return errShort
	}
	b := m.data[m.next : m.next+int(n)]
	m.next += int(n)
	if n > 8 {
		m.push(value{kind: other})
		return nil
	}
	x := int64(0)
	for i := range b {
		x |= int64(b[i]) << (8 * i)
	}
	if n > 0 && n < 8 && b[n-1] >= 0x80 {
		x -= 1 << (8 * n)
	}
	m.push(value{kind: integer, x: x})
	return nil
}

// fill adds to the list or dict below.
func (m *machine) fill(op byte) error {
	from := len(m.stack) - 1
	switch op {
	case 's':
		from--
	case 'u', 'e':
		var err error
		if from, err = m.takeMark(); err != nil {
			return err
		}
	}
	if from < 1 || from < m.floor()+1 && op != 'u' && op != 'e' {
		return m.underflow()
	}
	to, items := m.stack[from-1], m.stack[from:]
	want := list
	if op == 'u' || op == 's' {
		want = dict
	}
	if to.kind != want || want == dict && len(items)%2 != 0 {
		return m.bad(input.ErrFormat, m.at, "the pickle adds %d values to what is no list or dict for them", len(items))
	}
	m.add(to, items...)
	m.stack = m.stack[:from]
	return nil
}

// gather makes a tuple of the values above a mark, or of the last one to three.
func (m *machine) gather(op byte) error {
	from := len(m.stack) - int(op-0x84)
	if op == 't' {
		var err error
		if from, err = m.takeMark(); err != nil {
			return err
		}
	} else if from < m.floor() {
		return m.underflow()
	}
	made := m.container(list)
	m.add(made, m.stack[from:]...)
	m.stack = append(m.stack[:from], made)
	return nil
}

// takeMark takes the last mark: where the values above it begin.
func (m *machine) takeMark() (int, error) {
	if len(m.marks) == 0 {
		return 0, m.bad(input.ErrFormat, m.at, "the pickle looks for a mark that is not there")
	}
	from := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	if from > len(m.stack) {
		return 0, m.underflow()
	}
	return from, nil
}

// floor returns where the values above the last mark begin.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) underflow() error {
	return m.bad(input.ErrFormat, m.at, "the pickle takes more values than it made")
}

// active are the operations of a pickle that import, call or fetch something.
// No dump has one.
var active = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ", 0x92: "NEWOBJ_EX",
	'P': "PERSID", 'Q': "BINPERSID", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
	0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET", 0x96: "BYTEARRAY8",
}

func (m *machine) errOpcode(op byte) error {
	if name, ok := active[op]; ok {
		return m.bad(input.ErrFormat, m.at, "the pickle operation %s, which a Flight Recorder dump never has and which could run code: the file is refused", name)
	}
	return m.bad(input.ErrFormat, m.at, "byte %#02x is no pickle operation of a Flight Recorder dump", op)
}
