package torchscript

import (
	"errors"
	"fmt"
	"strings"
)

// rangeMachine reads the pickles of debug records: integers, strings, tuples and lists, nothing
// else. A big traced archive holds several times more of them than of everything else, so that they
// have a separate reader that makes no value for each: a string stays where it is, a tuple is a
// place in one slice.
type rangeMachine struct {
	data  string
	stack []rangeValue
	marks []int32
	memo  []rangeValue
	arena []rangeValue // items of all tuples and lists
}

// rangeValue is an integer (a), a string (length b at a of the data), or a tuple or list (b items
// at a of the arena).
type rangeValue struct {
	kind uint8
	a, b int32
}

const (
	rangeNone = iota
	rangeInt
	rangeText
	rangeTuple
	rangeList
	rangeGlobal
)

func (m *rangeMachine) text(v rangeValue) string { return m.data[v.a : v.a+v.b] }

// items are the items of a tuple or list.
func (m *rangeMachine) items(v rangeValue) ([]rangeValue, error) {
	if v.kind != rangeTuple && v.kind != rangeList {
		return nil, errors.New("got a record that is no tuple")
	}
	return m.arena[v.a : v.a+v.b], nil
}

// maxDebug is the longest record of debug information.
const maxDebug = 1 << 30

var errShort = errors.New("got the end of the record, want more")

// run reads one pickle. Each opcode takes a byte and makes at most one value, so that what it costs
// is bounded by the data.
func (m *rangeMachine) run(data string) (rangeValue, error) {
	if len(data) > maxDebug {
		return rangeValue{}, fmt.Errorf("got %d bytes, want at most %d", len(data), maxDebug)
	}
	m.data = data
	m.stack, m.marks, m.memo, m.arena = m.stack[:0], m.marks[:0], m.memo[:0], m.arena[:0]
	for i := 0; i < len(data); {
		op := data[i]
		i++
		if i+1 < len(data) { // nearly all of it is small integers, by themselves or from the memo
			switch op {
			case 'K':
				m.push(rangeValue{rangeInt, int32(data[i]), 0})
				i++
				continue
			case 'M':
				m.push(rangeValue{rangeInt, int32(data[i]) | int32(data[i+1])<<8, 0})
				i += 2
				continue
			case 'h':
				if int(data[i]) < len(m.memo) {
					m.push(m.memo[data[i]])
					i++
					continue
				}
			}
		}
		n := 0 // bytes of the argument
		switch op {
		case 'K', 'q', 'h', 0x80:
			n = 1
		case 'M':
			n = 2
		case 'J', 'X', 'r', 'j':
			n = 4
		}
		if i+n > len(data) {
			return rangeValue{}, errShort
		}
		arg := int32(0)
		for k := n - 1; k >= 0; k-- {
			arg = arg<<8 | int32(data[i+k])
		}
		i += n
		var err error
		switch op {
		case 0x80: // PROTO
		case 'K', 'M', 'J': // BININT1, BININT2, BININT
			m.push(rangeValue{rangeInt, arg, 0})
		case 'X': // BINUNICODE
			if arg < 0 || int(arg) > len(data)-i {
				return rangeValue{}, errShort
			}
			m.push(rangeValue{rangeText, int32(i), arg})
			i += int(arg)
		case 'q', 'r': // BINPUT, LONG_BINPUT
			err = m.put(arg)
		case 'h', 'j': // BINGET, LONG_BINGET
			if arg < 0 || int(arg) >= len(m.memo) {
				return rangeValue{}, fmt.Errorf("got memo entry %d of %d", arg, len(m.memo))
			}
			m.push(m.memo[arg])
		case 'c': // GLOBAL: build_intlist, which gives back what it is given
			for range 2 {
				end := strings.IndexByte(data[i:], '\n')
				if end < 0 {
					return rangeValue{}, errShort
				}
				i += end + 1
			}
			m.push(rangeValue{rangeGlobal, 0, 0})
		case 0x8a: // LONG1
			if i, err = m.long(i); err != nil {
				return rangeValue{}, err
			}
		case '.': // STOP
			if len(m.stack) != 1 {
				return rangeValue{}, fmt.Errorf("got %d values at the end, want 1", len(m.stack))
			}
			return m.stack[0], nil
		default:
			err = m.container(op)
		}
		if err != nil {
			return rangeValue{}, fmt.Errorf("offset %d: %w", i, err)
		}
	}
	return rangeValue{}, errShort
}

