package inductor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	artifact "github.com/memspec/memspec/engine/artifact/inductor"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/inductor"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestSeveralWithoutARule: of an operator without a rule that has one name for its results, those take memory that the wrapper tells of; one whose size
// is read off data behind it cannot be known yet: it takes none, and the others keep their numbers.
func TestSeveralWithoutARule(t *testing.T) {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	in := exec.Input{Value: tensor.Meta{DType: tensor.Float32, Sizes: []int64{4, 8}, Strides: []int64{8, 1}, Device: exec.Accelerator}}
	for _, tt := range []struct {
		why, first, second string // the results' sizes; a result of which nothing is told has none
		returned           string
		want               []int64
		unknown            int // results whose memory is not known, in two passes
		err                string
	}{
		{"both are told", "(3, 8)", "(5, 8)", "buf1, buf2", []int64{96, 160}, 0, ""},
		{"nothing is told of the first", "", "(5, 8)", "buf2", []int64{160}, 2, ""},
		{"the first is as large as a number that is read later", "(u0, 8)", "(5, 8)", "buf2", []int64{160}, 2, ""},
		{"the second is as large as a number that is read later", "(3, 8)", "(u0, 8)", "buf1", []int64{96}, 2, ""},
		{"larger than any memory", "(3, 8)", "(4611686018427387904, 8)", "buf1", nil, 0, "overflow"},
	} {
		told := func(name, sizes string) string {
			if sizes == "" {
				return ""
			}
			return "            assert_tensor_metadata(" + name + ", " + sizes + ", (8, 1), torch.float32, 'torch.ops.mine.parts.default')\n"
		}
		code := "# AOT ID: ['0_inference']\nclass Runner:\n    def call(self, args):\n        arg0_1, arg1_1 = args\n        args.clear()\n" +
			"        assert_size_stride_grouped((arg0_1, ), ((4, 8), ), ((8, 1), ), 'input')\n        with torch.cuda._DeviceGuard(0):\n            torch.cuda.set_device(0)\n" +
			"            buf0 = torch.ops.mine.parts.default(arg0_1)\n            buf1 = buf0[0]\n" + told("buf1", tt.first) + "            buf2 = buf0[1]\n" + told("buf2", tt.second) +
			"            u0 = arg1_1.item()\n            return (" + tt.returned + ", )\n\ndef get_args():\n    arg0_1 = rand_strided((4, 8), (8, 1), device='cuda:0', dtype=torch.float32)\n" +
			"    arg1_1 = rand_strided((), (), device='cuda:0', dtype=torch.int64)\n    return [arg0_1, arg1_1]\n"
		w, err := artifact.DecodeWrapper(code, "w.py")
		require.NoError(t, err, tt.why)
		number := exec.Input{Value: tensor.Meta{DType: tensor.Int64, Device: exec.Accelerator}}
		r, err := exec.Run(context.Background(), inductor.New(w.Program), builtin.Table(), exec.Options{Inputs: []exec.Input{in, number}, Platform: &on})
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		require.NoError(t, r.Trace.Validate(), tt.why)
		var got []int64
		for _, e := range r.Trace.Events {
			if e.Pass == 1 && e.Action == trace.Alloc {
				got = append(got, int64(e.Bytes))
			}
		}
		assert.Equal(t, tt.want, got, tt.why)
		assert.Equal(t, tt.unknown, r.Trace.Coverage.TensorOutputs-r.Trace.Coverage.KnownDType, tt.why)
		require.NotEmpty(t, r.Trace.Coverage.Unsupported, tt.why)
		assert.Equal(t, "mine::parts", r.Trace.Coverage.Unsupported[0].Op, tt.why)
	}
}
