package inductor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// stepWrapper is a forward and a backward pass: y = x·w, of which a kernel's result is saved.
func stepWrapper(forward, backward string) string {
	file := func(kind, code, arguments string) string {
		return "# AOT ID: ['0_" + kind + "']\nclass Runner:\n    def call(self, args):\n        " + strings.ReplaceAll(code, "\n", "\n        ") +
			"\n\ndef get_args():\n    " + strings.ReplaceAll(arguments, "\n", "\n    ") + "\n"
	}
	const example = " = rand_strided((8, 4), (4, 1), device='cuda:0', dtype=torch.float32)"
	return file("forward", forward, "primals_1"+example+"\nprimals_2"+example) + file("backward", backward, "primals_2"+example+"\nmul"+example+"\ntangents_1"+example)
}

const (
	stepForward  = "primals_1, primals_2 = args\nargs.clear()\nbuf0 = empty_strided_cuda((8, 4), (4, 1), torch.float32)\nbuf1 = empty_strided_cuda((8, 4), (4, 1), torch.float32)\nreturn (buf0, primals_2, buf1, )"
	stepBackward = "primals_2, mul, tangents_1 = args\nargs.clear()\ndel mul\nbuf0 = empty_strided_cuda((8, 4), (1, 8), torch.float32)\nreturn (None, buf0, )"
)

// TestStep: what a forward pass returns behind the outputs are the first arguments of its backward pass, whose gradients are the leaves'.
func TestStep(t *testing.T) {
	w, err := DecodeWrapper(stepWrapper(stepForward, stepBackward), "w.py")
	require.NoError(t, err)
	require.NoError(t, program.Check(w.Program))
	assert.True(t, w.Training)
	const buffer = " -> float32[8, 4] strides [4, 1] cuda; "
	assert.Equal(t, "buf0%2 inductor::empty_strided()"+buffer+"buf1%3 inductor::empty_strided()"+buffer+"inductor::free(primals_1%0); inductor::backward(); "+ // the forward pass, and its hold on what it does not return
		"inductor::free(buf1%3); buf0%5 inductor::empty_strided() -> float32[8, 4] strides [1, 8] cuda; inductor::free(primals_2%1); inductor::free(tangents_1%4); "+
		"gradient of primals_2%6 inductor::accumulate_grad(buf0%5, False).gradient of primals_2"+buffer+"return [buf0%2, gradient of primals_2%6]", nodes(t, w.Program))
	var params []string
	for _, p := range w.Entry.Params {
		params = append(params, p.Name)
	}
	assert.Equal(t, []string{"primals_1", "primals_2", "tangents_1"}, params, "what is saved is no argument of the step")
}

// TestHeldTwice: one tensor as an output and saved, saved twice, or the gradient of two, is held by each; a gradient that another holds too is copied.
func TestHeldTwice(t *testing.T) {
	for _, tt := range []struct{ why, forward, backward, want string }{
		{"an output that is saved too", strings.Replace(stepForward, "buf1, )", "buf0, )", 1), stepBackward, "buf0%4 inductor::alias(buf0%2); inductor::free(buf0%4)"},
		{"one gradient of two arguments", stepForward, strings.Replace(stepBackward, "(None, buf0, )", "(buf0, buf0, )", 1), "buf0%6 inductor::alias(buf0%5); gradient of primals_1%7 inductor::accumulate_grad(buf0%6, True)"},
		{"the second then takes it over", stepForward, strings.Replace(stepBackward, "(None, buf0, )", "(buf0, buf0, )", 1), "gradient of primals_2%8 inductor::accumulate_grad(buf0%5, False)"},
		{"a gradient that the caller holds", stepForward, strings.Replace(stepBackward, "(None, buf0, )", "(None, tangents_1, )", 1), "inductor::accumulate_grad(tangents_1%6, True)"},
	} {
		w, err := DecodeWrapper(stepWrapper(tt.forward, tt.backward), "w.py")
		require.NoError(t, err, tt.why)
		require.NoError(t, program.Check(w.Program), tt.why)
		assert.Contains(t, nodes(t, w.Program), tt.want, tt.why)
	}
}

func TestStepRefused(t *testing.T) {
	whole := stepWrapper(stepForward, stepBackward)
	forward, backward, _ := strings.Cut(whole, "# AOT ID: ['0_backward']")
	backward = "# AOT ID: ['0_backward']" + backward
	for _, tt := range []struct{ why, text, want string }{
		{"the backward pass first", backward + forward, "14:1: got a wrapper of 0_forward behind one of 0_backward, want one graph, or a forward pass and its backward pass"},
		{"of another graph", strings.Replace(whole, "0_backward", "1_backward", 1), "13:1: got a wrapper of 1_backward behind one of 0_forward, want one graph, or a forward pass and its backward pass"},
		{"three passes", whole + backward, "13:1: got a wrapper of 0_backward behind one of 0_forward, want one graph, or a forward pass and its backward pass"},
		{"more saved than returned", strings.Replace(whole, "(buf0, primals_2, buf1, )", "(buf0, )", 1), "16:9: got a backward pass of 2 saved tensors, want no more than the 1 that the forward pass returns"},
		{"fewer gradients than arguments", strings.Replace(whole, "(None, buf0, )", "(buf0, )", 1), "20:9: got 1 gradients, want one of each of the 2 arguments of the forward pass, or None"},
		{"no arguments", strings.Replace(whole, "primals_2, mul, tangents_1 = args", "= args", 1), "16:9: got an assignment to =…, want one to a name"},
		{"a gradient of a number", strings.NewReplacer("primals_1 = rand_strided((8, 4), (4, 1), device='cuda:0', dtype=torch.float32)", "primals_1 = 8", "(None, buf0, )", "(buf0, None, )").Replace(whole),
			"20:9: got a gradient of primals_1, which is a number, want None"},
		{"a statement that is not known, in the second file", strings.Replace(whole, "del mul", "f(mul)", 1), "18:9: got a call of f, want one that a wrapper makes"},
	} {
		_, err := DecodeWrapper(tt.text, "w.py")
		assert.EqualError(t, err, tt.want, tt.why)
	}
}

