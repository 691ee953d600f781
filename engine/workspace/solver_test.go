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

// factorizations are those whose rows have the result, its pivots and info before the workspace.
var factorizations = map[string]struct {
	born  int
	bytes func(int64, tensor.DType) int64
}{"cholesky": {2, Cholesky}, "lu_factor": {3, LU}, "ldl": {3, LDL}}

func TestFactorizationsOfAnH100(t *testing.T) {
	rows := 0
	for _, line := range recorded(t, "solver") {
		of, ok := factorizations[line[0]]
		if !ok {
			continue
		}
		rows++
		dtype, err := tensor.ParseDType(line[1])
		require.NoError(t, err)
		n, err := strconv.ParseInt(line[2], 10, 64)
		require.NoError(t, err)
		asked := slices.DeleteFunc(strings.Fields(line[3]), func(e string) bool { return e[0] == '-' })
		got := Factorization{dense(dtype, tensor.Contiguous, n, n), of.bytes}.CuSOLVER(h100(t))
		require.Len(t, got, 1)
		assert.Empty(t, got[0].Note, line)
		assert.Equal(t, asked[of.born], "+"+strconv.FormatInt(int64(got[0].Bytes), 10), line)
	}
	assert.Equal(t, 159, rows)
}

func TestFactorizationsThatWereNotRecorded(t *testing.T) {
	of := func(dtype tensor.DType, n int64, change func(*platform.Platform)) Request {
		p := h100(t)
		change(p)
		asks := Factorization{dense(dtype, tensor.Contiguous, n, n), Cholesky}.CuSOLVER(p)
		require.Len(t, asks, 1)
		return asks[0]
	}
	same := func(*platform.Platform) {}
	between := of(tensor.Float32, 300, same)
	assert.Equal(t, note.WorkspaceEstimate, between.Note)
	assert.Equal(t, []int64{128 + 416, 128 + 1024}, []int64{int64(between.Bytes), int64(between.Upper)})
	assert.Equal(t, note.WorkspaceEstimate, of(tensor.Float64, 1024, same).Note, "of float64 600 is the largest")
	for why, w := range map[string]Request{
		"larger than any":  of(tensor.Float32, 1025, same),
		"another card":     of(tensor.Float32, 64, func(p *platform.Platform) { p.Device.ComputeCapability.Major = 8 }),
		"another release":  of(tensor.Float32, 64, func(p *platform.Platform) { p.Torch.Minor = 15 }),
		"an older release": of(tensor.Float32, 64, func(p *platform.Platform) { p.Torch.Minor = 6 }),
	} {
		assert.Equal(t, note.WorkspaceUnknown, w.Note, why)
		assert.Zero(t, w.Upper, why)
	}
	tall := Factorization{dense(tensor.Float32, tensor.Contiguous, 64, 32), LU}.CuSOLVER(h100(t))
	assert.Equal(t, note.WorkspaceUnknown, tall[0].Note, "not square")
	long := Factorization{dense(tensor.Float32, tensor.Contiguous, 1, 1<<60), LU}.CuSOLVER(h100(t))
	assert.Equal(t, LU(1, tensor.Float32), int64(long[0].Bytes), "eight times its length overflows")
	empty := Factorization{dense(tensor.Float32, tensor.Contiguous, 0, 0), Cholesky}
	assert.Empty(t, empty.CuSOLVER(h100(t)))
}
