package aotinductor

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestKernelLines: the places that a package records for a kernel. The first stack is its result's.
func TestKernelLines(t *testing.T) {
	const stacks = `{"triton_a:1": {"stack_traces": ["File \"/m/net.py\", line 9, in forward\n    z = gelu(y)", "File \"/m/net.py\", line 7, in forward\n    y = self.a(x)\n  File \"/s/torch/nn/linear.py\", line 134, in forward\n    return F.linear(x)"]},
		"none:2": {"stack_traces": []}}`
	got, err := kernelLines(fstest.MapFS{"m/kernel_information.json": {Data: []byte(stacks)}}, "m/w.wrapper.cpp")
	require.NoError(t, err)
	require.NotNil(t, got["triton_a:1"])
	assert.Equal(t, []program.Pos{{File: "/m/net.py", Line: 7}, {File: "/m/net.py", Line: 9}}, got["triton_a:1"].all)
	assert.Equal(t, " (net.py:7, net.py:9)", got["triton_a:1"].text())
	assert.Equal(t, 9, got["triton_a:1"].stack.Frames[0].Line)
	assert.Nil(t, got["none:2"])
}

// TestKernelOfSeveralLines: a buffer that a kernel of several lines makes is reported by all of
// them, at the place of its result.
func TestKernelOfSeveralLines(t *testing.T) {
	const code = buffer + `// Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.sin, aten.gelu]
// [Provenance debug handles] triton_a:1
call_triton_a(arg0_1, buf0, 8L, this->device_idx_, stream, kernels, this->cubin_dir_);
output_handles[0] = buf0.release();
`
	stack := func(line int) *program.Stack {
		return &program.Stack{Frames: []*program.Frame{{File: "/m/net.py", Line: line, Function: "forward"}}}
	}
	p, err := decodePackage(wrapper(code), "w.cpp",
		beside{lines: map[string]*lines{"triton_a:1": newLines([]*program.Stack{stack(9), stack(7)})}})
	require.NoError(t, err)
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	made := g.Body.Nodes[0]
	assert.Equal(t, "aten::sin, aten::gelu (net.py:7, net.py:9)", made.Text)
	assert.Equal(t, program.Pos{File: "/m/net.py", Line: 9}, made.Where.Pos())
}

// TestNoKernelLines: a file that is not there records nothing, one that is damaged is an error.
func TestNoKernelLines(t *testing.T) {
	got, err := kernelLines(fstest.MapFS{}, "w.cpp")
	assert.NoError(t, err)
	assert.Nil(t, got)
	_, err = kernelLines(fstest.MapFS{"kernel_information.json": {Data: []byte("[]")}}, "w.cpp")
	assert.ErrorContains(t, err, "kernel_information.json: got json: cannot unmarshal array")
	var l *lines
	assert.Empty(t, l.text())
	got, err = kernelLines(fstest.MapFS{kernelsFile: {Data: []byte(`{"a": {"stack_traces": ["no stack", ""]},
		"b": {"stack_traces": ["no stack", "File \"m.py\", line 9, in f\n    x"]}, "c": {}}`)}}, "w.cpp")
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false, true}, []bool{got["a"] == nil, got["b"] == nil, got["c"] == nil})
	assert.Equal(t, []program.Pos{{File: "m.py", Line: 9}}, got["b"].all, "a text without a place has none")
}

// FuzzKernelLines: whatever these files hold, they are read or refused.
func FuzzKernelLines(f *testing.F) {
	f.Add(`{"k:1": {"stack_traces": ["File \"m.py\", line 9, in f\n    x"]}}`,
		`{"nodes": [{"name": "b", "node": {"target": "a::b", "inputs": [{"name": "x", "arg": {"as_tensor": {"name": "buf0"}}}]}}]}`)
	f.Fuzz(func(t *testing.T, kernels, own string) {
		folder := fstest.MapFS{kernelsFile: {Data: []byte(kernels)}, "w.json": {Data: []byte(own)}}
		_, _ = kernelLines(folder, "w.cpp")
		calls, err := readOwn(folder, "w.cpp")
		for i := range calls {
			if err == nil {
				calls[i].describe(newGraph(), &program.Node{Operation: &program.Operation{Meta: &program.NodeMeta{}}})
			}
		}
	})
}
