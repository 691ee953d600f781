package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/tensor"
)

// What addmm asks for by release: what stays has its key. The releases' figures and their sources
// are in platform's table.
func TestAddmmByRelease(t *testing.T) {
	const f = tensor.Float32
	row, square := dense(f, tensor.Contiguous, 16), dense(f, tensor.Contiguous, 1, 16)
	asked := func(torch string, bias *tensor.Meta, beta float64) string {
		m := MatMul{A: dense(f, tensor.Contiguous, 64, 32), B: dense(f, tensor.Contiguous, 32, 16), Bias: bias, Beta: beta}
		var out []string
		for _, r := range m.Requests(on(t, "a100-sxm-80gb", torch)) {
			out = append(out, fmt.Sprintf("%d %s", r.Bytes, r.Keep))
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		torch string
		bias  *tensor.Meta
		beta  float64
		want  string
		why   string
	}{
		{"2.8", row, 1, "8519680 cublas, 1048576 ", "cublasLt's workspace goes with the call"},
		{"2.8", square, 1, "8519680 cublas", "a bias of two dimensions is no vector"},
		{"2.9", row, 1, "8519680 cublas, 1048576 cublasLt", "it stays"},
		{"2.9", square, 1, "8519680 cublas", "still no vector"},
		{"2.10", square, 1, "8519680 cublas, 1048576 cublasLt", "a bias that squeezes to one is"},
		{"2.12", row, 1, "8519680 cublas", "both share one"},
		{"2.15", row, 1, "1048576 ", "each its own, for the call"},
		{"2.15", row, 2, "8519680 ", "cublasLt adds no multiple of a bias"},
		{"2.15", nil, 1, "8519680 ", "and there is nothing to add"},
	} {
		assert.Equal(t, tt.want, asked(tt.torch, tt.bias, tt.beta), "%s: %s", tt.torch, tt.why)
	}
}
