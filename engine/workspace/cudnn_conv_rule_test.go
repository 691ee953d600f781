package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// answeredRows are cuDNN's answers to the convolutions of five models
// (testdata/workspace/README.md).
type answeredRows struct {
	Convolutions []string
	Answers      map[string]map[string][]string
}

func readRows(t *testing.T) answeredRows {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "workspace", "rows.json"))
	require.NoError(t, err)
	var r answeredRows
	require.NoError(t, json.Unmarshal(data, &r))
	require.Len(t, r.Convolutions, 78)
	return r
}

func rowSizes(t *testing.T, text string) []int64 {
	t.Helper()
	var out []int64
	for _, f := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(f, 10, 64)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// rowConv is the convolution of a line "x w stride padding dilation groups". A single number of the
// middle three is for all dimensions.
func rowConv(t *testing.T, line string, d tensor.DType, f tensor.MemoryFormat) *Convolution {
	t.Helper()
	parts := strings.Fields(line)
	x, w := rowSizes(t, parts[0]), rowSizes(t, parts[1])
	each := func(s string) []int64 {
		n := rowSizes(t, s)
		if len(n) == 1 {
			n = slices.Repeat(n, len(x)-2)
		}
		return n
	}
	return &Convolution{
		Input: dense(d, f, x...), Weight: dense(d, f, w...),
		Stride: each(parts[2]), Padding: each(parts[3]), Dilation: each(parts[4]),
		OutputPadding: make([]int64, len(x)-2), Groups: rowSizes(t, parts[5])[0],
	}
}

// towards is the call for a gradient of a convolution whose result is of these sizes, and the sizes
// of what it makes or, for a weight's, is given.
func (v *Convolution) towards(direction string, out []int64) (*Convolution, []int64) {
	g := dense(v.Input.DType, v.Format(), out...)
	u := *v
	switch direction {
	case "dgrad":
		u.Input, u.Transposed = g, true
		return &u, v.Input.Sizes
	case "wgrad":
		u.Grad = g
	}
	return &u, out
}

// rowOut is the result's sizes.
func rowOut(v *Convolution) []int64 {
	out := []int64{v.Input.Sizes[0], v.Weight.Sizes[0]}
	for i := range v.Stride {
		out = append(out, (v.Input.Sizes[i+2]+2*v.Padding[i]-v.Dilation[i]*(v.Weight.Sizes[i+2]-1)-1)/v.Stride[i]+1)
	}
	return out
}
