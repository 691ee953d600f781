package prim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// pyString prints a value as TorchScript's str does, up to maxString bytes and maxNesting levels:
// lists may hold themselves.
func pyString(v any) string {
	var b strings.Builder
	writePy(&b, v, 0)
	return b.String()
}

// maxNesting bounds how deep pyString follows containers.
const maxNesting = 200

func writePy(b *strings.Builder, v any, depth int) {
	if depth > maxNesting || b.Len() > maxString {
		b.WriteString("...")
		return
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(pyFloat(v))
	case string:
		b.WriteString(v)
	case ops.Device:
		b.WriteString(string(v))
	case *ops.List:
		writePyItems(b, v.Items, depth, "[]")
	case *ops.Tuple:
		writePyItems(b, v.Items, depth, "()")
	case *ops.Dict:
		b.WriteByte('{')
		for i := range v.Keys {
			if b.Len() > maxString {
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			writePy(b, v.Keys[i], depth+1)
			b.WriteString(": ")
			writePy(b, v.Values[i], depth+1)
		}
		b.WriteByte('}')
	case *tensor.Tensor:
		fmt.Fprintf(b, "tensor(%v)", v.Sizes)
	default:
		b.WriteString(ops.TypeName(v))
	}
}

func writePyItems(b *strings.Builder, items []any, depth int, brackets string) {
	b.WriteByte(brackets[0])
	for i, v := range items {
		if b.Len() > maxString {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		writePy(b, v, depth+1)
	}
	if len(items) == 1 && brackets == "()" { // a tuple of one: (1,)
		b.WriteByte(',')
	}
	b.WriteByte(brackets[1])
}

// pyFloat prints a float as C++ streams do, with a point where none would show.
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'g', 17, 64) // as many digits as C++'s max_digits10
	if !strings.ContainsAny(s, ".e") {
		s += "."
	}
	return s
}
