package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What torch._grouped_mm asked for on memshim's pretend GPUs: [n, k] by [groups, k, m] with
// offsets.
func TestGroupedMatMul(t *testing.T) {
	for _, tt := range []struct {
		device, torch string
		dtype         tensor.DType
		groups        int64
		want          []units.Bytes
	}{
		{"h100-sxm-80gb", "2.15", tensor.BFloat16, 4, []units.Bytes{240, 67584}},
		{"h100-sxm-80gb", "2.15", tensor.BFloat16, 1, []units.Bytes{84, 67584}},
		{"h200-sxm", "2.15", tensor.BFloat16, 64, []units.Bytes{3840, 67584}},
		{"h100-sxm-80gb", "2.10", tensor.BFloat16, 8, []units.Bytes{480, 84480}},
		{"b200", "2.15", tensor.BFloat16, 8, []units.Bytes{480, 795648}}, // or 871424, the upper figure
	} {
		g := GroupedMatMul{A: dense(tt.dtype, tensor.Contiguous, 64, 32), Groups: tt.groups, Result: tt.dtype}
		var got []units.Bytes
		for _, r := range g.Requests(on(t, tt.device, tt.torch)) {
			got = append(got, r.Bytes)
		}
		assert.Equal(t, tt.want, got, "%s, torch %s, %d groups", tt.device, tt.torch, tt.groups)
	}
	p := on(t, "b200", "2.15")
	g := GroupedMatMul{A: dense(tensor.BFloat16, tensor.Contiguous, 64, 32), Groups: 8, Result: tensor.BFloat16}
	assert.Equal(t, units.Bytes(871424), g.Requests(p)[1].Upper)

	g.Result = tensor.Float32
	assert.Equal(t, inTurnAtMost(p), g.Requests(p), "CUTLASS's kernel gives bfloat16 alone")
	g.Result = tensor.BFloat16

	p = on(t, "a10g", "2.15")
	assert.Equal(t, inTurnAtMost(p), g.Requests(p), "8.6 runs one product after the other")
	g.Batch = true
	assert.Equal(t, CuBLAS(p), g.Requests(p), "a batch is one product")
}

// inTurnAtMost are eight products in turn, none of which need be run: a group may be empty.
func inTurnAtMost(p *platform.Platform) []Request {
	want := InTurn(CuBLAS(p), 8)
	for i := range want {
		if want[i].Bytes > 0 {
			want[i].Upper, want[i].Note = want[i].Bytes, note.WorkspaceEstimate
			want[i].Source = "native/GroupedMMUtils.h: a product a group; one without rows takes nothing, and which have some " +
				"the data decides"
		}
	}
	return want
}
