package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// show prints a source's statements, one a line: kind, place in the tree, targets, right side.
func show(s *pySource) string {
	kinds := [...]string{"", " if", " for", " while", " with", " other", " leave", " break"}
	var b strings.Builder
	for i := range s.stmts {
		st := &s.stmts[i]
		fmt.Fprintf(&b, "%d in %d.%d after %d%s", i, st.parent, st.suite, st.after, kinds[st.kind])
		for _, g := range st.targets {
			fmt.Fprintf(&b, " %s", strings.Join(g.names, ","))
			if g.tuple {
				b.WriteByte('*')
			}
			if g.deep {
				b.WriteByte('/')
			}
			b.WriteByte('=')
		}
		if len(st.targets) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(strings.Fields(s.text[st.right:st.end]), " "))
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
			why:   "an alias, a chain and a tuple of targets",
			text:  "def f(self, x):\n    y = x\n    a = b = y\n    c, d = g(x)\n    return c\n",
			want:  "0 in -1.0 after 1 y= x\n1 in -1.0 after 2 a= b= y\n2 in -1.0 after 3 c,d*= g(x)\n3 in -1.0 after 4 leave\n",
			order: "y a b c d",
		},
		{
			why:   "brackets join lines, and a comment or a string may hold anything",
			text:  "def f(x):\n    \"\"\"doc = x\n    more\"\"\"\n    y = g(  # y = z\n        'a = b',\n        x)\n    z = [x, y]  # w = 1\n",
			want:  "0 in -1.0 after 1\n1 in -1.0 after 2 y= g( # y = z 'a = b', x)\n2 in -1.0 after 3 z= [x, y]\n",
			order: "y z",
		},
		{
			why:   "blocks nest, an else is the second suite of its if, a suite may stand on the header's line",
			text:  "def f(x):\n    for i, l in enumerate(x):\n        if i: y = x\n        else:\n            y = g(l)\n    del y\n",
			want:  "0 in -1.0 after 4 for i,l*= enumerate(x):\n1 in 0.0 after 4 if\n2 in 1.0 after 3 y= x\n3 in 1.1 after 4 y= g(l)\n4 in -1.0 after 5 del [y]\n",
			order: "i l y",
		},
		{
			why:   "an elif is an if in the else before it; what follows belongs to it",
			text:  "def f(x):\n    if a:\n        y = 1\n    elif b:\n        y = 2\n    else:\n        y = 3\n    z = y\n",
			want:  "0 in -1.0 after 5 if\n1 in 0.0 after 2 y= 1\n2 in 0.1 after 5 if\n3 in 2.0 after 4 y= 2\n4 in 2.1 after 5 y= 3\n5 in -1.0 after 6 z= y\n",
			order: "y z",
		},
		{
			why:   "augmented and annotated assignments bind, attributes and subscripts bind no name",
			text:  "def f(x):\n    x += 1\n    y: Tensor = x\n    self.a, z[0] = x, y\n    w = x == y\n    v <<= 1\n",
			want:  "0 in -1.0 after 1 x= 1\n1 in -1.0 after 2 y= x\n2 in -1.0 after 3 ,*= x, y\n3 in -1.0 after 4 w= x == y\n4 in -1.0 after 5 v= 1\n",
			order: "x y w v",
		},
		{
			why:   "nested targets do not stand for members by place, one name in brackets is a tuple of one",
			text:  "def f(x):\n    for i, (p, q) in enumerate(zip(a, b)):\n        [r] = p\n        (s) = q\n        t, *u = p\n",
			want:  "0 in -1.0 after 4 for i,p,q*/= enumerate(zip(a, b)):\n1 in 0.0 after 2 r*= p\n2 in 0.0 after 3 s= q\n3 in 0.0 after 4 t,u*/= p\n",
			order: "i p q r s t u",
		},
		{
			why:   "decorators come before the function, semicolons part statements, a function may stand on one line",
			text:  "    @staticmethod\n    @torch.no_grad()\n    def f(a, b: int = 3) -> int: c = a; d = c\n",
			want:  "0 in -1.0 after 1 c= a\n1 in -1.0 after 2 d= c\n",
			order: "c d",
		},
		{
			why:   "a with is one suite, its name is bound; keyword arguments are no names; break and raise leave",
			text:  "def f(x):\n    with g(k=x) as k:\n        y = k(x, x=2)\n        break\n    raise E\n",
			want:  "0 in -1.0 after 3 with k= g(k=x) as k:\n1 in 0.0 after 2 y= k(x, x=2)\n2 in 0.0 after 3 break\n3 in -1.0 after 4 leave\n",
			order: "k y",
		},
		{
			why:   "a name is numbered where it is first read or written, a right side before its targets",
			text:  "def f(x):\n    a = b\n    b = a\n    for c in d:\n        d = c\n",
			want:  "0 in -1.0 after 1 a= b\n1 in -1.0 after 2 b= a\n2 in -1.0 after 4 for c= d:\n3 in 2.0 after 4 d= c\n",
			order: "b a d c",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			s := readPython(tt.text)
			require.Equal(t, tt.want, show(s))
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
		{"x0", "x", true, "but may be zero"},
		{"xs", "x", false, "another name"},
		{"x1y", "x", false, "another name"},
		{"x", "", false, "an attribute is no name"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, printedAs(tt.name, tt.local), tt.why)
	}
}
