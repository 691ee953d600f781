package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestPeaksOfPasses: the baseline is what is held at its end, a pass's peak the most from its first
// allocation on. A pass without an event holds what was held before, and what comes after the last
// pass belongs to none.
func TestPeaksOfPasses(t *testing.T) {
	const MiB = units.MiB
	event := func(action trace.Action, id tensor.StorageID, size units.Bytes, pass int) trace.Event {
		return trace.Event{Action: action, Storage: id, Bytes: size, Pass: pass, Site: trace.NoSite}
	}
	free := func(id tensor.StorageID, size units.Bytes, pass int) []trace.Event {
		return []trace.Event{event(trace.FreeRequested, id, size, pass), event(trace.FreeCompleted, id, size, pass)}
	}
	var events []trace.Event
	add := func(more ...trace.Event) { events = append(events, more...) }
	add(event(trace.Alloc, 0, 40*MiB, 0), event(trace.Alloc, 1, 20*MiB, 0))
	add(free(1, 20*MiB, 0)...) // the baseline ends with 40
	add(event(trace.Alloc, 2, 30*MiB, 1))
	add(free(2, 30*MiB, 1)...)
	add(event(trace.Alloc, 3, 10*MiB, 1)) // the first returns 10, and had 70
	// the second has no event
	add(free(3, 10*MiB, 3)...)            // the third releases what was returned before it begins
	add(event(trace.Alloc, 4, 5*MiB, 3))  // and has 45
	add(event(trace.Alloc, 5, 99*MiB, 5)) // the one that memory ran out in
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(&trace.Trace{Events: events}, a)
	require.NoError(t, err)
	got := passPeaks(tl, 5)
	var allocated, requested, active []units.Bytes
	for _, p := range got {
		allocated, requested = append(allocated, p.Allocated/MiB), append(requested, p.Requested/MiB)
		active = append(active, p.Active/MiB)
		assert.GreaterOrEqual(t, p.Reserved, p.Allocated)
	}
	want := []units.Bytes{40, 70, 50, 45, 45}
	assert.Equal(t, want, allocated)
	assert.Equal(t, want, requested)
	assert.Equal(t, want, active)
}

// TestReplaysAgree: each figure that was recorded has to be the simulated one, and each address.
func TestReplaysAgree(t *testing.T) {
	size := func(b units.Bytes) *units.Bytes { return &b }
	of := func(change func(*recordReplay)) bool {
		r := &recordReplay{Phases: []phaseReplay{{}, {Simulated: allocator.PeakSizes{Requested: 1, Allocated: 2, Active: 3,
			Reserved: 4}, Recorded: recordedSizes{Requested: 1, Allocated: size(2), Active: size(3), Reserved: size(4)}}}}
		change(r)
		return r.agrees()
	}
	assert.True(t, of(func(*recordReplay) {}))
	assert.True(t, of(func(r *recordReplay) {
		r.Phases[1].Recorded = recordedSizes{Requested: 1} // on CPU tensors
	}))
	assert.False(t, of(func(r *recordReplay) { r.Phases[1].Recorded.Requested++ }))
	assert.False(t, of(func(r *recordReplay) { r.Phases[1].Simulated.Allocated++ }))
	assert.False(t, of(func(r *recordReplay) { r.Phases[1].Simulated.Active++ }))
	assert.False(t, of(func(r *recordReplay) { r.Phases[1].Simulated.Reserved++ }))
	assert.False(t, of(func(r *recordReplay) { r.Phases[0].Simulated.Requested++ }))
	assert.False(t, of(func(r *recordReplay) { r.address = &allocator.DeviceReplay{Allocs: 1} }))
	assert.True(t, of(func(r *recordReplay) { r.address = &allocator.DeviceReplay{Allocs: 1, AddressMatch: 1} }))
}
