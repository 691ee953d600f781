package pickle

import (
	"fmt"
	"runtime/debug"
	"slices"
	"unsafe"
)

// Options says what the caller understands and how far a pickle may go. A zero limit takes the
// default, a nil function refuses.
type Options struct {
	MaxSteps int // opcodes
	MaxDepth int // MARKs open at once
	MaxMemo  int // memo entries
	MaxBytes int // bytes of the values made and of the stack, about; by default more for much data

	Globals        func(module, name string) (any, bool)
	Reduce         func(fn any, args []any) (any, error)
	Build          func(obj, state any) (any, error)
	NewObj         func(cls any, args []any) (any, error)
	PersistentLoad func(id any) (any, error)
}

// The default limits: a few times what the biggest snapshot seen needs.
const (
	defaultMaxSteps = 1 << 26
	defaultMaxDepth = 10_000
	defaultMaxMemo  = 1 << 23
	defaultMaxBytes = 512 << 20
)

// Error is a pickle that cannot be read.
type Error struct {
	Offset int    // of the opcode
	Opcode string // its name in pickletools, or its byte
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("offset %d: opcode %s: %v", e.Offset, e.Opcode, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Decode reads the first pickle of data. Strings of the result are parts of data, which must not
// change any more.
func Decode(data []byte, o Options) (any, error) { return NewDecoder(o).Decode(data) }

// Decoder reads pickles one after another and keeps its stacks between them: for the hundreds of
// small ones in an archive.
type Decoder struct{ m machine }

// NewDecoder returns a decoder. The limits hold for each pickle.
func NewDecoder(o Options) *Decoder {
	for _, l := range []struct {
		limit *int
		value int
	}{{&o.MaxSteps, defaultMaxSteps}, {&o.MaxDepth, defaultMaxDepth}, {&o.MaxMemo, defaultMaxMemo}} {
		if *l.limit <= 0 {
			*l.limit = l.value
		}
	}
	return &Decoder{machine{o: o}}
}

// Decode is the function Decode with the decoder's options.
func (d *Decoder) Decode(data []byte) (v any, err error) {
	m := &d.m
	m.reset(data)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			v, err = nil, m.wrap(r.err)
		default:
			v, err = nil, m.wrap(fmt.Errorf("internal error: %v\n%s", r, debug.Stack()))
		}
	}()
	return m.run(), nil
}

// stop unwinds the machine with an error.
type stop struct{ err error }

// machine is one decoding. Its stack is flat; marks holds the heights at which MARK was pushed.
type machine struct {
	data   string // the input: every string of the result is a part of it
	pos    int
	start  int // of the opcode under way
	stack  []any
	base   int // height of the innermost mark: what pop may not pass
	marks  []int
	memo   []any
	steps  int
	most   int // bytes
	budget int // of them, left
	boxes
	o Options
}

// unset marks a memo entry nobody wrote.
type unset struct{}

func (m *machine) reset(data []byte) {
	m.data = unsafe.String(unsafe.SliceData(data), len(data))
	m.pos, m.start, m.base, m.steps = 0, 0, 0, 0
	m.most = m.o.MaxBytes
	if m.most <= 0 {
		m.most = max(defaultMaxBytes, 8*len(data))
	}
	m.budget = m.most
	m.stack, m.marks, m.memo = m.stack[:0], m.marks[:0], m.memo[:0]
	if m.memo == nil {
		m.memo = make([]any, 0, min(len(data)/16, 1<<16)) // about as many as TorchScript's pickler writes
	}
}

// run executes to STOP. The opcodes that fill archives and snapshots are written out here, for
// speed; all others are rows of the table.
func (m *machine) run() any {
	data := m.data
	m.charge(len(data))
	for {
		pos := m.pos
		m.start = pos
		if pos >= len(data) {
			m.fail("got the end of the data, want STOP")
		}
		if m.steps++; m.steps > m.o.MaxSteps {
			m.fail("got more than %d opcodes", m.o.MaxSteps)
		}
		op := data[pos]
		m.pos = pos + 1
		if arg := data[pos+1:]; len(arg) >= 4 {
			switch op {
			case 'K': // BININT1
				m.pos = pos + 2
				m.push(smallInts[arg[0]])
				continue
			case 'M': // BININT2
				m.pos = pos + 3
				m.push(m.int(int64(arg[0]) | int64(arg[1])<<8))
				continue
			case 'h': // BINGET
				m.pos = pos + 2
				m.get(uint64(arg[0]))
				continue
			case 'j': // LONG_BINGET
				m.pos = pos + 5
				m.get(uint64(arg[0]) | uint64(arg[1])<<8 | uint64(arg[2])<<16 | uint64(arg[3])<<24)
				continue
			case 'q': // BINPUT
				m.pos = pos + 2
				m.put(uint64(arg[0]))
				continue
			case 0x87: // TUPLE3
				m.tupleOf(3)
				continue
			}
		}
		if op == opStop {
			return m.pop()
		}
		row := &opcodes[op]
		if row.run == nil {
			m.fail("got an unknown opcode")
		}
		row.run(m)
	}
}

