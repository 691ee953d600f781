package recorded

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// A run that was recorded elsewhere is no evidence for the case where kernels and libraries may
// choose otherwise: another chip, another release than the case states, CPU tensors, and another
// device for a run that queried its device. allow: [other-device] judges it.
func TestARecordingFromElsewhere(t *testing.T) {
	memory := units.Bytes(24 << 30)
	made := &recording.Made{Command: []string{"python", "-m", "memshim", "run", "--on", "a10g", "--record", "a.rec", "--",
		"finetune.py"}}
	on := func(change func(*recording.Header)) *recording.Header {
		h := &recording.Header{Where: recording.OnPretend, Torch: "2.15.0+cu132", Made: made,
			Device: recording.Device{Name: "NVIDIA A10G", Total: &memory, ComputeCapability: "8.6", SMs: 80}}
		if change != nil {
			change(h)
		}
		return h
	}
	asked := func(what ...string) func(*recording.Header) {
		return func(h *recording.Header) { h.Device.Asked = what }
	}
	const again = "; to record it for the case: python -m memshim run --on t4 --record a.rec -- finetune.py"
	for _, c := range []struct {
		name   string
		header *recording.Header
		device string
		torch  string
		memory units.Bytes // 0 keeps the recording's
		note   bool
		why    string // of an inconclusive verdict
	}{
		{name: "there", header: on(nil), device: "a10g", torch: "2.15"},
		{name: "another memory size", header: on(nil), device: "a10g", torch: "2.15", memory: 12 << 30},
		{name: "a patch release of the same minor one", header: on(nil), device: "a10g", torch: "2.15.1", note: true,
			why: "the run was recorded with torch 2.15.0+cu132, the case says 2.15.1; to record it for the case: " +
				"python -m memshim run --on a10g --record a.rec -- finetune.py"},
		{name: "another chip of the same capability", header: on(nil), device: "rtx-3090", torch: "2.15", note: true,
			why: "the run was recorded on NVIDIA A10G (80 multiprocessors), the case is on rtx-3090 (82 multiprocessors); to " +
				"record it for the " +
				"case: python -m memshim run --on rtx-3090 --record a.rec -- finetune.py"},
		{name: "another chip by its memory alone", header: on(func(h *recording.Header) { h.Device.SMs = 0 }), device: "a10g",
			torch: "2.15", memory: 12 << 30,
			note: true, why: "the run was recorded on NVIDIA A10G (24.00 GiB), the case is on a10g (80 multiprocessors); to " +
				"record it for the case: " +
				"python -m memshim run --on a10g --record a.rec -- finetune.py"},
		{name: "another capability", header: on(nil), device: "t4", torch: "2.15", note: true,
			why: "the run was recorded on NVIDIA A10G (compute capability 8.6), the case is on t4 (7.5)" + again},
		{name: "another minor release", header: on(func(h *recording.Header) { h.Made = nil }), device: "a10g", torch: "2.14",
			note: true,
			why: "the run was recorded with torch 2.15.0+cu132, the case says 2.14 (torch: 2.15 states the recording's); to " +
				"record it for " +
				"the case: python -m memshim capture FILE.py:NAME --on a10g -o FILE.rec, or memshim run --on a10g --record " +
				"FILE.rec -- PROGRAM"},
		{name: "CPU tensors", header: on(func(h *recording.Header) { h.Where = recording.OnCPU }), device: "t4",
			torch: "2.15", note: true,
			why: "the run was recorded on CPU tensors, the case is on t4" + again},
		{name: "no device in particular", header: on(nil), device: "none", torch: "2.15", note: true},
		{name: "the memory was queried, the same", header: on(asked("memory")), device: "a10g", torch: "2.15"},
		{name: "the memory was queried, another", header: on(asked("memory")), device: "a10g", torch: "2.15",
			memory: 12 << 30, note: true,
			why: "the run queried the memory of its device, 24.00 GiB, and the case's has " +
				"12.00 GiB; to record it for the case: " +
				"python -m memshim run --on a10g --record a.rec -- finetune.py"},
		{name: "the name was queried, the same", header: on(asked("name")), device: "a10g", torch: "2.15", memory: 12 << 30},
		{name: "the name was queried, another", header: on(asked("name")), device: "a40-like", torch: "2.15", note: true,
			why: "the run queried the name of its device, NVIDIA A10G, and the case is on " +
				"a40-like; to record it for the case: " +
				"python -m memshim run --on a40-like --record a.rec -- finetune.py"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row, own := c.device, c.device == "a40-like" // a card of the user's with the same chip
			if own {
				row = "a10g"
			}
			d, err := device.Lookup(row)
			require.NoError(t, err)
			if own {
				d.Name = c.device
			}
			if d.Memory = memory; c.memory > 0 {
				d.Memory = c.memory
			}
			torch, err := platform.ParseVersion(c.torch)
			require.NoError(t, err)
			p, err := platform.New(d, torch)
			require.NoError(t, err)
			got := elsewhere(c.header, &spec.Case{Platform: p})
			if !c.note {
				assert.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, note.OtherDevice, got.ID)
			assert.Equal(t, c.why != "", got.Undecided, got.Subject)
			if c.why != "" {
				assert.Equal(t, c.why, got.Subject)
			}
		})
	}
}
