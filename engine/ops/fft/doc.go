// Package fft holds Fourier transforms, of whole dimensions and of frames (stft).
package fft

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = [][]ops.Rule{
	fftRules,
}
