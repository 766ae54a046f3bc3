package flightrecorder

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
)

// machine is the part of the pickle machine that plain data needs: dicts,
// lists, tuples, texts, numbers, None and the memo, in protocols 0 to 5. It
// builds values and calls nothing. Every other operation is refused by name.
type machine struct {
	*document
	at    int // of the operation that runs
	next  int // byte after it
	stack []value
	marks []int
	memo  []value
	most  int // values on the stack, and containers
}

// pickled reads a pickle to its STOP. Of one that ends before it, what had been
// read is put together as it stands, and truncated is true.
func (m *machine) pickled() (root value, truncated bool, err error) {
	m.stack, m.marks, m.memo, m.next = m.stack[:0], m.marks[:0], m.memo[:0], 0
	m.most = len(m.data)/2 + 64
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
		if !m.within(len(m.stack)) {
			return value{}, false, m.bad(input.ErrTooLarge, m.at, "a pickle of more parts than its length allows a Flight Recorder dump")
		}
	}
	if len(m.stack) == 0 {
		return value{}, false, m.bad(input.ErrFormat, m.at, "the pickle ends with nothing on its stack")
	}
	return m.stack[len(m.stack)-1], false, nil
}

// within reports whether a stack of n values and the containers are no more
// than the input's length allows.
func (m *machine) within(n int) bool { return n <= m.most && len(m.containers) <= m.most }

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

// run carries one operation out.
func (m *machine) run(op byte) error {
	switch op {
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 'h', 'q', 'j', 'r', 'g', 'p', 0x94:
		return m.remember(op)
	case 'X', 0x8c, 0x8d, 'T', 'U', 'B', 'C', 0x8e:
		return m.counted(op)
	case 'K', 'M', 'J', 0x8a, 0x8b, 'G':
		return m.number(op)
	case 'I', 'L', 'F', 'S', 'V':
		return m.line(op)
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
	case 't', 'l', 'd', 0x85, 0x86, 0x87:
		return m.gather(op)
	case '0', '1', '2':
		return m.shuffle(op)
	case 0x80:
		p, err := m.take(1)
		if err == nil && p[0] > 5 {
			err = m.bad(input.ErrFormat, m.at, "pickle protocol %d, expected 0 to 5", p[0])
		}
		return err
	case 0x95: // a frame's length, which a reader of the whole input has no use for
		_, err := m.take(8)
		return err
	default:
		return m.refused(op)
	}
	return nil
}

func (m *machine) push(v value) { m.stack = append(m.stack, v) }

// take is the next n bytes.
func (m *machine) take(n int) ([]byte, error) {
	if n > len(m.data)-m.next {
		return nil, errShort
	}
	b := m.data[m.next : m.next+n]
	m.next += n
	return b, nil
}

// until is the next line, without its end.
func (m *machine) until() ([]byte, error) {
	i := bytes.IndexByte(m.data[m.next:], '\n')
	if i < 0 {
		return nil, errShort
	}
	b := m.data[m.next : m.next+i]
	m.next += i + 1
	return b, nil
}

