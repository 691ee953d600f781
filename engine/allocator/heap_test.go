package allocator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What was there before the first event: a block that an event frees, one that its owner released
// before, one that stays, and a free one.
func TestTimelineOfAHeap(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(`passes recorded
heap 0x7f0000000000 2MiB small
block 512 active_allocated a requested=500
block 1024 active_awaiting_free b requested=1000
block 1536 active_allocated requested=1500
block 2094080 inactive
pass 1 forward
free_completed b bytes=1000
free a
free_completed a
`))
	require.NoError(t, err)
	require.NoError(t, tr.Validate())
	a, err := New(Config{Heap: tr.Heap})
	require.NoError(t, err)
	tl, err := Replay(tr, a)
	require.NoError(t, err)
	assert.Equal(t, []units.Bytes{1536}, tl.Kept())
	assert.Equal(t, []tensor.StorageID{0}, tl.Held(Before), "nobody holds b any more")
	assert.Equal(t, 2048*units.Bytes(1), tl.Peaks.Allocated.Bytes)
	assert.Equal(t, 1536*units.Bytes(1), tl.End.Allocated)
}

// TestHeapOfManyStreams: a private pool takes segments of a stream that is first seen in it, and a
// run of pages joins the last of those that are there.
func TestHeapOfManyStreams(t *testing.T) {
	const text = `heap 0x200000 20MiB private=1.0
block 20MiB inactive
heap 0x10000000 2MiB stream=7 private=1.0
block 2MiB inactive
heap 0x20000000 20MiB expandable
block 20MiB active_allocated requested=1
heap 0x22800000 20MiB expandable
block 20MiB inactive
heap 0x25000000 20MiB expandable
block 20MiB active_allocated requested=2
`
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	a, err := New(Config{Heap: tr.Heap})
	require.NoError(t, err)
	require.NoError(t, Verify(a.Snapshot(), a.Stats()))
	assert.Equal(t, tr.Heap, a.Snapshot().Segments)
	c := a.(*caching)
	assert.Len(t, c.segments, 3, "the three runs are one segment")
}
