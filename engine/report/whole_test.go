package report

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestWholeText: a report with all that its head can say, and without.
func TestWholeText(t *testing.T) {
	pinned := units.MiB
	r := &Report{Run: Run{Artifact: "m.pt", Format: "torchscript", Producer: "2.14", Device: "t4", Torch: "2.15",
		Runtime: "eager", Mode: "inference", AllocConf: "roundup", Inputs: []string{"x=float32[1]", "y=int64[2]"}},
		Quality: Exact, Weights: 4 * units.MiB, Outside: units.MiB, Delta: 2 * units.MiB, HostPinned: &pinned,
		Context: &Context{Low: 3 * units.MiB, High: 5 * units.MiB, Source: "logs"}, NCCL: &NCCL{Low: 7, High: 7},
		Peak: Peak{Allocated: 6 * units.MiB, Reserved: 20 * units.MiB},
		OOM: &OutOfMemory{Requested: 8 * units.MiB, Limit: 21 * units.MiB,
			Moment: Moment{Site: Site{Op: "aten::mm"}, Phase: "forward", Pass: "first"}}}
	written := func(columns int) string {
		var b strings.Builder
		require.NoError(t, WriteText(layout.Wide(&b, columns), r))
		head, _, _ := strings.Cut(b.String(), "\n\n")
		_, foot, _ := strings.Cut(b.String(), "  quality ")
		lines := strings.SplitN(foot, "\n", 3)
		return head + "\n  quality " + strings.Join(lines[:2], "\n")
	}
	assert.Equal(t, `m.pt on t4, eager: does not fit: 8.0 MiB asked for at aten::mm (forward, first pass), limit 21.0 MiB; `+
		`until then peak 6.0 MiB allocated, 20.0 MiB reserved, 24.0 MiB to 26.0 MiB total
  artifact   torchscript, 2.14
  run        eager, inference, torch 2.15, alloc_conf roundup
  inputs     x=float32[1]
             y=int64[2]
  weights    4.0 MiB (4194304 B), of it 1.0 MiB (1048576 B) outside of PyTorch's allocator
  delta      2.0 MiB (2097152 B)
  context    3.0 MiB to 5.0 MiB: logs; `+"`context:` under `devices:`"+` states it
  nccl       7 B, stated
  host pinned  1.0 MiB (1048576 B) of page-locked memory of the host, no part of the total
  quality    exact: nothing assumed
  no room    8.0 MiB (8388608 B) was asked for at aten::mm (forward, first pass), the process may take 21.0 MiB (22020096 B)`,
		written(200))
	pinned--
	r.Outside, r.Program, r.NCCL, r.AllocConf, r.Producer, r.Inputs, r.OOM = 0, true, nil, "", "", nil, nil
	r.Context.High, r.Mode = r.Context.Low, "eager"
	assert.Equal(t, `m.pt on t4, eager: peak 6.0 MiB allocated, 20.0 MiB reserved, 23.0 MiB to 23.0 MiB total
  artifact   torchscript
  run        eager, torch 2.15
  weights    4.0 MiB (4194304 B)
  context    3.0 MiB (3145728 B)
  quality    exact: nothing assumed
`, written(120))
	out := &full{}
	assert.ErrorIs(t, WriteText(out, r), assert.AnError)
	assert.Equal(t, 1, out.writes, "in one write")
}

// TestQualityOfSeveralRuns: what figures that are shown together are worth; nothing of exact ones.
func TestQualityOfSeveralRuns(t *testing.T) {
	assert.Equal(t, []string{"", "estimate: memspec estimate at one value says what was assumed, and the upper figures",
		"bound: sizes that data decides are at their upper end", "incomplete: sizes are missing", ""},
		[]string{QualityWords(Exact), QualityWords(Estimated), QualityWords(Bound), QualityWords(Incomplete),
			QualityWords("new")})
}

// TestFoldLines: what the run made is one row a line, state one of each kind of category in all;
// untraced storages have their line, where it is known.
func TestFoldLines(t *testing.T) {
	held := func(category, file string, flat units.Bytes) Holder {
		return Holder{Site: Site{Op: "o", File: file, Line: 3}, Category: category, Flat: flat, Count: 1}
	}
	assert.Equal(t, []Row{
		{"a.py:3", "activations ×1, untraced ×1", 48, 48, 2},
		{"", "parameters ×1, inputs ×1, untraced ×1", 11, 11, 3},
		{"b.py:3", "activations ×1", 4, 4, 1},
	}, foldLines([]Holder{held("activation", "a.py", 16), held("parameter", "a.py", 1), held("input", "b.py", 2),
		held(Untraced, "a.py", 32), held(Untraced, "", 8), held("activation", "b.py", 4)}))
}

