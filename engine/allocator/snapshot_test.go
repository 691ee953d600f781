package allocator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// recording makes a recording of a heap at its end and events, both in the text form of a trace.
func recording(t *testing.T, end, events string) *trace.Recording {
	heap, err := tracetext.Parse(strings.NewReader(end))
	require.NoError(t, err)
	tr, err := tracetext.Parse(strings.NewReader(events))
	require.NoError(t, err)
	return &trace.Recording{Trace: tr, Final: heap.Heap}
}

func TestReplayRecording(t *testing.T) {
	for _, tt := range []struct {
		name, end, events string
		conf              trace.Conf
		match, skipped    int
		first             *Mismatch
		peaks             DevicePeaks
	}{
		{
			name: "as the device did", end: "heap 0x200000 2MiB small\nblock 512 active_allocated requested=5\nblock 2096640 " +
				"inactive\n",
			events: "segment_alloc bytes=2MiB addr=0x200000\na = alloc 5 addr=0x200000\nb = alloc 600 addr=0x200200\nfree b\n" +
				"free_completed b",
			match: 2, peaks: both(PeakSizes{605, 1536, 1536, 2 << 20}),
		},
		{
			name: "an unsplit remainder of before", end: "heap 0x1000000 12MiB\nblock 12MiB inactive\n",
			events: "free a bytes=11MiB addr=0x1000000\nfree_completed a bytes=11MiB addr=0x1000000",
			peaks:  both(PeakSizes{11 << 20, 12 << 20, 12 << 20, 12 << 20}),
		},
		{
			name: "not the best fit", end: "heap 0x1000000 20MiB\nblock 2MiB inactive\nblock 2MiB active_allocated " +
				"requested=2MiB\nblock 2MiB active_allocated requested=2MiB\nblock 14MiB inactive\n",
			events: "a = alloc 2MiB addr=0x1400000",
			first:  &Mismatch{0, 2 << 20, "0x1400000", "0x1000000"}, peaks: both(PeakSizes{4 << 20, 4 << 20, 4 << 20, 20 << 20}),
		},
		{
			name: "a segment that the rules would not take", end: "heap 0x1000000 20MiB\nblock 20MiB inactive\nheap 0x4000000 " +
				"20MiB\nblock 2MiB active_allocated requested=2MiB\nblock 18MiB inactive\n",
			events: "segment_alloc bytes=20MiB addr=0x4000000\na = alloc 2MiB addr=0x4000000",
			first:  &Mismatch{1, 2 << 20, "0x4000000", "0x1000000"},
			peaks:  DevicePeaks{PeakSizes{2 << 20, 2 << 20, 2 << 20, 20 << 20}, PeakSizes{2 << 20, 2 << 20, 2 << 20, 40 << 20}},
		},
		{
			name: "no segment where the rules take one", end: "heap 0x1000000 2MiB small\nblock 2MiB active_allocated " +
				"requested=2MiB\n",
			events: "a = alloc 2MiB addr=0x1000000", first: &Mismatch{0, 2 << 20, "0x1000000", "0x4000001400000"},
			peaks: DevicePeaks{PeakSizes{2 << 20, 2 << 20, 2 << 20, 22 << 20}, PeakSizes{2 << 20, 2 << 20, 2 << 20, 2 << 20}},
		},
		{
			name: "pages", end: "heap 0x1000000 20MiB expandable\nblock 3MiB active_allocated requested=3MiB\nblock 17MiB " +
				"inactive\n", conf: trace.Conf{Expandable: true},
			events: "segment_map bytes=20MiB addr=0x1000000\na = alloc 3MiB addr=0x1000000\nsegment_map bytes=20MiB " +
				"addr=0x2400000\nb = alloc 30MiB addr=0x1300000\nfree b\nfree_completed b\nsegment_unmap bytes=20MiB " +
				"addr=0x2400000",
			match: 2, peaks: both(PeakSizes{33 << 20, 33 << 20, 33 << 20, 40 << 20}),
		},
		{
			name: "events that the heap contradicts", end: "heap 0x200000 2MiB small\nblock 2MiB inactive\n",
			events: "segment_free bytes=20MiB addr=0x200000\nsegment_unmap bytes=20MiB addr=0x200000", skipped: 4,
			peaks: both(PeakSizes{0, 0, 0, 2 << 20}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := recording(t, tt.end, tt.events)
			rec.Settings = tt.conf
			d, err := ReplayRecording(rec)
			require.NoError(t, err)
			assert.Equal(t, tt.match, d.AddressMatch)
			assert.Equal(t, tt.first, d.FirstMismatch)
			assert.Equal(t, tt.skipped, d.Skipped)
			assert.Equal(t, tt.peaks, d.Peaks)
			assert.Equal(t, tt.first == nil, d.Agrees())
		})
	}
}

