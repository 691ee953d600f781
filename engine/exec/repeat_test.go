package exec_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// archiveInputs are the inputs that the archives' recordings name, by artifact.
func archiveInputs(t *testing.T) map[string][]exec.Input {
	t.Helper()
	out := map[string][]exec.Input{}
	for _, r := range conformance.Read(t, "../../testdata/conformance/2.15-fake-cuda") {
		inputs := r.ExecInputs(t)
		for _, s := range r.Streams {
			if s.Artifact != "" {
				out[s.Artifact] = inputs
			}
		}
	}
	require.Greater(t, len(out), 150)
	return out
}

// TestRepeat holds passes that are made from the one before against passes that are run: the same
// trace to the last site. The other platforms are where more is kept between passes: casts, trials
// of cudnn.benchmark.
func TestRepeat(t *testing.T) {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	plain, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	casting := plain
	casting.Autocast = "float16"
	casting.Benchmark = true
	repeated, runs := 0, 0
	all := archiveInputs(t)
	families := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(all)) {
		inputs := all[file]
		if big := !strings.Contains(file, "/small/"); big {
			kind := strings.Split(filepath.Base(file), ".")[1]
			family := strings.TrimRight(strings.FieldsFunc(filepath.Base(file), func(r rune) bool {
				return r == '_' || r == '.'
			})[0], "0123456789") + "." + kind
			if testing.Short() || !golden.Whole() || families[family] {
				continue // the smallest of each family, scripted and traced
			}
			families[family] = true
		}
		a, err := artifact.Open(filepath.Join("../../testdata", file))
		require.NoError(t, err)
		for i, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
			if strings.Contains(file, "/torchvision/") && i != len(file)%2 {
				continue // one of the two is enough of the big ones
			}
			o := exec.Options{Inputs: inputs, DType: tensor.Undefined, Liveness: l, Platform: &plain}
			if (len(file)/2+i)%2 == 1 {
				o.Platform = &casting
			}
			fast, errFast := runOnce(a.Program, o)
			o.RunEveryPass()
			slow, errSlow := runOnce(a.Program, o)
			require.Equal(t, errSlow, errFast, file)
			if errFast != nil {
				t.Log(file, errFast)
			}
			require.Equal(t, slow.Trace(), fast.Trace(), file)
			require.Equal(t, slow.Peak(), fast.Peak(), file)
			require.Equal(t, slow.Steps(), fast.Steps(), file)
			runs++
			if fast.Made() < slow.Made() {
				repeated++
			}
		}
	}
	t.Logf("%d of %d second passes repeated the first", repeated, runs)
	require.Greater(t, repeated, runs*9/10)
}

// A pass that repeats the one before counts against the bounds of a run as one that is run.
func TestRepeatWithinBounds(t *testing.T) {
	a, err := artifact.Open("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 32}, Strides: []int64{32, 1}, Device: "cuda"}
	o := exec.Options{Inputs: []exec.Input{{Value: x}}, DType: tensor.Undefined, Platform: &none}
	every := o
	every.RunEveryPass()
	slow, err := runOnce(a.Program, every)
	require.NoError(t, err)
	for _, tt := range []struct {
		why         string
		steps, made int // fewer than the whole run takes
		want        string
	}{
		{"all that the run takes", 0, 0, ""},
		{"a step less", 1, 0, "steps"},
		{"a storage less", 0, 1, "allocations"},
	} {
		bounded := o
		bounded.MaxSteps = slow.Steps() - tt.steps
		bounded.MakeAtMost(slow.Made() - tt.made)
		fast, err := runOnce(a.Program, bounded)
		if tt.want == "" {
			require.NoError(t, err, tt.why)
			require.Less(t, fast.Made(), slow.Made(), "the second pass repeats the first")
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.why)
	}
}

func runOnce(p *program.Program, o exec.Options) (*exec.Machine, error) {
	return exec.RunOnce(torchscript.New(p), builtin.Table(), o)
}

// TestRepeatRefuses holds that a pass which finds what the one before changed is run: the traces
// are those of passes that are run, and differ from pass to pass.
func TestRepeatRefuses(t *testing.T) {
	const tensorK = "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nLongStorage\n" +
		"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ" +
		"K\x00))\x89ccollections\nOrderedDict\n)RtR"
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	for _, c := range []struct{ reason, attrs, declared, param, body string }{
		{"an attribute is set", "X\x01\x00\x00\x00nK\x01", "n : int", "x: Tensor", `
    n = self.n
    self.n = torch.add(n, 1)
    return torch.repeat(x, [n, 1])`},
		{"an attribute's list grows", "X\x01\x00\x00\x00l](K\x01e", "l : List[int]", "x: Tensor", `
    l = self.l
    _0 = torch.append(l, 2)
    return torch.repeat(x, [torch.len(l), 1])`},
		{"an attribute's dict changes", "X\x01\x00\x00\x00d}X\x01\x00\x00\x00aK\x01s", "d : Dict[str, int]", "x: Tensor", `
    d = self.d
    n = d["a"]
    torch._set_item(d, "a", torch.add(n, 1))
    return torch.repeat(x, [n, 1])`},
		{"an argument's list grows", "", "", "x: List[Tensor]", `
    _0 = torch.append(x, x[0])
    return torch.cat(x)`},
		{"an argument is resized", "", "", "x: Tensor", `
    n = torch.size(x, 0)
    y = torch.resize_(x, [torch.add(n, 64), 32])
    return torch.add(y, 1)`},
		{"an argument gets another shape", "", "", "x: Tensor", `
    y = torch.unsqueeze_(x, 0)
    return torch.repeat(y, [torch.dim(y), 1, 1, 1])`},
		{"a tensor whose value is known is written", "X\x01\x00\x00\x00k" + tensorK, "k : Tensor", "x: Tensor", `
    k = self.k
    n = int(k)
    _0 = torch.add_(k, 1)
    return torch.repeat(x, [n, 1])`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
			src := "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
			if c.declared != "" {
				src += "  " + c.declared + "\n"
			}
			src += "  def forward(self: __torch__.M, " + c.param + ") -> Tensor:" + c.body + "\n"
			a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
				"code/__torch__.py": file(src),
				"data.pkl":          file("\x80\x02c__torch__\nM\n)\x81}(" + c.attrs + "ub."),
				"data/0":            file("\x01\x00\x00\x00\x00\x00\x00\x00")})
			require.NoError(t, err)
			var x any = tensor.Meta{DType: tensor.Float32, Sizes: []int64{64, 32}, Strides: []int64{32, 1}, Device: "cuda"}
			if strings.Contains(c.param, "List") {
				x = []exec.Input{{Value: x}}
			}
			o := exec.Options{Inputs: []exec.Input{{Value: x}}, DType: tensor.Undefined, Liveness: exec.LastUse, Platform: &none}
			m, err := runOnce(a.Program, o)
			require.NoError(t, err)
			o.RunEveryPass()
			slow, err := runOnce(a.Program, o)
			require.NoError(t, err)
			require.Equal(t, slow.Trace(), m.Trace())
			require.Empty(t, m.Trace().Coverage.Unsupported)
			sizes := map[int][]int64{}
			for _, e := range m.Trace().Events {
				if e.Action == trace.Alloc {
					sizes[e.Pass] = append(sizes[e.Pass], int64(e.Bytes))
				}
			}
			require.NotEqual(t, sizes[1], sizes[2], "passes that are the same prove nothing")
		})
	}
}
