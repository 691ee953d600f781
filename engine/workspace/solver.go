package workspace

import (
	"math/bits"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Factorization is one of a matrix by cuSOLVER: Bytes is its workspace where it is square.
type Factorization struct {
	Input *tensor.Meta
	Bytes func(n int64, dtype tensor.DType) int64
}

// solverSizes are the sizes that an H100 recorded (testdata/measured/h100-solver.csv), the last in
// float32 alone.
var solverSizes = []int64{1, 4, 8, 16, 32, 33, 64, 100, 128, 200, 256, 512, 600, 1024}

// CuSOLVER is the workspace. cuSOLVER reports it on a device only: it is by a rule, and not known
// on another card or with another release than those that were recorded. Between recorded sizes it
// is an estimate, at most that of the next one.
func (f Factorization) CuSOLVER(p *platform.Platform) []Request {
	x := f.Input
	if !OnDevice(x) || x.Numel() == 0 {
		return nil
	}
	n := min(x.Sizes[0], x.Sizes[1]) // of a square one either; of a long one no product overflows
	w := Request{Bytes: units.Bytes(f.Bytes(n, x.DType)),
		Source: "cuSOLVER's workspace, by a rule of cuSOLVER 12.0 on an H100"}
	at, recorded := slices.BinarySearch(solverSizes, n)
	switch {
	case p.Device.ComputeCapability.Major != 9 || p.Release().CUDA != "13.0" || x.Sizes[0] != x.Sizes[1] ||
		at == len(solverSizes):
		w.Note, w.Source = note.WorkspaceUnknown, "cuSOLVER's workspace, beyond a rule of cuSOLVER 12.0 on an H100"
	case !recorded || n == solverSizes[len(solverSizes)-1] && x.DType != tensor.Float32:
		w.Note, w.Upper = note.WorkspaceEstimate, units.Bytes(f.Bytes(solverSizes[at], x.DType))
	}
	return []Request{w}
}

// roundUp to a multiple of unit; both are positive.
func roundUp(n, unit int64) int64 { return divCeil(n, unit) * unit }

// Cholesky is potrf's workspace in bytes: of blocks of 32 columns.
func Cholesky(n int64, _ tensor.DType) int64 {
	blocks := divCeil(n, 32)
	return 128 + roundUp(4*blocks*blocks, 32)
}

// LU is getrf's workspace in bytes.
func LU(n int64, _ tensor.DType) int64 {
	panel := min(max(int64(1)<<bits.Len64(uint64(n-1)), 32), 512)
	return 256 + roundUp(8*n, 256) + 8*panel
}

// LDL is sytrf's workspace in bytes: of 64 columns, and of small matrices the least of a type.
func LDL(n int64, dtype tensor.DType) int64 {
	least := map[int64]int64{4: 96 << 10, 8: 104 << 10, 16: 172 << 10}[dtype.ItemSize()]
	return max(64*(n+1)*dtype.ItemSize(), least+128)
}