func (m *machine) wrap(err error) error {
	name := "(end)"
	if m.start < len(m.data) {
		name = opcodes[m.data[m.start]].name
		if name == "" {
			name = fmt.Sprintf("0x%02x", m.data[m.start])
		}
	}
	return &Error{Offset: m.start, Opcode: name, Err: err}
}

func (m *machine) fail(format string, args ...any) { panic(stop{fmt.Errorf(format, args...)}) }

// charge takes n bytes of the budget.
func (m *machine) charge(n int) {
	if m.budget -= n; m.budget < 0 {
		m.fail("got values of more than %d bytes", m.most)
	}
}

func (m *machine) push(v any) {
	if len(m.stack) == cap(m.stack) {
		m.deepen()
	}
	m.stack = append(m.stack, v)
}

// deepen takes a larger stack from the budget; a small one is free.
func (m *machine) deepen() {
	n := max(len(m.stack), smallStack)
	if n > maxStack && len(m.marks) == 0 {
		m.fail("got a stack of more than %d values without a MARK", maxStack)
	}
	if n > smallStack {
		m.charge(16 * n)
	}
	m.stack = slices.Grow(m.stack, n)
}

// smallStack is how many values lie on a stack that is not charged.
const smallStack = 1 << 10

// maxStack is how many values lie on the stack that no MARK begins: what takes them takes at most
// three.
const maxStack = 1 << 16

func (m *machine) pop() any {
	n := len(m.stack) - 1
	if n < m.base {
		m.fail("got an empty stack, want a value")
	}
	v := m.stack[n]
	m.stack = m.stack[:n]
	return v
}

func (m *machine) top() any {
	if len(m.stack) <= m.base {
		m.fail("got an empty stack, want a value")
	}
	return m.stack[len(m.stack)-1]
}

// sinceMark returns what was pushed after the innermost MARK, and takes it and the mark off the
// stack. The result is valid until the next push.
func (m *machine) sinceMark() []any {
	n := len(m.marks) - 1
	if n < 0 {
		m.fail("got no MARK")
	}
	items := m.stack[m.base:]
	m.stack = m.stack[:m.base]
	m.marks = m.marks[:n]
	m.base = 0
	if n > 0 {
		m.base = m.marks[n-1]
	}
	return items
}

// own copies items off the stack.
func (m *machine) own(items []any) []any {
	if len(items) == 0 {
		return nil
	}
	m.charge(16 * len(items))
	out := m.cut(len(items))
	copy(out, items)
	return out
}

// take returns the next n bytes of the data.
func (m *machine) take(n int) string {
	if n < 0 || n > len(m.data)-m.pos {
		m.fail("got %d bytes left, want %d", len(m.data)-m.pos, n)
	}
	s := m.data[m.pos : m.pos+n]
	m.pos += n
	return s
}

// uint reads an unsigned little-endian integer of n bytes.
func (m *machine) uint(n int) uint64 {
	s := m.take(n)
	var v uint64
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	return v
}

// length reads a length of n bytes and compares it with what is left.
func (m *machine) length(n int) int {
	v := m.uint(n)
	if v > uint64(len(m.data)-m.pos) {
		m.fail("got a length of %d with %d bytes left", v, len(m.data)-m.pos)
	}
	return int(v)
}

// line reads up to a newline, which it drops.
func (m *machine) line() string {
	for i := m.pos; i < len(m.data); i++ {
		if m.data[i] == '\n' {
			s := m.data[m.pos:i]
			m.pos = i + 1
			return s
		}
	}
	m.fail("got no newline")
	return ""
}

// put stores the top of the stack in the memo. No writer numbers entries past the bytes it wrote.
func (m *machine) put(i uint64) {
	v := m.top()
	if i < uint64(len(m.memo)) {
		m.memo[i] = v
		return
	}
	if i >= uint64(m.o.MaxMemo) || i > uint64(len(m.data)) {
		m.fail("got memo entry %d, want less than %d", i, min(m.o.MaxMemo, len(m.data)+1))
	}
	m.charge(16 * (int(i) + 1 - len(m.memo)))
	for uint64(len(m.memo)) < i {
		m.memo = append(m.memo, unset{})
	}
	m.memo = append(m.memo, v)
}

func (m *machine) get(i uint64) {
	if i >= uint64(len(m.memo)) {
		m.fail("got memo entry %d of %d", i, len(m.memo))
	}
	v := m.memo[i]
	if v == (unset{}) {
		m.fail("got memo entry %d, which was never written", i)
	}
	m.push(v)
}
