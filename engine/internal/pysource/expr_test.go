package pysource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write prints an expression with all its brackets.
func write(x Expr) string {
	list := func(xs []Expr) string {
		parts := make([]string, len(xs))
		for i := range xs {
			parts[i] = write(xs[i])
		}
		return strings.Join(parts, ", ")
	}
	switch x := x.(type) {
	case *Const:
		return fmt.Sprintf("%#v", x.Value)
	case *Name:
		return x.ID
	case *Attr:
		return write(x.X) + "." + x.Name
	case *Index:
		return write(x.X) + "[" + write(x.At) + "]"
	case *Call:
		return fmt.Sprintf("%s%q", x.Path, x.Args)
	case *Tuple:
		return "tuple(" + list(x.Items) + ")"
	case *List:
		return "list(" + list(x.Items) + ")"
	case *Not:
		return "not(" + write(x.X) + ")"
	case *Bool:
		if x.Or {
			return "or(" + write(x.X) + ", " + write(x.Y) + ")"
		}
		return "and(" + write(x.X) + ", " + write(x.Y) + ")"
	case *Compare:
		return fmt.Sprintf("compare(is %t, not %t: %s, %s)", x.Is, x.Negated, write(x.X), write(x.Y))
	case *Cond:
		return "cond(" + write(x.Test) + " ? " + write(x.Then) + " : " + write(x.Else) + ")"
	}
	return "?"
}

func TestParseExpr(t *testing.T) {
	for _, tt := range []struct{ text, want, why string }{
		{"x", "x", "a name"},
		{" x  # a comment", "x", "blanks and comments are nothing"},
		{"self.layers[0].bias", "self.layers[0].bias", "attributes and subscripts"},
		{"x, y", "tuple(x, y)", "a tuple without brackets"},
		{"(x,)", "tuple(x)", "a tuple of one"},
		{"()", "tuple()", "and of none"},
		{"(x)", "x", "brackets alone make none"},
		{"[x, y,]", "list(x, y)", "a last comma"},
		{"[]", "list()", "an empty list"},
		{"None", "<nil>", "a constant"},
		{"-12", "-12", "an integer has its sign"},
		{"'a b'", `"a b"`, "a string"},
		{"not a and b or c", "or(and(not(a), b), c)", "not binds tighter than and, and that tighter than or"},
		{"not not a", "not(not(a))", "twice"},
		{"x is not None", "compare(is true, not true: x, <nil>)", "identity is asked of None alone"},
		{"x == 1", "compare(is false, not false: x, 1)", "equality"},
		{"x != 'a'", `compare(is false, not true: x, "a")`, "and its opposite"},
		{"a if b else c if d else e", "cond(b ? a : cond(d ? c : e))", "conditions lean right"},
		{"torch.jit.annotate(List[int], x)", `torch.jit.annotate["List[int]" "x"]`, "arguments stay text"},
		{"f()", "f[]", "a call without any"},
		{"f(*a)[0]", `f["*a"][0]`, "arguments that are no expression here"},
		{"nothing", "nothing", "a name may begin with a keyword"},
		{"x . y", "x.y", "blanks around a point"},
		{"x.\\\n y . z [ 0 ]", "x.y.z[0]", "and around more"},
		{"f ( a )", `f["a"]`, "and around a call's brackets"},
		{"x\\\n.y", "x.y", "a line goes on behind a backslash"},
	} {
		x, ok := ParseExpr(tt.text)
		require.True(t, ok, "%s: %s", tt.text, tt.why)
		require.Equal(t, tt.want, write(x), tt.why)
	}
}

func TestParseExprRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":             "nothing",
		"x + y":        "an operator computes",
		"-x":           "so does a sign",
		"1.5":          "no float is needed",
		"0x10":         "nor a hexadecimal number",
		"x is y":       "identity of values is not known",
		`'a\n'`:        "an escape",
		"'''a'''":      "three quotes",
		"'a":           "a string without an end",
		"f'{x}'":       "a string that computes",
		"x for x in y": "a comprehension",
		"lambda: x":    "a function",
		"x if y":       "a condition without its other end",
		"(x":           "a bracket that nothing closes",
		"x)":           "and one that nothing opens",
		"x.":           "an attribute without a name",
		"[x y]":        "no comma",
		"x[1:2]":       "a slice",
		"x[1](y)":      "a call of a member",
		"(a, b)(y)":    "a call of what is no name",
		strings.Repeat("(", maxNesting+1) + "x" + strings.Repeat(")", maxNesting+1): "deeper than the limit",
		strings.Repeat("a or ", 1000) + "a":                                         "longer than the limit",
		strings.Repeat("not ", 1000) + "a":                                          "longer than the limit",
		"a" + strings.Repeat(".b", 1000):                                            "longer than the limit",
	} {
		_, ok := ParseExpr(text)
		require.False(t, ok, "%.40q: %s", text, why)
	}
}
