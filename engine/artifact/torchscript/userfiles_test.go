package torchscript

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/program"
)

func from(texts ...*program.SourceText) *program.Block {
	b := &program.Block{}
	for _, t := range texts {
		b.Nodes = append(b.Nodes,
			&program.Node{Operation: &program.Operation{Where: program.Where{SourceRange: program.SourceRange{Text: t}}}})
	}
	return b
}

func TestIsLibrary(t *testing.T) {
	file := func(name string) *program.SourceText { return &program.SourceText{File: name} }
	for _, c := range []struct {
		why    string
		record string
		body   *program.Block
		want   bool
	}{
		{"a class of PyTorch's", "code/__torch__/torch/nn/modules/conv.py", from(), true},
		{"a class of the user's", "code/__torch__/net.py", from(file("/home/u/net.py")), false},
		{"a package that begins with the same letters", "code/__torch__/torchvision/models/resnet.py",
			from(file("/opt/torchvision/models/resnet.py")), false},
		{"a class of the user's whose forward is inherited, from installed files", "code/__torch__/net.py",
			from(file("/usr/lib/python3/dist-packages/torch/nn/modules/linear.py")), true},
		{"from a checkout", "code/__torch__/net.py", from(file("/src/pytorch/torch/nn/modules/linear.py")), true},
		{"1 - x comes first, and says nothing", "code/__torch__/net.py", from(file(builtinFile), file("/home/u/net.py")),
			false},
		{"an operation without a source first", "code/__torch__/net.py", from(nil, file("/x/torch/nn/functional.py")), true},
		{"no sources", "code/__torch__/net.py", from(), false},
	} {
		assert.Equal(t, c.want, isLibrary(c.record, c.body), c.why)
	}
}

// A function's text is the one that most of its operations come from: x.shape and 1 - x bring their
// own texts.
func TestSourceOf(t *testing.T) {
	own, other := &program.SourceText{File: "net.py", Text: "def forward"}, &program.SourceText{File: "<string>"}
	assert.Same(t, own, sourceOf(from(other, own, own)))
	assert.Same(t, other, sourceOf(from(other, own)), "of as many the first")
	assert.Nil(t, sourceOf(from(nil, nil)), "a stack is no text")
	nested := from(other)
	nested.Nodes[0].Blocks = []*program.Block{from(own, own)}
	assert.Same(t, own, sourceOf(nested), "what stands in branches counts")
}

func TestParseFrame(t *testing.T) {
	got, ok := parseFrame("/home/u (2)/net.py(7): forward")
	assert.True(t, ok)
	assert.Equal(t, program.Frame{File: "/home/u (2)/net.py", Line: 7, Function: "forward"}, got,
		"the last parenthesis counts")
	got, ok = parseFrame("net.py(7): <lambda>")
	assert.True(t, ok)
	assert.Equal(t, program.Frame{File: "net.py", Line: 7, Function: "<lambda>"}, got)
	for _, line := range []string{"", "net.py", "net.py(7)", "net.py(x): f", "net.py 7): f"} {
		_, ok := parseFrame(line)
		assert.False(t, ok, line)
	}
}
