package locals

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestValue: what expressions of a user's source evaluate to, as the function's names stand.
func TestValue(t *testing.T) {
	const source = `def forward(self, x):
    none = None
    one = 1
    pair = (x, one)
    return self.f(x)
`
	for _, c := range []struct{ text, want, why string }{
		{"x", "X", "a name"},
		{" x  # a comment", "X", "blanks and comments are nothing"},
		{"x, one", "(X,1)", "a tuple without brackets"},
		{"(x,)", "(X)", "a tuple of one"},
		{"()", "()", "and of none"},
		{"(x)", "X", "brackets alone make none"},
		{"[x, one,]", "[X,1]", "a last comma"},
		{"[]", "[]", "an empty list"},
		{"None", "None", "a constant"},
		{"True", "true", "another"},
		{"False", "false", "and another"},
		{"-12", "-12", "an integer with a sign"},
		{"'a b'", `"a b"`, "a string"},
		{`'a\n' "b"`, `"a\nb"`, "an escape, and two strings beside each other"},
		{"pair[0]", "X", "a subscript"},
		{"pair[-1]", "1", "from the end"},
		{"[pair, one][0][1]", "1", "of a container that is made for it"},
		{"not one", "false", "not"},
		{"not not one", "true", "twice"},
		{"not none and one or x", "1", "not binds tighter than and, and that tighter than or"},
		{"none or x", "X", "or gives its side, not a bool"},
		{"none and unknown", "None", "a side that is not reached need not be known"},
		{"one or unknown", "1", "nor of or"},
		{"one and none", "None", "and gives the other side"},
		{"none is None", "true", "identity with None"},
		{"x is not None", "true", "and its opposite"},
		{"x is None", "false", "of what is a tensor"},
		{"not x is None", "true", "not binds looser than is"},
		{"one == 1", "true", "equality"},
		{"one != 'a'", "true", "and its opposite"},
		{"(one == 1) == True", "true", "a comparison in brackets is an operand"},
		{"one if x is None else none if one else x", "None", "conditions lean right"},
		{"x if one else unknown", "X", "the side that is not taken need not be known"},
		{"torch.jit.annotate(List[int], [one])", "[1]", "annotate gives its value"},
		{"torch.jit . annotate ( Optional[T], torch.jit.annotate(T, pair[1]) )", "1", "one in another"},
		{"torch.jit.is_scripting()", "false", "the model is not being scripted"},
		{"has_torch_function_unary(x)", "false", "nor has a tensor subclass"},

		{"", "", "nothing"},
		{"unknown", "", "a name without a value"},
		{"one + 1", "", "an operator computes"},
		{"-one", "", "so does a sign"},
		{"1.5", "", "no float is needed"},
		{"0x10", "", "nor a hexadecimal number"},
		{"x is one", "", "identity of values is not known"},
		{"one == 1 == 1", "", "a chain of comparisons"},
		{"one is None is None", "", "another"},
		{"one == not one", "", "no operand"},
		{"x == x", "", "tensors are not compared"},
		{"f'{x}'", "", "a string that computes"},
		{"b'x'", "", "bytes"},
		{"x for x in pair", "", "a comprehension"},
		{"lambda: x", "", "a function"},
		{"x if one", "", "a condition without its other end"},
		{"(x", "", "a bracket that nothing closes"},
		{"x)", "", "and one that nothing opens"},
		{"[x one]", "", "no comma"},
		{"pair[0:1]", "", "a slice"},
		{"pair[2]", "", "a place that the tuple has not"},
		{"pair[-3]", "", "nor from its end"},
		{"x[0]", "", "of a tensor"},
		{"x(one)", "", "a call of a local"},
		{"x.is_scripting()", "", "or of its method"},
		{"pair[1](one)", "", "a call of a member"},
		{"f(one)", "", "a call of what is not known"},
		{"torch.jit.annotate(int)", "", "annotate without a value"},
		{"torch.jit.annotate(int, +)", "", "or with one that is no expression"},
		{strings.Repeat("(", 500) + "x" + strings.Repeat(")", 500), "", "deeper than the limit"},
		{strings.Repeat("x or ", 1000) + "x", "", "longer than the limit"},
	} {
		r := newRunner(t, source, []string{"5 y=A"})
		r.step(0, "5 y=A")
		v, ok := r.scope.value(c.text)
		assert.Equal(t, c.want != "", ok, "%.40q: %s", c.text, c.why)
		if ok {
			r.Hold(v)
			assert.Equal(t, c.want, text(v), c.why)
			r.Drop(v)
		}
		r.scope.Leave()
		for _, left := range r.values {
			require.LessOrEqual(t, left.refs, 1, "%.40q holds %s: %s", c.text, left.name, c.why)
		}
	}
}
