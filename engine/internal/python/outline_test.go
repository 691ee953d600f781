package python

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOutline: what an outline leaves as text, and the line of each statement behind it.
func TestOutline(t *testing.T) {
	f := &File{Name: "f.py", Source: `class C(Module):
  a : Final[List[int]] = [1,
    2 ]
  b : Tuple[int,
    Dict[str, int]]
  __annotations__["c d"] = Tuple[()]
  e = {"k": "}", "l": ')'}  
  f=3
  def m(self: C,
    x: Dict[str, int]={"k": 1, "l": (2, 3)},
    y: str=",)=:",
    z: int = -1 ) -> Tuple[int,
    str]:
    return x

    return y
  g : int
  h = 3, 4
def n(x : Tensor, y=[1, 2], z) -> Tensor:
  return x
`}
	require.NoError(t, new(Parser).Outline(f))
	text := func(x Expr) string {
		if x == nil {
			return "-"
		}
		r, ok := x.(*Raw)
		require.True(t, ok, "%T", x)
		assert.Equal(t, f.Text(r.Span), r.Text)
		return strings.ReplaceAll(r.Text, "\n", "~")
	}
	var got []string
	add := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	var walk func(list []Stmt)
	walk = func(list []Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ClassDef:
				add("class %s", s.Name)
				walk(s.Body)
			case *Assign:
				add("%d: %s : %s = %s", s.Line, f.Text(s.Targets[0].Bounds()), text(s.Type), text(s.Value))
			case *FuncDef:
				at, line, indent := s.Unread()
				add("%d: def %s -> %s, from line %d, indented by %d: %q", s.Line, s.Name, text(s.Result), line, indent,
					f.Text(at))
				for _, p := range s.Params {
					add("  %s : %s = %s", p.Name, text(p.Type), text(p.Default))
				}
			}
		}
	}
	walk(f.Body)
	assert.Equal(t, []string{
		"class C",
		"2: a : Final[List[int]] = [1,~    2 ]",
		"4: b : Tuple[int,~    Dict[str, int]] = -",
		`6: __annotations__["c d"] : - = Tuple[()]`,
		`7: e : - = {"k": "}", "l": ')'}`,
		"8: f : - = 3",
		`9: def m -> Tuple[int,~    str], from line 14, indented by 2: "    return x\n\n    return y\n"`,
		"  self : C = -",
		`  x : Dict[str, int] = {"k": 1, "l": (2, 3)}`,
		`  y : str = ",)=:"`,
		"  z : int = -1",
		"17: g : int = -",
		"18: h : - = 3, 4",
		`19: def n -> Tensor, from line 20, indented by 0: "  return x\n"`,
		"  x : Tensor = -",
		"  y : - = [1, 2]",
		"  z : - = -",
	}, got)

	for _, tt := range [][2]string{
		{"def f(x: =3):\n  pass\n", `1:10: got "=", want expression`},
		{"def f(x=,):\n  pass\n", `1:9: got ",", want expression`},
		{"def f(x: int=):\n  pass\n", `1:14: got ")", want expression`},
		{"def f() -> :\n  pass\n", `1:12: got ":", want expression`},
		{"def f() -> Tensor\n  pass\n", `1:18: got newline, want ":"`},
		{"def f(x: List[int, y: int):\n  pass\n", `2:3: got "pass", want ")"`},
		{"class C:\n  a :\n", "2:6: got newline, want expression"},
		{"class C:\n  a : int =\n", "2:12: got newline, want expression"},
		{"class C:\n  a = )\n", `2:7: got ")", want expression`},
		{"class C:\n  a : = 3\n", `2:7: got "=", want expression`},
		{"class C:\n  a = \"x\n", "2:9: got newline in a string, want \""},
		{"class C:\n  a\n", `2:4: got newline, want ":" or "="`},
		{"class C:\n  a = 3]\n  b = 4\n", `2:8: got "]", want newline`},
	} {
		err := new(Parser).Outline(&File{Name: "f.py", Source: tt[0]})
		assert.EqualError(t, err, "f.py:"+tt[1], "%q", tt[0])
	}
}
