package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
)

// CuFFT is the copy of the input that a complex-to-real transform overwrites
// (native/cuda/SpectralOps.cpp _fft_c2r_cufft). cuFFT's own work area is not known.
func CuFFT(x *tensor.Meta, complexToReal bool) []Request {
	if !OnDevice(x) || x.Numel() == 0 {
		return nil
	}
	var out []Request
	if complexToReal {
		out = append(out, CopyOf(x, "native/cuda/SpectralOps.cpp _fft_c2r_cufft"))
	}
	return append(out, Request{Upper: 2 * x.NBytes(), Source: "cuFFT's work area is not known: taken as none",
		Note: note.WorkspaceEstimate})
}