// remember reads and writes the memo.
func (m *machine) remember(op byte) error {
	if op == 0x94 {
		return m.keep(uint64(len(m.memo)))
	}
	var i uint64
	switch op {
	case 'h', 'q':
		if m.next >= len(m.data) {
			return errShort
		}
		i = uint64(m.data[m.next])
		m.next++
	case 'j', 'r':
		b, err := m.take(4)
		if err != nil {
			return err
		}
		i = uint64(binary.LittleEndian.Uint32(b))
	default:
		b, err := m.until()
		if err != nil {
			return err
		}
		if i, err = strconv.ParseUint(string(b), 10, 32); err != nil {
			return m.bad(input.ErrFormat, m.at, "memo index %.20q, expected a number", b)
		}
	}
	if op == 'q' || op == 'r' || op == 'p' {
		return m.keep(i)
	}
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

// counted reads texts that begin with their length. Bytes are read as text.
func (m *machine) counted(op byte) error {
	width := 4
	switch op {
	case 0x8c, 'U', 'C':
		width = 1
	case 0x8d, 0x8e:
		width = 8
	}
	b, err := m.take(width)
	if err != nil {
		return err
	}
	n := uint64(0)
	for i := width - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	if n > uint64(len(m.data)-m.next) {
		return errShort
	}
	m.push(m.placed(m.next, int(n)))
	m.next += int(n)
	return nil
}

// number reads binary numbers.
func (m *machine) number(op byte) error {
	width := 1
	switch op {
	case 'M':
		width = 2
	case 'J', 0x8b:
		width = 4
	case 'G':
		width = 8
	}
	b, err := m.take(width)
	if err != nil {
		return err
	}
	switch op {
	case 'K':
		m.push(value{kind: integer, x: int64(b[0])})
	case 'M':
		m.push(value{kind: integer, x: int64(binary.LittleEndian.Uint16(b))})
	case 'J':
		m.push(value{kind: integer, x: int64(int32(binary.LittleEndian.Uint32(b)))})
	case 'G':
		m.push(value{kind: float, x: int64(binary.BigEndian.Uint64(b))})
	case 0x8a:
		return m.long(int(b[0]))
	default:
		n := binary.LittleEndian.Uint32(b)
		if n > math.MaxInt32 {
			return m.bad(input.ErrFormat, m.at, "a number of %d bytes", n)
		}
		return m.long(int(n))
	}
	return nil
}

// long reads a number of n bytes, the lowest first, in two's complement.
func (m *machine) long(n int) error {
	b, err := m.take(n)
	if err != nil {
		return err
	}
	if n > 8 {
		m.push(value{kind: other})
		return nil
	}
	x := int64(0)
	for i := n - 1; i >= 0; i-- {
		x = x<<8 | int64(b[i])
	}
	if n > 0 && n < 8 && b[n-1] >= 0x80 {
		x -= 1 << (8 * n)
	}
	m.push(value{kind: integer, x: x})
	return nil
}

// line reads what protocol 0 writes as a line of text.
func (m *machine) line(op byte) error {
	b, err := m.until()
	if err != nil {
		return err
	}
	switch {
	case op == 'I' && (string(b) == "00" || string(b) == "01"):
		m.push(value{kind: boolean, x: int64(b[1] - '0')})
	case op == 'I' || op == 'L':
		x, err := strconv.ParseInt(string(bytes.TrimSuffix(b, []byte("L"))), 10, 64)
		if numError := (*strconv.NumError)(nil); err != nil {
			if e, ok := err.(*strconv.NumError); ok {
				numError = e
			}
			if numError == nil || numError.Err != strconv.ErrRange {
				return m.bad(input.ErrFormat, m.at, "%.20q, expected a whole number", b)
			}
			m.push(value{kind: other})
			return nil
		}
		m.push(value{kind: integer, x: x})
	case op == 'F':
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return m.bad(input.ErrFormat, m.at, "%.20q, expected a number", b)
		}
		m.push(value{kind: float, x: int64(math.Float64bits(x))})
	case op == 'S':
		if len(b) < 2 || b[0] != b[len(b)-1] || b[0] != '\'' && b[0] != '"' {
			return m.bad(input.ErrFormat, m.at, "%.20q, expected a quoted text", b)
		}
		m.push(m.written(unescaped(b[1:len(b)-1], `\'"`)))
	default:
		m.push(m.written(unescaped(b, "")))
	}
	return nil
}

// unescaped is a text of protocol 0: \uXXXX, \xXX and \n as characters, and the
// quoted ones bare.
func unescaped(b []byte, quoted string) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		width := 0
		if len(b) > 1 && b[0] == '\\' {
			width = map[byte]int{'u': 4, 'U': 8, 'x': 2}[b[1]]
		}
		switch {
		case width > 0 && len(b) >= 2+width:
			if x, err := strconv.ParseUint(string(b[2:2+width]), 16, 32); err == nil {
				out = append(out, string(rune(x))...)
				b = b[2+width:]
				continue
			}
		case len(b) > 1 && b[0] == '\\' && bytes.IndexByte([]byte(quoted), b[1]) >= 0:
			b = b[1:]
		case len(b) > 1 && b[0] == '\\' && b[1] == 'n' && quoted != "":
			out, b = append(out, '\n'), b[2:]
			continue
		}
		out, b = append(out, b[0]), b[1:]
	}
	return out
}

// fill adds to the list or dict below.
func (m *machine) fill(op byte) error {
	from := len(m.stack) - 1
	switch op {
	case 's':
		from--
	case 'u', 'e':
		var err error
		if from, err = m.marked(); err != nil {
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

// gather makes a tuple, list or dict of the values above a mark, or of the last
// one to three.
func (m *machine) gather(op byte) error {
	from := len(m.stack) - int(op-0x84)
	k := list
	if op < 0x80 {
		var err error
		if from, err = m.marked(); err != nil {
			return err
		}
		if op == 'd' {
			k = dict
		}
	}
	if from < 0 || op >= 0x80 && from < m.floor() {
		return m.underflow()
	}
	if k == dict && (len(m.stack)-from)%2 != 0 {
		return m.bad(input.ErrFormat, m.at, "a dict of %d keys and values", len(m.stack)-from)
	}
	made := m.container(k)
	m.add(made, m.stack[from:]...)
	m.stack = append(m.stack[:from], made)
	return nil
}

// shuffle drops or repeats the top.
func (m *machine) shuffle(op byte) error {
	switch {
	case op == '1' || op == '0' && len(m.marks) > 0 && m.marks[len(m.marks)-1] == len(m.stack):
		from, err := m.marked()
		if err != nil {
			return err
		}
		m.stack = m.stack[:from]
	case len(m.stack) == 0:
		return m.underflow()
	case op == '0':
		m.stack = m.stack[:len(m.stack)-1]
	default:
		m.push(m.stack[len(m.stack)-1])
	}
	return nil
}

// marked takes the last mark: where the values above it begin.
func (m *machine) marked() (int, error) {
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

// floor is where the values above the last mark begin.
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

func (m *machine) refused(op byte) error {
	if name, ok := active[op]; ok {
		return m.bad(input.ErrFormat, m.at, "the pickle operation %s, which a Flight Recorder dump never has and which could run code: the file is refused", name)
	}
	return m.bad(input.ErrFormat, m.at, "byte %#02x is no pickle operation of a Flight Recorder dump", op)
}
