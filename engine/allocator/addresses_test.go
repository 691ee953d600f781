package allocator

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// Where an H100's driver put the segments of one process (driver 580.159.04), MiB below the first
// chunk's end. A negative size gives the segment of that number back.
func TestSegmentsLieWhereADriverPutThem(t *testing.T) {
	var d driverAddresses
	var at []uint64
	var sizes []units.Bytes
	for i, c := range []struct {
		free  []int
		size  units.Bytes
		below uint64
		why   string
	}{
		{size: 70, below: 96, why: "a chunk of 96"},
		{size: 64, below: 160, why: "a chunk lies below the one before"},
		{size: 72, below: 256, why: "what is left of chunks is too small"},
		{size: 80, below: 352, why: "the same"},
		{size: 10, below: 272, why: "the rest of the lowest chunk"},
		{size: 2, below: 262, why: "and behind that"},
		{size: 20, below: 184, why: "only a higher chunk has room"},
		{size: 70, below: 448, why: "a new chunk"},
		{size: 2, below: 378, why: "the lowest free place, not the best fit"},
		{size: 46, below: 512, why: "a new chunk"},
		{size: 2, below: 466, why: "the lowest free place"},
		{size: 2, below: 464, why: "behind it"},
		{size: 58, below: 576, why: "a new chunk"},
		{size: 2, below: 518, why: "the lowest free place"},
		{size: 28, below: 608, why: "a new chunk"},
		{size: 44, below: 672, why: "the same"},
		{size: 78, below: 768, why: "the same"},
		{size: 30, below: 800, why: "the same"},
		{size: 76, below: 896, why: "the same"},
		{size: 52, below: 960, why: "the same"},
		{size: 60, below: 1024, why: "the same"},
		{size: 50, below: 1088, why: "the same"},
		{free: []int{15, 7, 18, 13, 10, 5}, size: 66, below: 448,
			why: "a chunk that something is left in keeps its room; one that is all free is gone"},
		{size: 2, below: 1038, why: "the lowest free place"},
		{size: 2, below: 1036, why: "behind it"},
		{size: 2, below: 1034, why: "behind it"},
		{size: 78, below: 1184, why: "the gap of 96 has no 32 more"},
		{size: 52, below: 864, why: "the upper end of that gap"},
		{size: 50, below: 1248, why: "a gap of 64 has no 32 more"},
		{size: 56, below: 1312, why: "the same"},
		{size: 12, below: 1198, why: "the lowest place that is large enough"},
		{size: 80, below: 1408, why: "a new chunk"},
		{size: 20, below: 376, why: "the lowest place that is large enough"},
		{size: 78, below: 1504, why: "a new chunk"},
		{size: 2, below: 1426, why: "the lowest free place"},
	} {
		for _, n := range c.free {
			d.release(at[n], sizes[n])
		}
		at, sizes = append(at, d.place(c.size*units.MiB)), append(sizes, c.size*units.MiB)
		assert.Equal(t, c.below, (uint64(firstAddr)-at[i])/uint64(units.MiB), "segment %d: %s", i, c.why)
	}
}

// What a process asked for on an H100 (torch 2.11.0, eager), and where its allocator took a new
// segment: a number is an allocation of that many bytes, -3 the free of the allocation of that
// number, S20 a segment of 20 MiB for what comes next, k the first kernel, taken to be
// launched when the first operator has allocated.
func TestSegmentsAreThoseOfAnH100(t *testing.T) {
	files, err := filepath.Glob("testdata/h100/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			head, body, _ := strings.Cut(string(text), "\n")
			_, want, _ := strings.Cut(head, "reserved ")
			a, err := newCaching(Config{Settings: DefaultSettings(), Local: 414 * units.MiB})
			require.NoError(t, err)
			require.Equal(t, want, fmt.Sprint(int64(replayWords(t, a, strings.Fields(body)))))
		})
	}
}

// replayWords takes a recording's words through an allocator, and returns what is reserved then.
func replayWords(t *testing.T, a *caching, words []string) units.Bytes {
	t.Helper()
	var taken []Addr
	var segment string
	for i, w := range words {
		n, err := strconv.ParseInt(strings.TrimPrefix(w, "-"), 10, 64)
		switch {
		case w == "k":
			a.kernelRan()
			continue
		case strings.HasPrefix(w, "S"):
			segment = w
			continue
		case err != nil:
			t.Fatalf("word %d: got %q, want a size, -N, SN or k", i, w)
		case strings.HasPrefix(w, "-"):
			a.Free(taken[n])
		default:
			before := a.Stats().Reserved
			addr, err := a.Malloc(units.Bytes(n), 0)
			require.NoError(t, err)
			taken = append(taken, addr)
			got := ""
			if more := a.Stats().Reserved - before; more > 0 {
				got = fmt.Sprintf("S%d", more/units.MiB)
			}
			require.Equal(t, segment, got, "word %d: allocation %d of %d bytes", i, len(taken)-1, n)
		}
		segment = ""
	}
	return a.Stats().Reserved
}

func TestTheFirstKernelFreesWhatTheContextHeld(t *testing.T) {
	a, err := newCaching(Config{Settings: DefaultSettings(), Local: 62 * units.MiB})
	require.NoError(t, err)
	_, err = a.Malloc(1, 0) // takes the rest of the context's chunk, so that the chunk stays
	require.NoError(t, err)
	x, err := a.Malloc(20*units.MiB, 0)
	require.NoError(t, err)
	a.kernelRan()
	y, err := a.Malloc(20*units.MiB, 0)
	require.NoError(t, err)
	assert.Less(t, x, y, "above: in the place that is free now")
	z, err := a.Malloc(40*units.MiB, 0)
	require.NoError(t, err)
	assert.Equal(t, y+Addr(20*units.MiB), z, "behind it")
}

// TestAFullChunkHasNoRest: what an allocation fills to the last page is free no more.
func TestAFullChunkHasNoRest(t *testing.T) {
	var d driverAddresses
	first := d.place(20 * units.MiB)
	second := d.place(12 * units.MiB)
	assert.Equal(t, first+uint64(20*units.MiB), second)
	assert.Empty(t, d.free)
	assert.Len(t, d.chunks, 1)
	d.release(first, 20*units.MiB)
	assert.Equal(t, []extent{{first, 20 * units.MiB}}, d.free)
	d.release(second, 12*units.MiB)
	assert.Empty(t, d.free)
	assert.Empty(t, d.chunks)
}

// TestAReleasedSegmentsPlaceIsFree: where a segment was given back, the next of its size lies.
func TestAReleasedSegmentsPlaceIsFree(t *testing.T) {
	a, err := newCaching(Config{Settings: DefaultSettings()})
	require.NoError(t, err)
	for _, size := range []units.Bytes{30 * units.MiB, 1} {
		x, err := a.Malloc(size, 0)
		require.NoError(t, err)
		a.Free(x)
		a.EmptyCache()
		y, err := a.Malloc(size, 0)
		require.NoError(t, err)
		assert.Equal(t, x, y, "%d bytes", size)
	}
}
