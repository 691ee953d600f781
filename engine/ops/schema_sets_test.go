package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/schema"
)

// A return is a view of the argument with which it shares a set; of a wildcard nothing is known.
func TestSharedAliasSets(t *testing.T) {
	assert.True(t, shareSet("a", "a"))
	assert.True(t, shareSet("a", "b|a"))
	assert.False(t, shareSet("a", "b"))
	assert.False(t, shareSet("a", "ab"))
	assert.False(t, shareSet("*", "*"))
}

// What a return is, by its annotation: the first argument that shares a set with it, written in
// place or seen.
func TestResultsBySchema(t *testing.T) {
	for _, tt := range []struct {
		schema string
		want   []Result
		why    string
	}{
		{"a::f(Tensor x) -> Tensor", []Result{{}}, "no set"},
		{"a::f(Tensor x, Tensor(a) y) -> Tensor(a)", []Result{{Mode: View, Arg: 1}}, "a view of the second"},
		{"a::f(Tensor x, Tensor(a!) y) -> Tensor(a!)", []Result{{Mode: InPlace, Arg: 1}}, "the second, written"},
		{"a::f(Tensor(a) x, Tensor(b) y) -> Tensor(a|b)", []Result{{Mode: View, Arg: 0}}, "the first of two"},
		{"a::f(Tensor x, Tensor(a) y, Tensor(a) z, Tensor u) -> Tensor(a)", []Result{{Mode: View, Arg: 1}},
			"the first of two of one set"},
		{"a::f(Tensor(a!) x, *, Tensor(b!) y, Tensor(c!) z) -> (Tensor(b!), Tensor(c!))",
			[]Result{{Mode: InPlace, Arg: 1}, {Mode: InPlace, Arg: 2}}, "each by its set"},
		{"a::f(Tensor(a -> *) x) -> Tensor(a)[]", []Result{{Mode: View, List: true}}, "a list of views"},
		{"a::f(Tensor x) -> Tensor[]", []Result{{List: true}}, "a list of new ones"},
		{"a::f(Tensor(a!)[] x) -> Tensor(a!)[]", []Result{{Mode: InPlace, List: true}}, "a list, written"},
		{"a::f(Tensor(a)? x) -> Tensor(a)?", []Result{{Mode: View}}, "a view or none"},
	} {
		s, err := schema.Parse(tt.schema)
		require.NoError(t, err, tt.schema)
		assert.Equal(t, tt.want, results(s), tt.why)
	}
}
