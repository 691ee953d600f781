package workspace

import (
	"math/bits"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// FFT is a transform by cuFFT: _fft_c2c, _fft_r2c or _fft_c2r of Dims, the innermost last.
type FFT struct {
	Input *tensor.Meta
	Dims  []int
	Last  int64 // of one to real numbers the length of its last dimension, else 0
	Plans int   // of cuFFT, one after the other
}

// CuFFT is the work area of the plan. cuFFT reports its size only where it can load kernels: it is
// by a rule, and not known on another card or with another release than those that were recorded.
func (f FFT) CuFFT(p *platform.Platform) []Request {
	x := f.Input
	if !OnDevice(x) || x.Numel() == 0 {
		return nil
	}
	w := Request{Bytes: f.workArea(), Source: "cuFFT's work area, by a rule of cuFFT 12.0 on an H100"}
	switch {
	case !f.ofRecordedKind(p):
		w.Note, w.Source = note.WorkspaceUnknown, "cuFFT's work area, beyond a rule of cuFFT 12.0 on an H100"
	case !f.recorded():
		w.Note, w.Upper = note.WorkspaceEstimate, f.most()
	case w.Bytes == 0:
		return nil
	}
	return []Request{w}
}

// lengths are those of the signal, whole where the other side has half of it.
func (f FFT) lengths() []int64 {
	n := make([]int64, len(f.Dims))
	for i, d := range f.Dims {
		n[i] = f.Input.Sizes[d]
	}
	if f.Last > 0 {
		n[len(n)-1] = f.Last
	}
	return n
}

func (f FFT) batch() int64 {
	n := f.Input.Numel()
	for _, d := range f.Dims {
		n /= f.Input.Sizes[d]
	}
	return n
}

func (f FFT) real() bool { return f.Last > 0 || !f.Input.DType.Complex() }

// item is the size of a complex number.
func (f FFT) item() int64 { return f.Input.DType.ToComplex().ItemSize() }

// workArea is what an H100 asked for, of lengths that are powers of two
// (testdata/measured/h100-fft.csv): up to a length one kernel does it in its own memory.
func (f FFT) workArea() units.Bytes {
	const complexAtOnce, floatAtOnce, doubleAtOnce = 16384, 16384, 4096
	n := f.lengths()[0]
	atOnce := int64(complexAtOnce)
	if f.real() {
		atOnce = floatAtOnce
		if f.item() == 16 {
			atOnce = doubleAtOnce
		}
	}
	switch {
	case len(f.Dims) > 1 || n <= atOnce:
		return 0
	case !f.real():
	case n <= complexAtOnce:
		n /= 2
	default:
		n = n/2 + 1
	}
	return units.Bytes(n * f.batch() * f.item())
}

func (f FFT) ofRecordedKind(p *platform.Platform) bool {
	return f.Plans == 1 && f.item() >= 8 && f.Input.Strides[f.Dims[len(f.Dims)-1]] == 1 &&
		p.Device.ComputeCapability.Major == 9 && p.Release().CUDA == "13.0"
}

// recorded says whether the recording has transforms of powers of two as long as these.
func (f FFT) recorded() bool {
	longest := int64(1 << 22)
	if len(f.Dims) > 1 {
		longest = 2048
	}
	for _, n := range f.lengths() {
		if n > longest || bits.OnesCount64(uint64(n)) != 1 {
			return false
		}
	}
	return true
}

// most is at least what any recorded call took: a copy of the signal as complex numbers, or, where
// a length has a prime factor above 127, that and two of the power of two from the length on
// (Bluestein's algorithm).
func (f FFT) most() units.Bytes {
	const direct, table = 127, 512
	points, times := f.batch(), 1.0
	for _, n := range f.lengths() {
		points *= n
		if factorAbove(n, direct) {
			times = max(times, float64(n+2<<bits.Len64(uint64(n-1))+table)/float64(n))
		}
	}
	return units.Bytes(float64(points*f.item()) * times)
}

// factorAbove says whether a number has a prime factor above most.
func factorAbove(n, most int64) bool {
	for d := int64(2); d <= most && n > 1; d++ {
		for n%d == 0 {
			n /= d
		}
	}
	return n > 1
}
