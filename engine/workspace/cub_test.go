package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What torch.cumsum, torch.sort and torch.nonzero asked the allocator for on memshim's pretend
// GPUs, for the capabilities that testdata/aten/2.15/devices does not have, and for torch 2.10,
// which differs:
//
//	python -c "import memshim; memshim.pretend('b200'); import torch; torch.cuda.memory._record_memory_history(context=None)
//	torch.sort(torch.empty(1<<20, device='cuda')); print([e['size'] for e in torch.cuda.memory._snapshot()['device_traces'][0]])"
func TestCUB(t *testing.T) {
	const n, m = 1 << 20, 1 << 24
	scan := func(d tensor.DType, n int64) func(*testing.T, string, string) int64 {
		return func(t *testing.T, device, torch string) int64 { return cubScan(on(t, device, torch), n, d) }
	}
	sort := func(key, n int64) func(*testing.T, string, string) int64 {
		return func(t *testing.T, device, torch string) int64 {
			return radixSort{n: n, key: key}.bytes(on(t, device, torch))
		}
	}
	chosen := func(n int64) func(*testing.T, string, string) int64 {
		return func(t *testing.T, device, torch string) int64 { return cubSelect(on(t, device, torch), n) }
	}
	counted := func(n int64) func(*testing.T, string, string) int64 {
		return func(t *testing.T, device, torch string) int64 { return cubReduce(on(t, device, torch), n) }
	}
	for _, tt := range []struct {
		name, device, torch string
		of                  func(*testing.T, string, string) int64
		want                int64
	}{
		{"scan of float", "b200", "2.15", scan(tensor.Float32, m), 70911},
		{"scan of long", "a100-sxm-80gb", "2.15", scan(tensor.Int64, m), 300799},
		{"scan of half", "rtx-5090", "2.15", scan(tensor.Float16, m), 36095},
		{"scan of complex", "rtx-5090", "2.15", scan(tensor.Complex64, m), 376319},
		{"scan of short", "t4", "2.15", scan(tensor.Int16, m), 18175},
		{"scan of float in 2.10", "a10g", "2.10", scan(tensor.Float32, m), 70655},
		{"scan of long in 2.10", "h100-sxm-80gb", "2.10", scan(tensor.Int64, n), 19711},
		{"scan of half in 2.10", "a10g", "2.10", scan(tensor.Float16, m), 36095},
		{"scan of float in 2.11", "a10g", "2.11", scan(tensor.Float32, m), 70911},

		{"sort of float", "a100-sxm-80gb", "2.15", sort(4, m), 206928383},
		{"sort of half", "a100-sxm-80gb", "2.15", sort(2, n), 14954751},
		{"sort of bool", "a100-sxm-80gb", "2.15", sort(1, 8000), 2329343},
		{"sort of float", "b200", "2.15", sort(4, n), 12792319},
		{"sort of half", "b200", "2.15", sort(2, m), 170827263},
		{"sort of bool", "b200", "2.15", sort(1, m), 4974079},
		{"sort of long", "rtx-5090", "2.15", sort(8, m), 272180735},
		{"sort of float in 2.10", "h100-sxm-80gb", "2.10", sort(4, m), 204531199},
		{"one block's", "t4", "2.15", sort(8, 2304), 1},
		{"no longer", "a10g", "2.15", sort(4, 2305), 37887},

		{"chosen", "a100-sxm-80gb", "2.15", chosen(m), 59135},
		{"chosen", "a100-sxm-80gb", "2.15", chosen(n), 4607},
		{"chosen", "b200", "2.15", chosen(m), 38911},
		{"chosen", "rtx-5090", "2.15", chosen(n), 3327},
		{"chosen in 2.10", "h100-sxm-80gb", "2.10", chosen(n), 2559},
		{"counted", "t4", "2.15", counted(4096), 1},
		{"counted", "a100-sxm-80gb", "2.15", counted(5000), 17663},
		{"counted", "b200", "2.15", counted(m), 24063},
		{"counted", "rtx-5090", "2.15", counted(m), 20735},
	} {
		assert.Equal(t, tt.want, tt.of(t, tt.device, tt.torch), "%s on %s", tt.name, tt.device)
	}
	r := cubRequest(on(t, "t4", "2.6"), 1000, "source")
	assert.Equal(t, note.WorkspaceEstimate, r.Note, "a release that was not looked at")
	assert.Equal(t, 1250+64*units.KiB, r.Upper)
}