// TestReadJSONBounds: what is too large or of too many objects is not decoded, an error of reading
// is returned, and what is not written is empty and not null.
func TestReadJSONBounds(t *testing.T) {
	const least = `{"schema": 1, "artifact": "m", "device": "t4", "serving": {}}`
	r, err := readJSON(strings.NewReader(least), len(least))
	require.NoError(t, err, "as large as may be")
	assert.NotNil(t, r.Inputs)
	assert.NotNil(t, r.Passes)
	assert.NotNil(t, r.Coverage.Unsupported)
	assert.NotNil(t, r.Holders)
	assert.NotNil(t, r.Notes)
	assert.NotNil(t, r.Serving.MadeUp)
	assert.NotNil(t, r.Serving.Defaults)
	for _, tt := range []struct {
		from io.Reader
		most int
		want string
	}{
		{strings.NewReader(least), len(least) - 1, "got an estimate of more than 60 bytes"},
		{iotest.ErrReader(errors.New("gone")), maxJSON, "gone"},
		{strings.NewReader(strings.Repeat("{", 1<<20)), maxJSON,
			"not an estimate: got 1048576 objects in 1048576 bytes, want at most 139264"},
	} {
		_, err := readJSON(tt.from, tt.most)
		assert.EqualError(t, err, tt.want)
	}
	assert.Equal(t, 256<<20, maxJSON)
}

// TestFits: a run fits where its memory does not end, and an engine where it starts.
func TestFits(t *testing.T) {
	for _, tt := range []struct {
		r    Report
		want bool
	}{
		{Report{}, true}, {Report{OOM: &OutOfMemory{}}, false}, {Report{Serving: &Serving{}}, false},
		{Report{Serving: &Serving{Fits: true}}, true},
	} {
		assert.Equal(t, tt.want, tt.r.Fits())
	}
	r := Report{Context: &Context{Low: 10, High: 20}, Outside: 3, Peak: Peak{Allocated: 100, Reserved: 200},
		Upper: &Upper{Allocated: 150, Reserved: 260}}
	upper, known := r.UpperValue(Total)
	assert.Equal(t, []any{units.Bytes(283), true}, []any{upper, known}, "the most of all its parts")
	pinned := units.Bytes(7)
	r.HostPinned = &pinned
	value, known := r.Value(HostPinned)
	assert.Equal(t, []any{pinned, true}, []any{value, known})
	for want, s := range map[string]*Serving{"does not fit: no room": {Unfit: "no room"},
		(&Serving{Fits: true, KV: &KVCache{Tokens: 5}}).headline(): {Fits: true, KV: &KVCache{Tokens: 5}}} {
		assert.Equal(t, want, Headline(&Report{Serving: s}))
	}
	u := Unsupported{Op: "aten::x", Reason: trace.NotUnderAutocast}
	assert.Equal(t, "what the live module runs under autocast in the place of aten::x (trace it under autocast)", u.Text())
}

// TestACompiledModelOfOneCall: its only call has the peak, and nothing comes later. A run that
// never calls it has no first call.
func TestACompiledModelOfOneCall(t *testing.T) {
	of := func(text string) *Report {
		return Build(Source{Platform: &platform.Platform{}, Timeline: replayed(t, text, 0), Compiled: true})
	}
	r := of("origin exec\npasses first\npass 1 forward\na = alloc 2MiB activation aten::relu m\nfree a\n")
	assert.Equal(t, 2*units.MiB, r.Peak.Allocated)
	require.NotNil(t, r.FirstCall)
	assert.Equal(t, 2*units.MiB, r.FirstCall.Allocated)
	r = of("origin exec\na = alloc 2MiB parameter w m\n")
	assert.Nil(t, r.FirstCall)
	assert.Equal(t, 2*units.MiB, r.Peak.Allocated)
}

// TestDefaultBy: holders are gathered by line where lines alone are known.
func TestDefaultBy(t *testing.T) {
	at := func(module, file string) Holder { return Holder{Site: Site{Module: module, File: file}} }
	for _, tt := range []struct {
		hs   []Holder
		want By
	}{
		{nil, ByModule}, {[]Holder{at("", ""), at("", "a.py")}, ByLine}, {[]Holder{at("", "")}, ByModule},
		{[]Holder{at("m", ""), at("", "a.py")}, ByModule}, {[]Holder{at("", "a.py"), at("m", "a.py")}, ByModule},
	} {
		assert.Equal(t, tt.want, DefaultBy(tt.hs), "%v", tt.hs)
	}
}