func both(p PeakSizes) DevicePeaks { return DevicePeaks{p, p} }

// TestRecordingSettings: a recording is replayed under the settings it was made under.
func TestRecordingSettings(t *testing.T) {
	s, err := settingsOf(trace.Conf{Text: "max_split_size_mb:32,garbage_collection_threshold:0.5", MaxSplitSize: 64 << 20,
		Roundup: make([]int64, 16)})
	require.NoError(t, err)
	assert.Equal(t, units.Bytes(64<<20), s.MaxSplitSize, "what was in force, not what the variable said")
	assert.Zero(t, s.GCThreshold, "the recorded frees say what was collected")
	_, err = ReplayRecording(&trace.Recording{Trace: &trace.Trace{}, Settings: trace.Conf{Text: "foo:1"}})
	require.ErrorContains(t, err, `got the key "foo"`)
	_, err = ReplayFromStart(&trace.Recording{Trace: &trace.Trace{}, Settings: trace.Conf{Text: "foo:1"}})
	require.ErrorContains(t, err, `got the key "foo"`)
}

// TestReplayFromStartErrors: a heap whose blocks do not fill it, and an allocation that no device
// has memory for.
func TestReplayFromStartErrors(t *testing.T) {
	for _, tt := range []struct{ why, text, want string }{
		{"a heap with a hole", "heap 0x200000 2MiB small\nblock 512 inactive\n",
			"heap: segment 0x200000: got blocks up to 0x200200, want 0x400000"},
		{"an allocation of an exbibyte", "a = alloc 512 addr=0x1\nb = alloc 1152921504606846976 addr=0x2\n",
			"event 1: out of memory"},
	} {
		tr, err := tracetext.Parse(strings.NewReader(tt.text))
		require.NoError(t, err, tt.why)
		_, err = ReplayFromStart(&trace.Recording{Trace: tr})
		assert.ErrorContains(t, err, tt.want, tt.why)
	}
}

func TestReplaySnapshotErrors(t *testing.T) {
	_, err := ReplaySnapshot([]byte("not a pickle"))
	require.ErrorContains(t, err, "memory snapshot: offset 0")
	none, err := ReplaySnapshot([]byte("\x80\x02}(\x8c\x08segments]\x8c\x0ddevice_traces]u."))
	require.NoError(t, err)
	text, err := json.Marshal(none)
	require.NoError(t, err)
	assert.Equal(t, "[]", string(text))
}

// Each device that recorded something is replayed; what one cannot be replayed for names it.
func TestReplaySnapshot(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("..", "..", "testdata", "snapshots", "good.pickle"))
	require.NoError(t, err)
	got, err := ReplaySnapshot(good)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, []int{0, 7, 4, 4}, []int{got[0].Device, got[0].Events, got[0].Allocs, got[0].AddressMatch})
}

