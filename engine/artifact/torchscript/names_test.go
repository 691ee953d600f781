package torchscript

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestQuantSchemes: the numbers are those of c10/core/QScheme.h.
func TestQuantSchemes(t *testing.T) {
	for number, name := range []string{"per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
		"per_channel_symmetric", "per_channel_affine_float_qparams"} {
		assert.Equal(t, quantScheme(number), quantSchemes[name], name)
	}
	assert.Len(t, quantSchemes, 5)
}

// TestIsFrame: a stack begins with the file and the line that stand beside it.
func TestIsFrame(t *testing.T) {
	for text, want := range map[string]bool{
		"a.py(12): forward\nb.py(3): main\n": true, "b.py(12): forward": false, "(12): forward": false,
		"a.py(1): forward": false, "a.py: forward": false, "a.py(12) forward": false, "": false,
	} {
		assert.Equal(t, want, isFrame(text, "a.py", 12), text)
	}
}
