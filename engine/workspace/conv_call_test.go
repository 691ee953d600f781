package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
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

// smallCall is a call whose operands are contiguous.
func smallCall() profile.Call {
	return profile.Call{
		Op: "conv", Direction: "forward", DType: "float32", Groups: 1, Input: []int64{1, 3, 8, 8},
		InputStrides: []int64{192, 64, 8, 1},
		Weight:       []int64{4, 3, 3, 3}, WeightStrides: []int64{27, 9, 3, 1}, Padding: []int64{0, 0}, Stride: []int64{1, 1},
		Dilation: []int64{1, 1},
	}
}

// TestFormatOfACall: one operand that is not contiguous makes the convolution channels last.
func TestFormatOfACall(t *testing.T) {
	input, weight := []int64{192, 1, 24, 3}, []int64{27, 1, 9, 3}
	for _, tt := range []struct {
		change func(*profile.Call)
		want   tensor.MemoryFormat
	}{
		{func(*profile.Call) {}, tensor.Contiguous},
		{func(c *profile.Call) { c.InputStrides = input }, tensor.ChannelsLast},
		{func(c *profile.Call) { c.WeightStrides = weight }, tensor.ChannelsLast},
		{func(c *profile.Call) { c.InputStrides, c.WeightStrides = input, weight }, tensor.ChannelsLast},
	} {
		call := smallCall()
		tt.change(&call)
		v, _, err := ofCall(&call)
		require.NoError(t, err)
		assert.Equal(t, tt.want, v.Format())
	}
}

// TestOperandsOfACall: what a gradient's call is given, and what it makes.
func TestOperandsOfACall(t *testing.T) {
	x, w, y := []int64{1, 3, 8, 8}, []int64{4, 3, 3, 3}, []int64{1, 4, 6, 6}
	for _, tt := range []struct {
		direction   string
		input, grad []int64
		out         []int64
	}{
		{"forward", x, nil, y}, {"dgrad", y, nil, x}, {"wgrad", x, y, y},
	} {
		call := smallCall()
		call.Direction = tt.direction
		v, out, err := ofCall(&call)
		require.NoError(t, err)
		assert.Equal(t, tt.input, v.Input.Sizes, tt.direction)
		assert.Equal(t, w, v.Weight.Sizes, tt.direction)
		assert.Equal(t, tt.out, out, tt.direction)
		assert.Equal(t, tt.direction == "dgrad", v.Transposed)
		if assert.Equal(t, tt.grad != nil, v.Grad != nil, tt.direction); v.Grad != nil {
			assert.Equal(t, tt.grad, v.Grad.Sizes)
		}
	}
}

func TestByFormulaRefuses(t *testing.T) {
	good := smallCall()
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