// TestReplayDevices: a device on which nothing moved is passed over, those behind it are replayed;
// what cannot be replayed names its device and event.
func TestReplayDevices(t *testing.T) {
	dict := func(kv ...any) *pickle.Dict {
		d := &pickle.Dict{}
		for i := 0; i < len(kv); i += 2 {
			d.Keys, d.Values = append(d.Keys, kv[i]), append(d.Values, kv[i+1])
		}
		return d
	}
	alloc := func(bytes int) any {
		return &pickle.List{Items: []any{dict("action", "alloc", "addr", 4096, "size", bytes, "stream", 0)}}
	}
	mapped := &pickle.List{Items: []any{dict("action", "segment_alloc", "addr", 4096, "size", 2<<20, "stream", 0)}}
	for _, tt := range []struct {
		why    string
		traces []any
		want   []int
		err    string
	}{
		{"the middle one moved nothing", []any{alloc(512), mapped, alloc(512)}, []int{0, 2}, ""},
		{"an exbibyte", []any{mapped, alloc(512), alloc(1 << 60)}, nil, "device 2: event 0: out of memory"},
	} {
		data, err := pickle.Encode(dict("segments", &pickle.List{}, "device_traces", &pickle.List{Items: tt.traces}))
		require.NoError(t, err)
		replays, err := ReplaySnapshot(data)
		var got []int
		for i := range replays {
			got = append(got, replays[i].Device)
		}
		assert.Equal(t, tt.want, got, tt.why)
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
		} else {
			assert.NoError(t, err, tt.why)
		}
	}
}

func TestDeviceReplayJSON(t *testing.T) {
	text, err := json.Marshal(DeviceReplay{FirstMismatch: &Mismatch{3, 5, "0x1", "0x2"}})
	require.NoError(t, err)
	assert.JSONEq(t,
		`{"device": 0, "events": 0, "allocs": 0, "address_match": 0, "first_mismatch": {"event": 3, "bytes": 5, "recorded": "0x1", "simulated": "0x2"},
		"skipped": 0, "peaks": {"simulated": {"requested": 0, "allocated": 0, "active": 0, "reserved": 0}, "recorded": {"requested": 0, "allocated": 0, "active": 0, "reserved": 0}}}`, string(text))
}

// FuzzReplaySnapshot: whatever a snapshot says, replaying it ends.
func FuzzReplaySnapshot(f *testing.F) {
	f.Add("heap 0x200000 2MiB small\nblock 512 active_allocated requested=5\nblock 2096640 inactive\n",
		"segment_alloc bytes=2MiB addr=0x200000\na = alloc 5 addr=0x200000\nb = alloc 600 addr=0x200200\nfree b\n"+
			"free_completed b", false)
	f.Add("heap 0x1000000 20MiB expandable\nblock 3MiB active_allocated requested=3MiB\nblock 17MiB inactive\n",
		"segment_map bytes=20MiB addr=0x1000000\na = alloc 3MiB addr=0x1000000\nsegment_unmap bytes=20MiB addr=0x2400000\n"+
			"segment_map bytes=20MiB addr=0x2400000", true)
	f.Fuzz(func(t *testing.T, end, events string, expandable bool) {
		heap, err := tracetext.Parse(strings.NewReader(end))
		if err != nil || heap.Validate() != nil {
			return
		}
		tr, err := tracetext.Parse(strings.NewReader(events))
		if err != nil || tr.Storages() > 1000 {
			return
		}
		tr.Heap = nil
		for i := range tr.Events {
			if e := &tr.Events[i]; e.Addr > 1<<63 || e.Bytes > 1<<60 || e.Storage < 0 && e.Action <= trace.FreeCompleted {
				return // ReadSnapshot makes none of these
			}
		}
		for i := range heap.Heap {
			for j := range heap.Heap[i].Blocks {
				if heap.Heap[i].Blocks[j].Storage = trace.NoStorage; heap.Heap[i].Addr > 1<<63 || heap.Heap[i].Size > 1<<60 {
					return
				}
			}
		}
		_, _ = ReplayRecording(&trace.Recording{Trace: tr, Final: heap.Heap, Settings: trace.Conf{Expandable: expandable}})
	})
}
