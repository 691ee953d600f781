package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// TestByFormulaIsTheFormula: a call that is read back gets the figures of the convolution that it
// came from, for every call whose answer is known.
func TestByFormulaIsTheFormula(t *testing.T) {
	for _, a := range knownAnswers(t) {
		want := a.conv.CuDNN(a.platform, a.out, false)[0]
		likely, upper, err := ByFormula(a.platform, a.conv.Call(a.platform, a.out))
		require.NoError(t, err, a.key())
		require.Equal(t, [2]units.Bytes{want.Bytes, want.Upper}, [2]units.Bytes{likely, upper}, a.key())
	}
}

func TestByFormulaRefuses(t *testing.T) {
	good := profile.Call{
		Op: "conv", Direction: "forward", DType: "float32", Groups: 1, Input: []int64{1, 3, 8, 8},
		InputStrides: []int64{192, 64, 8, 1},
		Weight:       []int64{4, 3, 3, 3}, WeightStrides: []int64{27, 9, 3, 1}, Padding: []int64{0, 0}, Stride: []int64{1, 1},
		Dilation: []int64{1, 1},
	}
	for _, c := range []struct {
		why, want string
		change    func(*profile.Call)
	}{
		{"another operator", `got op "pool", want conv`, func(c *profile.Call) { c.Op = "pool" }},
		{"no such dtype", `got dtype "x", want one of PyTorch's, such as float32, float16, bfloat16, int64, bool`,
			func(c *profile.Call) { c.DType = "x" }},
		{"a window that does not fit", "got a window of [9 3] with stride [1 1] on an input of [1 3 8 8], want one that fits",
			func(c *profile.Call) { c.Weight = []int64{4, 3, 9, 3} }},
		{"no step", "got a window of [3 3] with stride [0 1] on an input of [1 3 8 8], want one that fits",
			func(c *profile.Call) { c.Stride = []int64{0, 1} }},
		{"more than any card holds", "size overflows int64\ngot an operand of sizes [4611686018427387904 3 8 8], want " +
			"fewer than 1125899906842624 elements",
			func(c *profile.Call) { c.Input = []int64{1 << 62, 3, 8, 8} }},
	} {
		t.Run(c.why, func(t *testing.T) {
			call := good
			c.change(&call)
			_, _, err := ByFormula(on(t, "t4", "2.6"), &call)
			assert.EqualError(t, err, c.want)
		})
	}
}
