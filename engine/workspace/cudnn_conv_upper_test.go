package workspace

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// TestAnswersWithinUpper holds that no answer of cuDNN's in the repository's profiles is above what
// a report without a profile has for its most: T4's Winograd kernels, whose filters are four times
// the weight, and 3-d convolutions are among them. TestRowsByRule has other answers.
func TestAnswersWithinUpper(t *testing.T) {
	devices := map[string]string{"sm70": "v100-16gb", "sm75-small": "t4", "sm80": "a100-sxm-80gb", "sm86": "rtx-3090", "sm89": "rtx-4090", "sm90": "h100-sxm-80gb"}
	dtypes := map[string]tensor.DType{"float32": tensor.Float32, "float16": tensor.Float16, "bfloat16": tensor.BFloat16}
	held := 0
	for _, file := range []string{"testdata/workspace/kinds.workspace.json", "testdata/workspace/peaks.workspace.json", "memspec.workspace.json"} {
		asked, err := profile.Load(filepath.Join("..", "..", file))
		require.NoError(t, err)
		for _, g := range asked.Groups() {
			device, ok := devices[g.Class]
			if !ok || g.Library != "cudnn" {
				continue
			}
			p := on(t, device, "2.15")
			for i := range g.Entries {
				e := &g.Entries[i]
				d, ok := dtypes[e.DType]
				if !ok || e.Op != "conv" {
					continue
				}
				f := tensor.Contiguous
				if len(e.InputStrides) > 1 && e.InputStrides[1] == 1 && e.Input[1] > 1 {
					f = tensor.ChannelsLast
					if len(e.Input) == 5 {
						f = tensor.ChannelsLast3d
					}
				}
				v := &Convolution{Input: dense(d, f, e.Input...), Weight: dense(d, f, e.Weight...), Transposed: e.Direction == "dgrad"}
				out := []int64{e.Input[0], e.Weight[0]}
				for j, k := range e.Weight[2:] {
					out = append(out, (e.Input[j+2]+2*e.Padding[j]-e.Dilation[j]*(k-1)-1)/e.Stride[j]+1)
				}
				if e.Direction == "wgrad" {
					v.Grad = dense(d, f, out...)
				}
				n := convBytes{int64(v.Input.NBytes()), int64(v.Weight.NBytes()), tensor.Numel(out) * d.ItemSize()}
				held++
				assert.LessOrEqual(t, e.Bytes, units.Bytes(v.upperByRule(p, n, out)), "%s %s %s: %s", file, g.Version, g.Class, e.Key())
			}
		}
	}
	assert.Greater(t, held, 2000)
}

func TestUpperOfHugeOperands(t *testing.T) {
	v := &Convolution{Input: dense(tensor.Float32, tensor.Contiguous, 1, 1<<30, 1<<15, 1<<15), Weight: dense(tensor.Float32, tensor.Contiguous, 1, 1<<30, 1, 1)}
	n := convBytes{in: math.MaxInt64, weight: 1 << 32, out: 1 << 32}
	assert.Positive(t, v.upperByRule(on(t, "t4", "2.15"), n, []int64{1, 1, 1 << 15, 1 << 15}))
}
