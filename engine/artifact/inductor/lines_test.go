package inductor

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestKernelLines: the places that a package and a wrapper's folder tell of a kernel. The first stack is its result's.
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

	const graph = `class G(torch.nn.Module):
    def forward(self, x: "f32[8]"):
        # File: /m/net.py:7 in forward, code: y = self.a(x)
        mm: "f32[8]" = torch.ops.aten.mm.default(x, x)

        # No stacktrace found for following nodes
        lost = torch.ops.prims.lost.default(mm)

        # File: /m/a b.py:8 in forward, code: y = y.sin()
        sin: "f32[8]" = torch.ops.aten.sin.default(mm);  mm = None
        return (sin,)
`
	folder := fstest.MapFS{nodesFile: {Data: []byte(`{"cppCodeToPost": {"k:1": ["sin", "mm", "lost"], "l:2": ["lost"]}}`)}, graphFile: {Data: []byte(graph)}}
	got, err = wrapperLines(folder)
	require.NoError(t, err)
	assert.Equal(t, []program.Pos{{File: "/m/a b.py", Line: 8}, {File: "/m/net.py", Line: 7}}, got["k:1"].all)
	assert.Equal(t, 8, got["k:1"].stack.Frames[0].Line)
	assert.Nil(t, got["l:2"], "of what no place is told")
}

// TestKernelOfSeveralLines: a buffer that a kernel of several lines makes is told by all of them, at the place of its result.
func TestKernelOfSeveralLines(t *testing.T) {
	const code = buffer + `// Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.sin, aten.gelu]
// [Provenance debug handles] triton_a:1
call_triton_a(arg0_1, buf0, 8L, this->device_idx_, stream, kernels, this->cubin_dir_);
output_handles[0] = buf0.release();
`
	stack := func(line int) *program.Stack {
		return &program.Stack{Frames: []*program.Frame{{File: "/m/net.py", Line: line, Function: "forward"}}}
	}
	p, err := decodePackage(wrapper(code), "w.cpp", beside{lines: map[string]*lines{"triton_a:1": newLines([]*program.Stack{stack(9), stack(7)})}})
	require.NoError(t, err)
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	made := g.Body.Nodes[0]
	assert.Equal(t, "aten::sin, aten::gelu (net.py:7, net.py:9)", made.Text)
	assert.Equal(t, program.Pos{File: "/m/net.py", Line: 9}, made.Where.Pos())
}

// TestNoKernelLines: a file that is not there tells nothing, one that is damaged is an error.
func TestNoKernelLines(t *testing.T) {
	for _, folder := range []fstest.MapFS{{}, {nodesFile: {Data: []byte("{}")}}, {graphFile: {}}} {
		got, err := wrapperLines(folder)
		assert.NoError(t, err)
		assert.Nil(t, got)
	}
	_, err := wrapperLines(fstest.MapFS{nodesFile: {Data: []byte("[")}, graphFile: {}})
	assert.EqualError(t, err, nodesFile+": got unexpected end of JSON input, want the graph's nodes by kernel")
	_, err = kernelLines(fstest.MapFS{"kernel_information.json": {Data: []byte("[]")}}, "w.cpp")
	assert.ErrorContains(t, err, "kernel_information.json: got json: cannot unmarshal array")
	var l *lines
	assert.Empty(t, l.text())
}

// FuzzKernelLines: whatever these files hold, they are read or refused.
func FuzzKernelLines(f *testing.F) {
	f.Add(`{"cppCodeToPost": {"k:1": ["sin"]}}`, "# File: /m/net.py:7 in forward, code: y\nsin = f()", `{"k:1": {"stack_traces": ["File \"m.py\", line 9, in f\n    x"]}}`, `{"nodes": [{"name": "b", "node": {"target": "a::b", "inputs": [{"name": "x", "arg": {"as_tensor": {"name": "buf0"}}}]}}]}`)
	f.Fuzz(func(t *testing.T, nodes, graph, kernels, own string) {
		folder := fstest.MapFS{nodesFile: {Data: []byte(nodes)}, graphFile: {Data: []byte(graph)}, kernelsFile: {Data: []byte(kernels)}, "w.json": {Data: []byte(own)}}
		_, _ = wrapperLines(folder)
		_, _ = kernelLines(folder, "w.cpp")
		calls, err := readOwn(folder, "w.cpp")
		for i := range calls {
			if err == nil {
				calls[i].tell(newGraph(), &program.Node{Operation: &program.Operation{Told: &program.Told{}}})
			}
		}
	})
}

// TestStepLines: the kernels of each pass of a step are told by the files of that pass's folder, where it holds the wrapper that was joined.
func TestStepLines(t *testing.T) {
	forward := strings.Replace(stepForward, "buf1 = ", "# Topologically Sorted Source Nodes: [h], Original ATen: [aten.sin]\n# [Provenance debug handles] k:1\nextern_kernels.mm(primals_1, primals_2, out=buf0)\nbuf1 = ", 1)
	backward := strings.Replace(stepBackward, "return", "# Topologically Sorted Source Nodes: [], Original ATen: [aten.mm]\n# [Provenance debug handles] k:1\nextern_kernels.mm(primals_2, tangents_1, out=buf0)\nreturn", 1)
	text := stepWrapper(forward, backward)
	at := strings.LastIndex(text, header)
	folder := func(forward, backward string) fstest.MapFS {
		out := fstest.MapFS{}
		for kind, code := range map[string]string{"forward": forward, "backward": backward} {
			out[kind+"/"+codeFile] = &fstest.MapFile{Data: []byte(code)}
			out[kind+"/"+nodesFile] = &fstest.MapFile{Data: []byte(`{"cppCodeToPost": {"k:1": ["mm"]}}`)}
			out[kind+"/"+graphFile] = &fstest.MapFile{Data: []byte("# File: /m/" + kind + ".py:7 in forward, code: y\nmm = 1\n")}
		}
		return out
	}
	for _, tt := range []struct {
		why    string
		folder fstest.MapFS
		want   []string
	}{
		{"both", folder(text[:at], text[at:]), []string{"/m/forward.py", "/m/backward.py"}},
		{"with lines around them", folder("\n"+text[:at]+"\n\n", text[at:]+"\n"), []string{"/m/forward.py", "/m/backward.py"}},
		{"another forward pass", folder(text[:at]+"# other\n", text[at:]), []string{"w.py", "/m/backward.py"}},
		{"they are exchanged", folder(text[at:], text[:at]), []string{"w.py", "w.py"}},
		{"none", fstest.MapFS{}, []string{"w.py", "w.py"}},
		{"those of one graph, in the wrapper's own folder", fstest.MapFS{nodesFile: folder("", "")["forward/"+nodesFile], graphFile: folder("", "")["forward/"+graphFile]}, []string{"w.py", "w.py"}},
	} {
		w, err := DecodeWrapperIn(tt.folder, text, "w.py")
		require.NoError(t, err, tt.why)
		g, err := w.Entry.Graph()
		require.NoError(t, err)
		var files []string
		for _, n := range g.Body.Nodes {
			if strings.HasSuffix(n.Op, "mm") {
				if files = append(files, n.Where.Pos().File); files[len(files)-1] == "" {
					files[len(files)-1] = "w.py"
				}
			}
		}
		assert.Equal(t, tt.want, files, tt.why)
	}
}