// TestEngineOrder: the order in which PyTorch 2.15 gave the 16 leaves of torchvision's AlexNet their gradients on a pretend T4; those of its convolutions'
// weights, which are copied there, are the first and the 3rd, 7th, 9th and 5th.
func TestEngineOrder(t *testing.T) {
	var weights []int
	for _, at := range engineOrder(16) {
		if at < 10 && at%2 == 0 {
			weights = append(weights, at)
		}
	}
	assert.Equal(t, []int{0, 2, 6, 8, 4}, weights)
	for _, want := range [][]int{ // libstdc++'s __adjust_heap by hand
		{}, {0}, {0, 1}, {0, 1, 2}, {0, 2, 1, 3}, {0, 2, 4, 1, 3}, {0, 2, 5, 4, 1, 3}, {0, 2, 5, 6, 4, 1, 3}, {0, 2, 6, 5, 7, 4, 1, 3}, {0, 2, 6, 8, 5, 7, 4, 1, 3}, {0, 2, 6, 9, 8, 5, 7, 4, 1, 3},
	} {
		assert.Equal(t, want, engineOrder(len(want)))
	}
	for n := range 40 {
		seen := map[int]bool{}
		for _, at := range engineOrder(n) {
			assert.False(t, seen[at])
			seen[at] = true
		}
		assert.Len(t, seen, n)
	}
}

// TestClasses: what the forward pass returns is an activation, what the backward pass returns a gradient, and all else temporary; a kernel of the backward
// pass that is made of the forward pass's sources alone makes again what was there.
func TestClasses(t *testing.T) {
	const kernel = "\n# Topologically Sorted Source Nodes: [%s], Original ATen: [aten.mul]\ntriton_poi_fused_mul_0.run(%s, 32, stream=0)"
	forward := strings.Replace(stepForward, "\nreturn", "\nbuf2 = empty_strided_cuda((2, ), (1, ), torch.float32)"+fmt.Sprintf(kernel, "x, y", "buf1")+"\ndel buf2\nreturn", 1)
	backward := strings.Replace(stepBackward, "\nbuf0", "\nbuf1 = empty_strided_cuda((3, ), (1, ), torch.float32)"+fmt.Sprintf(kernel, "y", "buf1")+
		"\nbuf2 = empty_strided_cuda((4, ), (1, ), torch.float32)"+fmt.Sprintf(kernel, "y, mul_3", "buf2")+"\nbuf0", 1)
	text := strings.ReplaceAll(stepWrapper(forward, backward), "class Runner:", "triton_poi_fused_mul_0 = async_compile.triton('a', '''''')\nclass Runner:")
	w, err := DecodeWrapper(text, "w.py")
	require.NoError(t, err)
	require.NoError(t, program.Check(w.Program))
	g, err := w.Entry.Graph()
	require.NoError(t, err)
	var got []string
	for _, n := range g.Body.Nodes {
		if n.Op == program.BufferEmpty || n.Op == program.BufferGradient {
			got = append(got, strings.TrimSpace(n.Outs[0].Name+" "+n.Told.Class.String()+" "+n.Text))
		}
	}
	assert.Equal(t, []string{"buf0 activation", "buf1 activation aten::mul", "buf2 temporary", "buf1 temporary recomputed aten::mul", "buf2 temporary aten::mul", "buf0 gradient",
		"gradient of primals_2 gradient gradient of primals_2"}, got)
}

// TestGradientOfForward: what the forward pass made is an activation, though the backward pass returns it as a gradient too.
func TestGradientOfForward(t *testing.T) {
	w, err := DecodeWrapper(stepWrapper(stepForward, strings.NewReplacer("del mul\n", "", "(None, buf0, )", "(mul, buf0, )").Replace(stepBackward)), "w.py")
	require.NoError(t, err)
	g, err := w.Entry.Graph()
	require.NoError(t, err)
	var got []string
	for _, n := range g.Body.Nodes {
		if n.Op == program.BufferEmpty {
			got = append(got, n.Outs[0].Name+" "+n.Told.Class.String())
		}
	}
	assert.Equal(t, []string{"buf0 activation", "buf1 activation", "buf0 gradient"}, got)
}

// TestSizesOfBackward: a size among the arguments of a backward pass is none of the tensors that its forward pass saved.
func TestSizesOfBackward(t *testing.T) {
	text := strings.NewReplacer("primals_2, mul, tangents_1 = args", "s77, primals_2, mul, tangents_1 = args", "    mul = ", "    s77 = 8\n    mul = ").Replace(stepWrapper(stepForward, stepBackward))
	w, err := DecodeWrapper(text, "w.py")
	require.NoError(t, err)
	want, err := DecodeWrapper(stepWrapper(stepForward, stepBackward), "w.py")
	require.NoError(t, err)
	assert.Equal(t, strings.Count(nodes(t, want.Program), ";"), strings.Count(nodes(t, w.Program), ";"))
	assert.Contains(t, nodes(t, w.Program), "inductor::backward(); inductor::free(buf1")
}
