package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

const opStop = '.'

// opcode is one row: the name in Python's pickletools, and what it does after its byte was read.
type opcode struct {
	name string
	run  func(*machine)
}

// opcodes holds every opcode that protocols 2 to 5 write, except the extension registry and
// out-of-band buffers. Filled by rows, below.
var opcodes = rows()

func rows() [256]opcode {
	return [256]opcode{
		0x80: {"PROTO", func(m *machine) {
			if p := m.uint(1); p < 2 || p > 5 {
				m.fail("got protocol %d, want 2 to 5", p)
			}
		}},
		0x95:   {"FRAME", func(m *machine) { m.length(8) }},
		opStop: {"STOP", nil}, // the loop ends it
		'(': {"MARK", func(m *machine) {
			if len(m.marks) >= m.o.MaxDepth {
				m.fail("got more than %d open MARKs", m.o.MaxDepth)
			}
			m.base = len(m.stack)
			m.marks = append(m.marks, m.base)
		}},
		'0': {"POP", func(m *machine) {
			if len(m.stack) == m.base && len(m.marks) > 0 { // Python pops the mark itself
				m.sinceMark()
				return
			}
			m.pop()
		}},
		'1': {"POP_MARK", func(m *machine) { m.sinceMark() }},
		'2': {"DUP", func(m *machine) { m.push(m.top()) }},

		'N':  {"NONE", func(m *machine) { m.push(nil) }},
		0x88: {"NEWTRUE", func(m *machine) { m.push(true) }},
		0x89: {"NEWFALSE", func(m *machine) { m.push(false) }},
		'J':  {"BININT", func(m *machine) { m.push(m.int(int64(int32(m.uint(4))))) }},
		'K':  {"BININT1", func(m *machine) { m.push(m.int(int64(m.uint(1)))) }},
		'M':  {"BININT2", func(m *machine) { m.push(m.int(int64(m.uint(2)))) }},
		0x8a: {"LONG1", func(m *machine) { m.push(m.long(m.length(1))) }},
		0x8b: {"LONG4", func(m *machine) { m.push(m.long(m.length(4))) }},
		'G': {"BINFLOAT", func(m *machine) {
			m.push(math.Float64frombits(binary.BigEndian.Uint64([]byte(m.take(8)))))
		}},

		'X':  {"BINUNICODE", func(m *machine) { m.unicode(4) }},
		0x8c: {"SHORT_BINUNICODE", func(m *machine) { m.unicode(1) }},
		0x8d: {"BINUNICODE8", func(m *machine) { m.unicode(8) }},
		'T':  {"BINSTRING", func(m *machine) { m.unicode(4) }},
		'U':  {"SHORT_BINSTRING", func(m *machine) { m.unicode(1) }},
		'B':  {"BINBYTES", func(m *machine) { m.bytes(4) }},
		'C':  {"SHORT_BINBYTES", func(m *machine) { m.bytes(1) }},
		0x8e: {"BINBYTES8", func(m *machine) { m.bytes(8) }},
		0x96: {"BYTEARRAY8", func(m *machine) { m.bytes(8) }},

		')':  {"EMPTY_TUPLE", func(m *machine) { m.push(Tuple(nil)) }},
		0x85: {"TUPLE1", func(m *machine) { m.tupleOf(1) }},
		0x86: {"TUPLE2", func(m *machine) { m.tupleOf(2) }},
		0x87: {"TUPLE3", func(m *machine) { m.tupleOf(3) }},
		't':  {"TUPLE", func(m *machine) { m.charge(24); m.push(Tuple(m.own(m.sinceMark()))) }},

		']': {"EMPTY_LIST", func(m *machine) { m.charge(24); m.push(m.list()) }},
		'l': {"LIST", func(m *machine) { m.charge(24); m.push(&List{Items: m.own(m.sinceMark())}) }},
		'a': {"APPEND", func(m *machine) {
			v := m.pop()
			l := want[*List](m, m.top(), "a list")
			m.charge(32)
			l.Items = append(l.Items, v)
		}},
		'e': {"APPENDS", func(m *machine) {
			items := m.sinceMark()
			m.extend(&want[*List](m, m.top(), "a list").Items, items)
		}},

		'}': {"EMPTY_DICT", func(m *machine) { m.charge(64); m.push(m.dict()) }},
		'd': {"DICT", func(m *machine) {
			items := m.sinceMark()
			m.charge(64)
			d := m.dict()
			m.setItems(d, items)
			m.push(d)
		}},
		's': {"SETITEM", func(m *machine) {
			v, k := m.pop(), m.pop()
			m.setItems(want[*Dict](m, m.top(), "a dict"), []any{k, v})
		}},
		'u': {"SETITEMS", func(m *machine) {
			items := m.sinceMark()
			m.setItems(want[*Dict](m, m.top(), "a dict"), items)
		}},

		0x8f: {"EMPTY_SET", func(m *machine) { m.charge(24); m.push(&Set{}) }},
		0x90: {"ADDITEMS", func(m *machine) {
			items := m.sinceMark()
			m.extend(&want[*Set](m, m.top(), "a set").Items, items)
		}},
		0x91: {"FROZENSET", func(m *machine) { m.charge(24); m.push(&Set{Items: m.own(m.sinceMark())}) }},

		'q':  {"BINPUT", func(m *machine) { m.put(m.uint(1)) }},
		'r':  {"LONG_BINPUT", func(m *machine) { m.put(m.uint(4)) }},
		0x94: {"MEMOIZE", func(m *machine) { m.put(uint64(len(m.memo))) }},
		'h':  {"BINGET", func(m *machine) { m.get(m.uint(1)) }},
		'j':  {"LONG_BINGET", func(m *machine) { m.get(m.uint(4)) }},

		'c': {"GLOBAL", func(m *machine) { module := m.line(); m.global(module, m.line()) }},
		0x93: {"STACK_GLOBAL", func(m *machine) {
			name := want[string](m, m.pop(), "a name")
			m.global(want[string](m, m.pop(), "a module"), name)
		}},
		'R': {"REDUCE", func(m *machine) {
			v := m.pop()
			args, ok := v.(Tuple)
			if !ok {
				if v == nil {
					m.fail("got None, want a tuple of arguments")
				}
				args = Tuple{v} // TorchScript's pickler writes an enumeration's value bare
			}
			m.call(m.o.Reduce, m.pop(), args)
		}},
		0x81: {"NEWOBJ", func(m *machine) {
			args := want[Tuple](m, m.pop(), "a tuple of arguments")
			m.call(m.o.NewObj, m.pop(), args)
		}},
		0x92: {"NEWOBJ_EX", func(m *machine) {
			if kw := want[*Dict](m, m.pop(), "a dict of arguments"); len(kw.Keys) > 0 {
				m.fail("got %d keyword arguments, want none", len(kw.Keys))
			}
			args := want[Tuple](m, m.pop(), "a tuple of arguments")
			m.call(m.o.NewObj, m.pop(), args)
		}},
		'b': {"BUILD", func(m *machine) {
			state := m.pop()
			obj := m.pop()
			if m.o.Build == nil {
				m.fail("got an object's state, want plain data")
			}
			m.made(m.o.Build(obj, state))
		}},
		'Q': {"BINPERSID", func(m *machine) {
			if m.o.PersistentLoad == nil {
				m.fail("got a persistent id, want plain data")
			}
			m.charge(objectSize)
			m.made(m.o.PersistentLoad(m.pop()))
		}},
	}
}

