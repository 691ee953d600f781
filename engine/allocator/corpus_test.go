package allocator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

const corpus = "../../../shared/corpus/snapshots"

// known is a line of replay.json: what another simulator found for the recordings without
// expandable segments.
type known struct {
	Allocs        int         `json:"allocs"`
	AddrMatch     int         `json:"addr_match"`
	BaseAllocated units.Bytes `json:"base_allocated"`
	PeakAllocated units.Bytes `json:"peak_allocated"`
	PeakReserved  units.Bytes `json:"peak_reserved"`
	PeakRequested units.Bytes `json:"peak_requested"`
	EndAlloc      units.Bytes `json:"end_alloc"`
	Skip, Note    string
}

func corpusSnapshots(t testing.TB) []string {
	paths, err := filepath.Glob(filepath.Join(corpus, "*.p*kl*"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the corpus is not here")
	}
	return paths
}

// TestRecordings: on every recording of a real GPU, every allocation gets the recorded address, the
// peaks are the recorded ones, and at the end every block is where the snapshot has it.
func TestRecordings(t *testing.T) {
	paths := corpusSnapshots(t)
	text, err := os.ReadFile(filepath.Join(corpus, "replay.json"))
	require.NoError(t, err)
	var table map[string]known
	require.NoError(t, json.Unmarshal(text, &table))
	seen, allocs := 0, 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		recs, err := trace.ReadSnapshot(data)
		require.NoError(t, err, path)
		for _, rec := range recs {
			key := fmt.Sprintf("snapshots/%s#%d", filepath.Base(path), rec.Device)
			want, listed := table[key]
			if !listed {
				continue
			}
			seen++
			t.Run(key, func(t *testing.T) {
				end := checkRecording(t, rec)
				allocs += end.d.Allocs
				if want.Skip != "" || want.Note != "" {
					return // not in that table, and no less exact here
				}
				peaks := end.d.Peaks.Simulated
				assert.Equal(t, want.Allocs, end.d.Allocs)
				assert.Equal(t, want.AddrMatch, end.d.AddressMatch)
				assert.Equal(t, want.BaseAllocated, end.base.Allocated)
				assert.Equal(t, want.PeakAllocated, peaks.Allocated)
				assert.Equal(t, want.PeakReserved, peaks.Reserved)
				assert.Equal(t, want.PeakRequested, peaks.Requested)
				assert.Equal(t, want.EndAlloc, end.simulated.stats.Allocated)
			})
		}
	}
	require.Equal(t, len(table), seen, "every line of replay.json was compared")
	t.Logf("%d recordings, %d allocations", seen, allocs)
}

type replayed struct {
	*playback
	base Stats
}

// checkRecording replays step by step, as ReplayRecording does, and checks the state at intervals
// and at the end.
func checkRecording(t *testing.T, rec *trace.Recording) replayed {
	d, err := ReplayRecording(rec)
	require.NoError(t, err)
	require.NoError(t, rec.Trace.Validate())
	assert.Equal(t, d.Allocs, d.AddressMatch, "first mismatch %+v", d.FirstMismatch)
	assert.Equal(t, d.Peaks.Recorded, d.Peaks.Simulated)
	assert.Zero(t, d.Skipped)
	assert.True(t, d.Agrees())

	p, err := newPlayback(rec, 0)
	require.NoError(t, err)
	r := replayed{p, p.simulated.stats}
	p.d.Peaks = d.Peaks
	every := max(1, len(rec.Trace.Events)/50)
	for i := range rec.Trace.Events {
		require.NoError(t, p.event(i, &rec.Trace.Events[i]))
		if i%every == 0 {
			require.NoError(t, Verify(p.simulated.Snapshot(), p.simulated.stats), "event %d", i)
			require.NoError(t, Verify(p.recorded.Snapshot(), p.recorded.stats), "event %d", i)
		}
	}
	require.NoError(t, Verify(p.simulated.Snapshot(), p.simulated.stats))
	final := append([]trace.Segment(nil), rec.Final...)
	diff := cmp.Diff(Snapshot{final}, p.simulated.Snapshot(), cmpopts.SortSlices(func(a, b trace.Segment) bool {
		return a.Addr < b.Addr
	}))
	if len(diff) > 2000 {
		diff = diff[:2000] + " …"
	}
	assert.Empty(t, diff, "the state at the end (-snapshot +simulated)")
	return r
}

func BenchmarkReplaySnapshot(b *testing.B) {
	paths := corpusSnapshots(b)
	var data []byte
	for _, path := range paths {
		if d, err := os.ReadFile(path); err == nil && len(d) > len(data) {
			data = d
		}
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := ReplaySnapshot(data)
		require.NoError(b, err)
	}
}
