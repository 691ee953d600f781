package pickle

import (
	"fmt"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to a pickle of which one byte is another: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	const data = "\x80\x02(N\x88\x89K\x2aM\x01\x02J\xff\xff\xff\xff\x8a\x02\x00\x80G?\xf0\x00\x00\x00\x00\x00\x00X\x02\x00\x00\x00ab\x8c\x01cq\x07h\x07C\x01z" +
		"](K\x01K\x02eK\x03a}(\x8c\x01aK\x01u\x8c\x01cK\x03s\x8f(K\x01\x90(K\x01\x91K\x01K\x020K\x012\x86ctorch\nTensor\n" +
		"K\x04\x85R}b)\x81)t."
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("said", []byte(golden.DamageBytes(a.T(), []byte(data), func(text string) (string, error) {
			o := Options{
				Globals: func(module, name string) (any, bool) { return module + "." + name, module == "torch" },
				Reduce:  func(fn any, args []any) (any, error) { return fmt.Sprint("call ", fn, shown(Tuple(args))), nil },
				Build:   func(obj, state any) (any, error) { return fmt.Sprint("build ", obj, " of ", shown(state)), nil },
				NewObj:  func(cls any, args []any) (any, error) { return fmt.Sprint("new ", cls, shown(Tuple(args))), nil },
			}
			v, err := Decode([]byte(text), o)
			if err != nil {
				return "", err
			}
			return shown(v), nil
		})))
	})
}

// shown is a value as text.
func shown(v any) string {
	list := func(open string, items []any, end string) string {
		for i, x := range items {
			if i > 0 {
				open += ", "
			}
			open += shown(x)
		}
		return open + end
	}
	switch v := v.(type) {
	case Tuple:
		return list("(", v, ")")
	case *List:
		return list("[", v.Items, "]")
	case *Set:
		return list("{", v.Items, "}")
	case *Dict:
		return list("keys [", v.Keys, "]") + list(" values [", v.Values, "]")
	case string, []byte:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
