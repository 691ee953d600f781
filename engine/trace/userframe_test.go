package trace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/trace"
)

// The user's frame is the innermost of Python that is not PyTorch's; where all are PyTorch's, it is
// the innermost of Python.
func TestUserFrame(t *testing.T) {
	for _, c := range []struct {
		why         string
		files       []string
		user, inner int
	}{
		{"C++ beneath Python", []string{"??", "a.cpp", "/lib/torch/nn/linear.py", "/home/me/net.py", "/home/me/train.py"}, 3,
			2},
		{"the user's code at once", []string{"net.py"}, 0, 0},
		{"PyTorch's by a relative path", []string{"torch/nn/linear.py", "net.py"}, 1, 0},
		{"a folder that only begins so", []string{"torchlike/net.py"}, 0, 0},
		{"a file of that name", []string{"/home/me/torch.py"}, 0, 0},
		{"PyTorch's alone", []string{"??", "/lib/torch/nn/linear.py", "/lib/torch/nn/module.py"}, 1, 1},
		{"no Python", []string{"??", "a.cpp"}, -1, -1},
		{"nothing", nil, -1, -1},
	} {
		user, inner := trace.UserFrame(len(c.files), func(i int) string { return c.files[i] })
		assert.Equal(t, []int{c.user, c.inner}, []int{user, inner}, c.why)
	}
}
