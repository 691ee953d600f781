package workspace

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What convolutions took on an H100 (cuDNN 9.19), beside what the same cuDNN answers without a
// device. Answers of that class are estimates because the two differ. None is above the upper
// figure.
func TestAnH100TakesOtherEngines(t *testing.T) {
	rows := recorded(t, "convolutions")
	p := on(t, "h100-sxm-80gb", "2.11")
	require.False(t, p.ChoosesAlike())
	dtypes := map[string]tensor.DType{"float32": tensor.Float32, "float16": tensor.Float16,
		"bfloat16": tensor.BFloat16}
	differ := 0
	for _, r := range rows {
		x, k, s, pad := numbers(t, r[1]), numbers(t, r[3]), numbers(t, r[4]), numbers(t, r[5])
		c := numbers(t, r[2])[0]
		v := &Convolution{Input: dense(dtypes[r[0]], tensor.Contiguous, x...),
			Weight: dense(dtypes[r[0]], tensor.Contiguous, c, x[1], k[0], k[1]),
			Stride: s, Padding: pad, Dilation: []int64{1, 1}, Groups: 1}
		out := []int64{x[0], c, (x[2]+2*pad[0]-k[0])/s[0] + 1, (x[3]+2*pad[1]-k[1])/s[1] + 1}
		measured := units.Bytes(numbers(t, r[6])[0])
		if r[6] != r[7] {
			differ++
		}
		assert.LessOrEqual(t, measured, v.CuDNN(p, out, false)[0].Upper, "%v", r)
	}
	assert.Equal(t, 342, len(rows))
	assert.Equal(t, 201, differ)
}

// numbers reads 8x64x56x56.
func numbers(t *testing.T, text string) []int64 {
	t.Helper()
	var out []int64
	for _, w := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(w, 10, 64)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}
