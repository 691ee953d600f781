package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// show prints a source's statements, one a line: nesting, targets, names on the right side.
func show(s *pySource, text string) string {
	var b strings.Builder
	for i := range s.stmts {
		st := &s.stmts[i]
		fmt.Fprintf(&b, "%d in %d:", i, st.parent)
		if st.loop {
			b.WriteString(" loop")
		}
		for _, g := range st.targets {
			fmt.Fprintf(&b, " %s=", strings.Join(g, ","))
		}
		if st.names != nil {
			fmt.Fprintf(&b, " %v list=%v", st.names, st.list)
		}
		if st.del != nil {
			fmt.Fprintf(&b, " del %v", st.del)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestReadPython(t *testing.T) {
	tests := []struct{ why, text, want, order string }{
		{
			why:   "an alias, a chain and a tuple of targets are told apart from calls",
			text:  "def f(self, x):\n    y = x\n    a = b = y\n    c, d = g(x)\n    return c\n",
			want:  "0 in -1: y= [x] list=false\n1 in -1: a= b= [y] list=false\n2 in -1: c,d=\n3 in -1:\n",
			order: "y a b c d",
		},
		{
			why:   "brackets join lines, and a comment or a string may hold anything",
			text:  "def f(x):\n    \"\"\"doc = x\n    more\"\"\"\n    y = g(  # y = z\n        'a = b',\n        x)\n    z = [x, y]\n",
			want:  "0 in -1:\n1 in -1: y=\n2 in -1: z= [x y] list=true\n",
			order: "y z",
		},
		{
			why:   "blocks nest, loops are known, a suite may stand on the header's line",
			text:  "def f(x):\n    for i, l in enumerate(x):\n        if i: y = x\n        else:\n            y = g(l)\n    del y\n",
			want:  "0 in -1: loop i,l=\n1 in 0:\n2 in 1: y= [x] list=false\n3 in 0:\n4 in 3: y=\n5 in -1: del [y]\n",
			order: "i l y",
		},
		{
			why:   "augmented and annotated assignments bind, attributes and subscripts bind no name",
			text:  "def f(x):\n    x += 1\n    y: Tensor = x\n    self.a, z[0] = x, y\n    w = x == y\n",
			want:  "0 in -1: x=\n1 in -1: y= [x] list=false\n2 in -1: ,= [x y] list=true\n3 in -1: w=\n",
			order: "x y w",
		},
		{
			why:   "decorators come before the function, semicolons part statements",
			text:  "    @staticmethod\n    def f(a, b: int = 3) -> int:\n        c = a; d = c\n",
			want:  "0 in -1: c= [a] list=false\n1 in -1: d= [c] list=false\n",
			order: "c d",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			s := readPython(tt.text)
			require.Equal(t, tt.want, show(s, tt.text))
			require.Equal(t, tt.order, strings.Join(s.order, " "))
		})
	}
}

func TestPrintedAs(t *testing.T) {
	tests := []struct {
		name, local string
		want        bool
		why         string
	}{
		{"x", "x", true, "the first of its name has no counter"},
		{"x19", "x", true, "the printer counts up in a file"},
		{"x1", "x1", true, "the user's own name may end in a digit"},
		{"x01", "x", false, "counters have no leading zero"},
		{"xs", "x", false, "another name"},
		{"x1y", "x", false, "another name"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, printedAs(tt.name, tt.local), tt.why)
	}
}

func TestBetween(t *testing.T) {
	text := "def f(x):\n    y = g(x)\n    k = y\n    for l in ls:\n        z = k\n        y = l(y)\n        w = y\n    return y\n"
	s := readPython(text)
	//  0 y= 1 k=y 2 for 3 z=k 4 y=l(y) 5 w=y 6 return
	tests := []struct {
		i, j int
		want []int
		why  string
	}{
		{0, 4, []int{1, 3}, "aliases before the loop and at its start"},
		{4, 4, []int{5, 3}, "the loop goes round: to its end, then from its start"},
		{4, 6, []int{5}, "out of the loop"},
		{-1, 0, nil, "nothing before the first statement"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, s.between(tt.i, tt.j), tt.why)
	}
}
