package workspace

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// fftRow is a transform that an H100 did, with the work area that PyTorch asked for.
type fftRow struct {
	FFT
	text     string
	workArea int64
}

func fftRows(t *testing.T) (out []fftRow) {
	number := func(s string) int64 {
		v, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err, s)
		return v
	}
	for _, line := range recorded(t, "fft") {
		dtype, err := tensor.ParseDType(line[1])
		require.NoError(t, err)
		sizes := []int64{number(line[2])}
		for _, n := range strings.Split(line[3], "x") {
			sizes = append(sizes, number(n))
		}
		row := fftRow{text: strings.Join(line, ","), FFT: FFT{Plans: 1}}
		last := len(sizes) - 1
		switch {
		case strings.HasPrefix(line[0], "rfft"):
			dtype = dtype.ToReal()
		case strings.HasPrefix(line[0], "irfft"):
			row.Last = sizes[last]
			sizes[last] = sizes[last]/2 + 1
		}
		row.Input = dense(dtype, tensor.Contiguous, sizes...)
		for d := 1; d <= last; d++ {
			row.Dims = append(row.Dims, d)
		}
		born := 1 // the result
		if row.Last > 0 {
			born = 2 // and a copy of the input
		}
		asked := slices.DeleteFunc(strings.Fields(line[4]), func(e string) bool { return e[0] == '-' })
		if len(asked) > born {
			row.workArea = number(asked[born])
		}
		out = append(out, row)
	}
	return out
}

// The rule gives every recorded transform of powers of two, and its upper figure holds all.
func TestTransformsOfAnH100(t *testing.T) {
	p := h100(t)
	exact, held, equal := 0, 0, 0
	for _, r := range fftRows(t) {
		asks := r.CuFFT(p)
		w := Request{}
		if len(asks) > 0 {
			w = asks[0]
		}
		switch w.Note {
		case "":
			exact++
			assert.Equal(t, r.workArea, int64(w.Bytes), r.text)
		case note.WorkspaceEstimate:
			held++
			if int64(w.Bytes) == r.workArea {
				equal++
			}
			assert.LessOrEqual(t, max(r.workArea, int64(w.Bytes)), int64(w.Upper), r.text)
		default:
			t.Errorf("%s: got %q", r.text, w.Note)
		}
	}
	assert.Equal(t, []int{356, 254, 188}, []int{exact, held, equal})
}

// What no recording has is not known.
func TestTransformsThatWereNotRecorded(t *testing.T) {
	transform := func(dtype tensor.DType, change func(*FFT, *platform.Platform)) Request {
		p := h100(t)
		f := FFT{Input: dense(dtype, tensor.Contiguous, 3, 1<<15), Dims: []int{1}, Plans: 1}
		change(&f, p)
		asks := f.CuFFT(p)
		require.Len(t, asks, 1)
		return asks[0]
	}
	assert.Equal(t, Request{Bytes: 3 << 18, Source: "cuFFT's work area, by a rule of cuFFT 12.0 on an H100"},
		transform(tensor.Complex64, func(*FFT, *platform.Platform) {}))
	for why, of := range map[string]Request{
		"another card": transform(tensor.Complex64, func(_ *FFT, p *platform.Platform) {
			p.Device.ComputeCapability.Major = 8
		}),
		"another release": transform(tensor.Complex64, func(_ *FFT, p *platform.Platform) { p.Torch.Minor = 15 }),
		"two plans":       transform(tensor.Complex64, func(f *FFT, _ *platform.Platform) { f.Plans = 2 }),
		"half precision":  transform(tensor.Float16, func(*FFT, *platform.Platform) {}),
		"columns":         transform(tensor.Complex64, func(f *FFT, _ *platform.Platform) { f.Dims = []int{0} }),
	} {
		assert.Equal(t, note.WorkspaceUnknown, of.Note, why)
		assert.Zero(t, of.Upper, why)
	}
	longer := transform(tensor.Complex64, func(f *FFT, _ *platform.Platform) {
		f.Input = dense(tensor.Complex64, tensor.Contiguous, 1, 1<<23)
	})
	assert.Equal(t, note.WorkspaceEstimate, longer.Note, "longer than any that was recorded")
	several := transform(tensor.Complex64, func(f *FFT, _ *platform.Platform) {
		f.Input, f.Dims = dense(tensor.Complex64, tensor.Contiguous, 2, 4096, 4), []int{1, 2}
	})
	assert.Equal(t, note.WorkspaceEstimate, several.Note, "of several dimensions shorter ones were")
}

func TestTransformsWithoutADevice(t *testing.T) {
	p := h100(t)
	empty := FFT{Input: dense(tensor.Complex64, tensor.Contiguous, 3, 0), Dims: []int{1}, Plans: 1}
	assert.Empty(t, empty.CuFFT(p))
	onHost := FFT{Input: &tensor.Meta{Device: "cpu", Sizes: []int64{4}}, Dims: []int{0}, Plans: 1}
	assert.Empty(t, onHost.CuFFT(p))
}

func TestFactorAbove(t *testing.T) {
	for n, want := range map[int64]bool{1: false, 2: false, 126: false, 127: false, 127 * 127: false, 131: true,
		2 * 131: true, 1<<61 - 1: true} {
		assert.Equal(t, want, factorAbove(n, 127), n)
	}
}
