package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode writes a value as a pickle of protocol 4, which Python and Decode read. It knows nil,
// bool, int, int64, uint64, float64, string, Tuple, *List and *Dict. Nothing is shared: a value
// that refers to itself is an error.
func Encode(v any) ([]byte, error) {
	e := encoder{buf: []byte{0x80, 4}}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return append(e.buf, opStop), nil
}

// maxEncodeDepth ends values that hold themselves.
const maxEncodeDepth = 100

type encoder struct{ buf []byte }

func (e *encoder) op(b ...byte) { e.buf = append(e.buf, b...) }

func (e *encoder) value(v any, depth int) error {
	if depth > maxEncodeDepth {
		return fmt.Errorf("got values nested more than %d deep", maxEncodeDepth)
	}
	switch v := v.(type) {
	case nil:
		e.op('N')
	case bool:
		if v {
			e.op(0x88)
		} else {
			e.op(0x89)
		}
	case int:
		e.int(int64(v))
	case int64:
		e.int(v)
	case uint64:
		if v <= math.MaxInt64 {
			e.int(int64(v))
			break
		}
		e.op(0x8a, 9)
		e.buf = append(binary.LittleEndian.AppendUint64(e.buf, v), 0)
	case float64:
		e.op('G')
		e.buf = binary.BigEndian.AppendUint64(e.buf, math.Float64bits(v))
	case string:
		e.op('X')
		e.buf = append(binary.LittleEndian.AppendUint32(e.buf, uint32(len(v))), v...)
	case Tuple:
		e.op('(')
		if err := e.values(v, depth); err != nil {
			return err
		}
		e.op('t')
	case *List:
		e.op(']', '(')
		if err := e.values(v.Items, depth); err != nil {
			return err
		}
		e.op('e')
	case *Dict:
		e.op('}', '(')
		for i := range v.Keys {
			if err := e.values([]any{v.Keys[i], v.Values[i]}, depth); err != nil {
				return err
			}
		}
		e.op('u')
	default:
		return fmt.Errorf("got %T, want plain data", v)
	}
	return nil
}

func (e *encoder) values(items []any, depth int) error {
	for _, item := range items {
		if err := e.value(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) int(n int64) {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		e.op('K', byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		e.op('J')
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
	default:
		e.op(0x8a, 8)
		e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(n))
	}
}