// want asserts what kind of value an opcode found.
func want[T any](m *machine, v any, what string) T {
	t, ok := v.(T)
	if !ok {
		m.fail("got %s, want %s", kind(v), what)
	}
	return t
}

// kind names a value's type as Python would.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64, uint64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []byte:
		return "bytes"
	case Tuple:
		return "tuple"
	case *List:
		return "list"
	case *Dict:
		return "dict"
	case *Set:
		return "set"
	}
	return fmt.Sprintf("%T", v)
}

func (m *machine) unicode(n int) {
	s := m.take(m.length(n))
	m.charge(16)
	m.push(s)
}

func (m *machine) bytes(n int) {
	s := m.take(m.length(n))
	m.charge(24 + len(s))
	m.push([]byte(s))
}

// long reads a two's complement little-endian integer of n bytes, at most 64 bits and a sign.
func (m *machine) long(n int) any {
	s := m.take(n)
	if n == 0 {
		return int64(0)
	}
	negative := s[n-1]&0x80 != 0
	if n > 9 || n == 9 && s[8] != 0 {
		m.fail("got an integer of %d bytes, want at most 64 bits", n)
	}
	var v uint64
	if negative {
		v = math.MaxUint64
	}
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	if !negative && v > math.MaxInt64 {
		return v
	}
	return m.int(int64(v))
}

func (m *machine) tupleOf(n int) {
	h := len(m.stack) - n
	if h < m.base {
		m.fail("got %d values on the stack, want %d", len(m.stack)-m.base, n)
	}
	m.charge(24)
	t := Tuple(m.own(m.stack[h:]))
	m.stack = append(m.stack[:h], t)
}

func (m *machine) extend(to *[]any, items []any) {
	if *to == nil {
		*to = m.own(items)
		return
	}
	m.charge(32 * len(items))
	*to = append(*to, items...)
}

func (m *machine) setItems(d *Dict, items []any) {
	if len(items)%2 != 0 {
		m.fail("got %d keys and values, want pairs", len(items))
	}
	m.charge(32 * len(items))
	if d.Keys == nil {
		d.Keys, d.Values = m.cut(len(items) / 2)[:0], m.cut(len(items) / 2)[:0]
	}
	for i := 0; i < len(items); i += 2 {
		if d.index != nil && hashable(items[i]) {
			d.index[items[i]] = len(d.Keys)
		}
		d.Keys = append(d.Keys, items[i])
		d.Values = append(d.Values, items[i+1])
	}
}

func (m *machine) global(module, name string) {
	if m.o.Globals != nil {
		if v, ok := m.o.Globals(module, name); ok {
			m.push(v)
			return
		}
	}
	m.fail("got the global %q, want one that is known", strings.TrimSpace(module+" "+name))
}

// objectSize is what an object that the caller makes is taken to be, in bytes.
const objectSize = 64

func (m *machine) call(f func(any, []any) (any, error), fn any, args Tuple) {
	if f == nil {
		m.fail("got a call, want plain data")
	}
	m.charge(objectSize)
	m.made(f(fn, args))
}

// made pushes what one of the caller's functions returned.
func (m *machine) made(v any, err error) {
	if err != nil {
		panic(stop{err})
	}
	m.push(v)
}