// container runs the opcodes for tuples, lists and None.
func (m *rangeMachine) container(op byte) error {
	switch op {
	case 'N': // NONE
		m.push(rangeValue{})
	case '(': // MARK
		m.marks = append(m.marks, int32(len(m.stack)))
	case ')': // EMPTY_TUPLE
		m.push(rangeValue{kind: rangeTuple})
	case ']': // EMPTY_LIST
		m.push(rangeValue{kind: rangeList})
	case 't': // TUPLE
		from, err := m.mark()
		if err != nil {
			return err
		}
		m.gather(from, rangeTuple)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		n := int(op) - 0x84
		if len(m.stack) < n {
			return errors.New("got too few values for a tuple")
		}
		m.gather(len(m.stack)-n, rangeTuple)
	case 'e': // APPENDS, always to a list that is empty
		from, err := m.mark()
		if err != nil {
			return err
		}
		if from == 0 || m.stack[from-1].kind != rangeList || m.stack[from-1].b != 0 {
			return errors.New("got items without an empty list to take them")
		}
		m.gather(from, rangeList)
		m.stack[from-1] = m.stack[from]
		m.stack = m.stack[:from]
	case 'R': // REDUCE
		if len(m.stack) < 2 {
			return errors.New("got too few values for a call")
		}
		fn, args := m.stack[len(m.stack)-2], m.stack[len(m.stack)-1]
		if fn.kind != rangeGlobal || args.kind != rangeTuple || args.b != 1 {
			return errors.New("got a call, want a list of integers")
		}
		m.stack = m.stack[:len(m.stack)-1]
		m.stack[len(m.stack)-1] = m.arena[args.a]
	default:
		return fmt.Errorf("got opcode 0x%02x, want one of a debug record", op)
	}
	return nil
}

func (m *rangeMachine) push(v rangeValue) { m.stack = append(m.stack, v) }

func (m *rangeMachine) mark() (int, error) {
	n := len(m.marks) - 1
	if n < 0 || int(m.marks[n]) > len(m.stack) {
		return 0, errors.New("got no MARK")
	}
	from := int(m.marks[n])
	m.marks = m.marks[:n]
	return from, nil
}

// gather makes one value of those from a height of the stack on.
func (m *rangeMachine) gather(from int, kind uint8) {
	at := len(m.arena)
	m.arena = append(m.arena, m.stack[from:]...)
	m.stack = append(m.stack[:from], rangeValue{kind, int32(at), int32(len(m.arena) - at)})
}

func (m *rangeMachine) put(i int32) error {
	if len(m.stack) == 0 || i < 0 || int(i) > len(m.memo) {
		return fmt.Errorf("got memo entry %d after %d", i, len(m.memo))
	}
	if int(i) == len(m.memo) {
		m.memo = append(m.memo, rangeValue{})
	}
	m.memo[i] = m.stack[len(m.stack)-1]
	return nil
}

// long reads an integer of up to 8 bytes that fits 32 bits.
func (m *rangeMachine) long(i int) (int, error) {
	if i >= len(m.data) || i+1+int(m.data[i]) > len(m.data) || m.data[i] > 8 {
		return i, errShort
	}
	n := int(m.data[i])
	v := int64(0)
	for k := n; k >= 1; k-- {
		v = v<<8 | int64(m.data[i+k])
	}
	if v != int64(int32(v)) {
		return i, fmt.Errorf("got %d, want an integer of 32 bits", v)
	}
	m.push(rangeValue{rangeInt, int32(v), 0})
	return i + 1 + n, nil
}
