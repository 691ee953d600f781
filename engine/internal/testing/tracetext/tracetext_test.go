package tracetext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestParse: what a trace prints is read as that trace.
func TestParse(t *testing.T) {
	const text = `heap 0x200000 2MiB small stream=1
block 512 active_allocated requested=500
block 1KiB active_awaiting_free a requested=700
block 2095616 inactive
free_completed a
b = alloc 300 activation aten::mm fc m.py:7
free b
`
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, tr.Validate())
	assert.Equal(t, text, tr.String())
	var at []uint64
	for _, b := range tr.Heap[0].Blocks {
		at = append(at, b.Addr)
	}
	assert.Equal(t, []uint64{0x200000, 0x200200, 0x200600}, at, "blocks lie side by side")
}

// TestParseEveryVerb: each line that a trace can print is read as what it says.
func TestParseEveryVerb(t *testing.T) {
	const text = `origin exec
passes first steady
heap 0x7f0000000000 2MiB expandable stream=3 private=1.2
block 512 active_allocated ab requested=400
block 2096640 inactive
a = alloc 9408 parameter - conv1
pass 1 forward
b = alloc 4MiB activation aten::relu layer1.0 "my model.py:7"
c = alloc 20 stream=2 addr=0x200
free b
free_completed b bytes=512 stream=4
pass 1 backward
free a at activation aten::mul
free b nosite
mark end
mark - nosite
mark aten::add activation aten::add fc
segment_alloc bytes=2MiB stream=1 addr=0x400
oom storage=c bytes=1GiB
note shape-bound - activation aten::nonzero phase=forward
note workspace-estimate "by formula" askable activation aten::conv2d
note later-graph -
coverage 12 4 3 2
unsupported no-rule my::op 2 activation my::op layer1 model.py:9 detail="no = rule" phase=backward
unsupported no-rule my::other 1 activation
`
	tr, err := tracetext.Parse(strings.NewReader("# a comment\n\n" + text))
	require.NoError(t, err)
	assert.Equal(t, text, tr.String())
	assert.Equal(t, []trace.Pass{{Name: "first"}, {Name: "steady"}}, tr.Passes)
	assert.Equal(t, trace.Segment{Addr: 0x7f0000000000, Size: 2 * units.MiB, Expandable: true, Stream: 3, Private: "1.2",
		Blocks: []trace.Block{
			{Addr: 0x7f0000000000, Size: 512, Requested: 400, State: trace.ActiveAllocated, Storage: 27},
			{Addr: 0x7f0000000200, Size: 2096640, State: trace.Inactive, Storage: trace.NoStorage},
		}}, tr.Heap[0])
	assert.Equal(t, trace.Coverage{Nodes: 12, TensorOutputs: 4, KnownDType: 3, Sized: 2, Unsupported: []trace.Unsupported{
		{Reason: trace.NoRule, Op: "my::op", Count: 2, Detail: "no = rule", First: trace.Site{Op: "my::op",
			Module: "layer1", File: "model.py", Line: 9, Phase: trace.Backward}},
		{Reason: trace.NoRule, Op: "my::other", Count: 1},
	}}, tr.Coverage)
}

// TestParseErrors: an error has the number of its line.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a = alloc 1\n\nwhat b":      `line 3: got "what"`,
		"alloc 512":                  `line 1: got "alloc", want a storage with =`,
		"a = free 512":               `line 1: got "free", want alloc`,
		"A = alloc 512":              `line 1: got "A", want the letters of a storage`,
		"free":                       `line 1: got "", want the letters of a storage`,
		"free a by x":                `line 1: got "by", want at or nosite`,
		"free a nosite more":         `line 1: got ["more"] and map[], want the end of the line`,
		"free a size=3":              `line 1: got [] and map["size":"3"], want the end of the line`,
		"pass one":                   `line 1: strconv.Atoi: parsing "one": invalid syntax`,
		"pass 1 sideways":            `line 1: got "sideways", want a phase`,
		"unsupported because a 1":    `line 1: got "because", want a reason`,
		"mark a \"b":                 "line 1: invalid syntax",
		"heap 0x200 512 quick":       `line 1: got "quick", want small or expandable`,
		"a = alloc 1 x.pt m n m.py":  "line 1: got \"x.pt\", want a category",
		"heap 0x200 1\nblock 1 lost": `line 2: got "lost", want a block's state`,
	} {
		_, err := tracetext.Parse(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}
