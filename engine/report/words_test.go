package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Every metric of one report, its upper figure, and what is reported where a part is not known.
func TestValues(t *testing.T) {
	total := units.Bytes(900)
	full := func() *Report {
		return &Report{Weights: 1, Delta: 2, Baseline: Sizes{Allocated: 40}, Peak: Peak{Allocated: 100, Reserved: 200,
			Total: &total},
			Passes: []Pass{{Peak: Sizes{Allocated: 300}}, {Peak: Sizes{Allocated: 400}}},
			Upper:  &Upper{Allocated: 150, Reserved: 260}}
	}
	values := func(r *Report) (got, upper map[Metric]units.Bytes) {
		got, upper = map[Metric]units.Bytes{}, map[Metric]units.Bytes{}
		for _, m := range BudgetMetrics() {
			if v, ok := r.Value(m); ok {
				got[m] = v
			} else {
				assert.Zero(t, v)
			}
			if v, ok := r.UpperValue(m); ok {
				upper[m] = v
			} else {
				assert.Zero(t, v)
			}
		}
		return got, upper
	}
	got, upper := values(full())
	assert.Equal(t, map[Metric]units.Bytes{Weights: 1, Delta: 2, Allocated: 100, FirstCall: 300, Reserved: 200,
		Total: 900}, got)
	assert.Equal(t, map[Metric]units.Bytes{Delta: 110, Allocated: 150, FirstCall: 150, Reserved: 260, Total: 960}, upper,
		"weights are never estimated")

	r := full()
	r.Peak.Total, r.Passes, r.Upper, r.Unknown = nil, nil, nil, []Metric{Weights}
	got, upper = values(r)
	assert.Equal(t, map[Metric]units.Bytes{Delta: 2, Allocated: 100, Reserved: 200}, got)
	assert.Empty(t, upper)
	r.Upper = &Upper{Allocated: 150, Reserved: 260}
	_, upper = values(r)
	assert.NotContains(t, upper, Total)

	_, _, ok := r.TotalRange()
	assert.False(t, ok, "nothing is known of the context")
	r.Context = &Context{Low: 10, High: 20}
	low, high, ok := r.TotalRange()
	assert.Equal(t, []any{units.Bytes(210), units.Bytes(220), true}, []any{low, high, ok})
	r.Unknown = []Metric{Total}
	_, _, ok = r.TotalRange()
	assert.False(t, ok, "a recording that does not say what is reserved")
	r.Unknown, r.Peak.Total = nil, &total
	_, _, ok = r.TotalRange()
	assert.False(t, ok, "it is known")

	assert.Equal(t, []Metric{"weights", "delta", "allocated", "reserved", "total"}, Metrics())
	assert.Equal(t, []Metric{"weights", "delta", "allocated", "first_call", "reserved", "total", "host_pinned"},
		BudgetMetrics())
	assert.True(t, (&Report{Notes: []Note{{ID: "a"}, {ID: "b"}}}).HasNote("b"))
	assert.False(t, (&Report{Notes: []Note{{ID: "a"}}}).HasNote("b"))
}

// What is missing from an account, in words, by its reason.
func TestUnsupportedInWords(t *testing.T) {
	for _, c := range []struct {
		u    Unsupported
		want string
	}{
		{Unsupported{Op: "aten::foo", Reason: trace.NoRule}, "aten::foo"},
		{Unsupported{Op: "aten::zeros", Reason: trace.ReadsData}, "aten::zeros of a value that depends on tensor data"},
		{Unsupported{Op: "aten::range", Reason: trace.OpenLoop}, "aten::range of a length that depends on tensor data"},
		{Unsupported{Op: "branches", Reason: trace.ManyBranches, Detail: "8"}, "branches on tensor data in more than 8 " +
			"combinations"},
		{Unsupported{Op: "aten::x", Reason: trace.RefusedWay, Detail: "got 3"}, "a way that tensor data may choose, which " +
			"an operator refuses: got 3"},
		{Unsupported{Op: "aten::x", Reason: trace.RefusedAtMost, Detail: "got 3"}, "upper-bound sizes, which the model " +
			"rejects: got 3"},
		{Unsupported{Op: "run", Reason: trace.CustomClass, Detail: "my.Class"}, "torch.classes my.Class run"},
		{Unsupported{Op: "my.Class", Reason: trace.CustomClass}, "torch.classes my.Class"},
		{Unsupported{Reason: trace.CutShort, Detail: "steady"}, "what comes after the steady pass began: the recording " +
			"ends where memory ran out"},
		{Unsupported{Op: "M.__setstate__", Reason: trace.FailedState, Detail: "got x"}, "M.__setstate__, which fails: got x"},
		{Unsupported{Op: "a", Reason: 200, Detail: "b"}, "a b"},
		{Unsupported{Reason: 200, Detail: "b"}, "b"},
	} {
		assert.Equal(t, c.want, c.u.Text())
	}
	many := []Unsupported{{Op: "a", Reason: trace.NoRule}, {Op: "z", Reason: trace.ReadsData},
		{Op: "b", Reason: trace.NoRule}, {Op: "y", Reason: trace.OpenLoop}, {Op: "c", Reason: trace.NoRule},
		{Op: "d", Reason: trace.NoRule}, {Op: "e", Reason: trace.NoRule}}
	assert.Equal(t, "no rule for a, b, c; z of a value that depends on tensor data; y of a length that depends on "+
		"tensor data; 2 more", Lacking(many))
	assert.Equal(t, "no rule for a, b, c; z of a value that depends on tensor data; y of a length that depends on "+
		"tensor data", Lacking(many[:5]))
	assert.Equal(t, "z of a value that depends on tensor data", Lacking(many[1:2]))
}

func TestQualityInWords(t *testing.T) {
	upper := &Upper{Allocated: 2 * units.MiB, Reserved: 3 * units.MiB}
	most := "; at most 2.0 MiB allocated, 3.0 MiB reserved"
	for _, c := range []struct {
		r    Report
		want string
	}{
		{Report{Quality: Exact}, "exact: nothing assumed"},
		{Report{Quality: Exact, Notes: []Note{{ID: note.IndexAssumed}}}, "exact: what was assumed does not matter to memory"},
		{Report{Quality: Estimated}, "estimate: see what was assumed"},
		{Report{Quality: Estimated, Upper: upper}, "estimate: some library workspace is by formula" + most},
		{Report{Quality: Estimated, Upper: upper, Notes: []Note{{ID: note.LocalsUnknown}, {ID: note.OperatorsDiffer}}},
			"estimate: the archive does not record what Python's names hold" + most},
		{Report{Quality: Estimated, Upper: upper, Notes: []Note{{ID: note.OperatorsDiffer}}},
			"estimate: the live model may run other operators than the program" + most},
		{Report{Quality: Estimated, Upper: &Upper{OOM: &NoRoom{Requested: 2 * units.GiB, Limit: 15 * units.GiB}}},
			"estimate: some library workspace is by formula; the upper figure does not fit the device: 2.00 GiB " +
				"requested with a limit of 15.00 GiB"},
		{Report{Quality: Estimated, Serving: &Serving{}}, "estimate: what the driver takes is read off public logs; " +
			"loaded and activation are exact"},
		{Report{Quality: Bound, Peak: Peak{Allocated: 2 * units.MiB, Reserved: 4 * units.MiB},
			OtherValues: []OtherValues{{Values: "least", Allocated: units.MiB, Reserved: units.MiB, Fits: true}}},
			"bound: values that no kernel computed decide: between 1.0 MiB and 2.0 MiB allocated, 1.0 MiB and " +
				"4.0 MiB reserved"},
		{Report{Quality: Bound}, "bound: data-dependent sizes are at their upper bound"},
		{Report{Quality: Incomplete, Coverage: Coverage{Unsupported: []Unsupported{{Op: "a", Reason: trace.NoRule}}}},
			"incomplete: no rule for a"},
		{Report{Quality: "new"}, "new"},
	} {
		assert.Equal(t, c.want, qualityText(&c.r))
	}
}

// The quality of figures is that of the notes beside them; one of another release that this one
// does not know makes an estimate.
func TestQuality(t *testing.T) {
	for _, c := range []struct {
		r    Report
		want Quality
	}{
		{Report{}, Exact},
		{Report{Upper: &Upper{}}, Estimated},
		{Report{Notes: []Note{{ID: "later-note"}}}, Estimated},
		{Report{Notes: []Note{{ID: note.LoopOpen}}}, Incomplete},
		{Report{Notes: []Note{{ID: note.ValueAssumed}, {ID: note.TimingDecides}}}, Estimated},
		{Report{Notes: []Note{{ID: note.ShapeBound}, {ID: note.TimingDecides}}}, Bound},
		{Report{Notes: []Note{{ID: note.BranchBoth}}}, Bound},
		{Report{Notes: []Note{{ID: note.LoopBound}}}, Bound},
		{Report{Notes: []Note{{ID: note.ValueDecides}, {ID: note.ValueRead}}}, Bound},
		{Report{Notes: []Note{{ID: note.ValueOpen}}}, Estimated},
		{Report{Notes: []Note{{ID: note.ValueCompared}, {ID: note.ValueStated}}}, Exact},
		{Report{Notes: []Note{{ID: note.LoopBound}}, Coverage: Coverage{Unsupported: []Unsupported{{}}}}, Incomplete},
	} {
		assert.Equal(t, c.want, quality(&c.r))
	}
}

// A note names its place under assume: where something can be stated there, and the command where a
// library could be asked; one of each place is kept.
func TestNotesOfATrace(t *testing.T) {
	tr := &trace.Trace{Sites: []trace.Site{{Op: "aten::nonzero", File: "m.py", Line: 12},
		{Op: "aten::conv2d", Module: "c"}, {Op: "aten::nonzero", File: "m.py", Line: 13}},
		Notes: []trace.Note{
			{Note: note.Note{ID: note.ShapeBound}, Site: 0}, {Note: note.Note{ID: note.ShapeBound}, Site: 1},
			{Note: note.Note{ID: note.ShapeBound}, Site: 0}, {Note: note.Note{ID: note.ShapeBound}, Site: 2},
			{Note: note.Note{ID: note.WorkspaceEstimate, Subject: "a workspace is by rule", Askable: true}, Site: 1},
			{Note: note.Note{ID: note.WorkspaceEstimate, Subject: "a sort is by rule"}, Site: 1},
			{Note: note.Note{ID: note.ValueAssumed}, Site: 2},
		},
		Coverage: trace.Coverage{Unsupported: []trace.Unsupported{{Op: "aten::foo", Reason: trace.NoRule, Count: 3,
			First: trace.Site{Op: "aten::foo", Module: "m"}}}}}
	tight := "the result's size depends on tensor data: its upper bound was used"
	want := []Note{
		{ID: note.ShapeBound, Text: tight, Assume: "m.py:12", First: Site{Op: "aten::nonzero", File: "m.py", Line: 12}},
		{ID: note.ShapeBound, Text: tight, First: Site{Op: "aten::conv2d", Module: "c"}},
		{ID: note.ShapeBound, Text: tight, Assume: "m.py:13", First: Site{Op: "aten::nonzero", File: "m.py", Line: 13}},
		{ID: note.WorkspaceEstimate, Text: "a workspace is by rule; to settle it: make workspace", Settle: "make workspace",
			First: Site{Op: "aten::conv2d", Module: "c"}},
		{ID: note.WorkspaceEstimate, Text: "a sort is by rule", First: Site{Op: "aten::conv2d", Module: "c"}},
		{ID: note.ValueAssumed, Text: "a number depends on tensor data and is only " +
			"computed with; it does not matter to memory", First: Site{Op: "aten::nonzero", File: "m.py", Line: 13}},
		{ID: note.OpMissing, Text: "no rule for aten::foo, met 3 times: its results are missing from the report",
			First: Site{Op: "aten::foo", Module: "m"}},
	}
	assert.Equal(t, want, notes(tr, &Source{Ask: "make workspace"}))
	want[3].Text, want[3].Settle = "a workspace is by rule", ""
	assert.Equal(t, want, notes(tr, &Source{}))
	assert.Equal(t, []string{
		"shape-bound: " + tight + " (give assume: {m.py:12: SIZE, m.py:13: SIZE} to state a tighter one); at 3 places, " +
			"first at aten::nonzero  m.py:12",
		"workspace-estimate: a workspace is by rule; first at aten::conv2d  c",
		"workspace-estimate: a sort is by rule; first at aten::conv2d  c",
		"value-assumed: a number depends on tensor data and is only computed with; it does not matter to memory; first at " +
			"aten::nonzero  m.py:13",
		"op-missing: no rule for aten::foo, met 3 times: its results are missing from the report; first at aten::foo  m",
	}, Assumed(want))
}

func TestPlacesInWords(t *testing.T) {
	for _, c := range []struct {
		p    Site
		want string
	}{
		{Site{}, ""},
		{Site{Op: "a", Module: "m", File: "/home/u/net.py", Line: 3}, "a  m  net.py:3"},
		{Site{File: "models/unet.py", Line: 146}, "models/unet.py:146"},
		{Site{File: `C:\src\net.py`}, "net.py"},
		{Site{File: `src\net.py`, Line: 1}, "net.py:1"},
		{Site{File: "C:/src/net.py", Line: 1}, "net.py:1"},
		{Site{Op: "a", File: "net.py"}, "a  net.py"},
		{Site{File: "/net.py", Line: 10}, "net.py:10"},
	} {
		assert.Equal(t, c.want, c.p.String())
	}
	assert.Equal(t, "a (forward, first pass)", (&Moment{Site: Site{Op: "a"}, Phase: "forward", Pass: "first"}).String())
	assert.Equal(t, "(steady pass)", (&Moment{Pass: "steady"}).String())
	assert.Equal(t, "a", (&Moment{Site: Site{Op: "a"}}).String())
	tr := &trace.Trace{Sites: []trace.Site{{Op: "a", Phase: trace.Forward}}, Events: []trace.Event{{Site: 0, Pass: 1},
		{Site: trace.NoSite, Pass: 2}}, Passes: []trace.Pass{{Name: "first"}, {Name: "steady"}}}
	assert.Equal(t, []string{"the start", "a (forward, first pass)", "(steady pass)", "the start"},
		[]string{MomentOf(tr, -1), MomentOf(tr, 0), MomentOf(tr, 1), MomentOf(tr, 2)})
	for pass, r := range map[string]Report{"p iteration": {Run: Run{Mode: "training"}, FirstCall: &Sizes{}},
		"p call": {FirstCall: &Sizes{}}, "p pass": {}} {
		assert.Equal(t, pass, r.PassText(&Pass{Name: "p"}))
	}
	assert.Equal(t, []string{"0.0%", "33.3%", "100.0%"}, []string{Percent(1, 0), Percent(1, 3), Percent(3, 3)})
	assert.Equal(t, []string{"+1 B", "-1 B", "0 B"}, []string{Signed(1), Signed(-1), Signed(0)})
	assert.Equal(t, "d on t4, eager", (&Run{Artifact: "d", Device: "t4", Runtime: "eager"}).Head())
	assert.Equal(t, "2.00 KiB (2048 B)", strings.Replace(Both(2048), "2.0 KiB", "2.00 KiB", 1))
}

// One line says what changed by how much, and what of it makes most.
func TestSentence(t *testing.T) {
	size := func(n units.Bytes) *units.Bytes { return &n }
	at := func(op, module string) *Moment { return &Moment{Site: Site{Op: op, Module: module}} }
	grew := []MetricChange{{Weights, size(1000), size(1000)}, {Allocated, size(2048), size(1024)},
		{Delta, size(0), size(512)}, {Reserved, size(1024), size(2048)}, {Total, nil, size(1)}, {FirstCall, size(1), nil}}
	change := func(module, category string, by units.Bytes, was, is int) HolderChange {
		return HolderChange{Module: module, Category: category, New: 5000 + by, Old: 5000, OldCount: was, NewCount: is}
	}
	text := "allocated -1.0 KiB (-50.0%), delta +512 B, reserved +1.0 KiB (+100.0%)"
	for _, c := range []struct {
		d       Difference
		was, is *Moment
		want    string
	}{
		{Difference{}, at("a", "m"), at("a", "m"), ""},
		{Difference{}, nil, at("a", "m"), ""},
		{Difference{}, at("a", "m"), nil, ""},
		{Difference{}, at("a", "m"), at("a", "n"), "only the peak moved, from a m to a n"},
		{Difference{}, at("a", ""), at("b", ""), "only the peak moved, from a to b"},
		{Difference{Metrics: grew}, nil, nil, text},
		{Difference{Metrics: grew}, at("a", "m"), at("b", "m"), text + "; the peak moved from a m to b m"},
		{Difference{Metrics: grew, Holders: []HolderChange{change("a", "activation", -512, 3, 1)}}, nil, nil,
			text + ": a activations -512 B, 2 fewer of them held"},
		{Difference{Metrics: grew, Holders: []HolderChange{
			change("", "workspace", 100, 1, 1), change("b.x", "gradient", 300, 1, 2), change("b.y", "gradient", 1, 1, 2),
			change("b", "buffer", -200, 1, 1), change("c.x", "input", 50, 1, 1), change("d", "parameter", 1, 0, 0),
		}}, nil, nil, text + ": b.* gradients +301 B, 2 more of them held, b buffers -200 B, workspaces +100 B, 2 more"},
		{Difference{Metrics: grew, Holders: []HolderChange{change("b", "gradient", 3, 0, 0),
			change("b.y", "gradient", 1, 0, 0), change("c.y", "gradient", 1, 0, 0), change("e", "input", 1, 0, 0)}}, nil, nil,
			text + ": b.* gradients +4 B, c.* gradients +1 B, e inputs +1 B"},
	} {
		assert.Equal(t, c.want, c.d.Sentence(c.was, c.is))
	}
	same := func(old, now *units.Bytes) bool {
		return (&Difference{Metrics: []MetricChange{{Weights, size(1), size(1)}, {Total, old, now}}}).Same()
	}
	assert.Equal(t, []bool{true, false, false, true, false}, []bool{same(nil, nil), same(nil, size(1)), same(size(1), nil),
		same(size(1), size(1)), same(size(2), size(1))})
	assert.False(t, (&Difference{Holders: []HolderChange{{}}}).Same())
}

func TestUnlike(t *testing.T) {
	a := Run{Artifact: "a", Format: "f", Producer: "p", Where: "w", Device: "t4", Torch: "2.15", Runtime: "eager",
		Mode: "inference", AllocConf: "", Inputs: []string{"x", "y"}}
	b := Run{Artifact: "b", Format: "g", Producer: "q", Where: "v", Device: "l4", Torch: "2.14", Runtime: "torchscript",
		Mode: "training", AllocConf: "roundup", Inputs: nil}
	assert.Empty(t, Unlike(&a, &a))
	assert.Equal(t, []string{"device t4, then l4", "torch 2.15, then 2.14", "runtime eager, then torchscript",
		"mode inference, then training", "alloc_conf none, then roundup", "inputs x; y, then none"}, Unlike(&a, &b))
}

// What is no estimate is refused, each field that it must have for itself.
func TestReadJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "not an estimate: unexpected end of JSON input",
		`{"schema": 2, "artifact": "m", "device": "t4"}`:              "got estimate schema 2, want 1",
		`{"artifact": "m", "device": "t4"}`:                           "got estimate schema 0, want 1",
		`{"schema": 1, "cases": [], "artifact": "m", "device": "t4"}`: "got the result of a check, want an estimate",
		`{"schema": 1, "device": "t4"}`:                               "not an estimate: it has no artifact or no device",
		`{"schema": 1, "artifact": "m"}`:                              "not an estimate: it has no artifact or no device",
		`{"schema": 1, "artifact": 1}`:                                "not an estimate: json: cannot unmarshal",
	} {
		_, err := ReadJSON(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, &Report{Run: Run{Artifact: "<m>"}}))
	for _, key := range []string{"inputs", "passes", "unsupported", "holders", "notes"} {
		assert.Contains(t, b.String(), `"`+key+`": []`)
	}
	assert.Contains(t, b.String(), `"artifact": "<m>"`)
}

func TestSchemas(t *testing.T) {
	names := SchemaNames()
	assert.Subset(t, names, []string{"check", "diff", "estimate", "timeline"})
	assert.True(t, slices.IsSorted(names))
	for _, name := range names {
		b, ok := JSONSchema(name)
		assert.True(t, ok, name)
		assert.True(t, json.Valid(b), name)
	}
	_, ok := JSONSchema("other")
	assert.False(t, ok)
}

// Rows are cut where a text is short, and all of them reported where none is asked for.
func TestRowsOfATable(t *testing.T) {
	rows := []Row{{Where: "", Flat: 4096, Cum: 8192, What: "a ×1", Count: 3},
		{Where: "m", Flat: 1024, Cum: 1024, What: "b ×2", Count: 2}, {Where: "n", Flat: 1024, Cum: 1024, What: "c ×2",
			Count: 1}}
	write := func(by By, most int) string {
		var b bytes.Buffer
		require.NoError(t, WriteRows(&b, by, rows, most))
		return b.String()
	}
	assert.Equal(t, `     flat  flat%   sum%      cum    cum%  where   what
  4.0 KiB  66.7%  66.7%  8.0 KiB  133.3%  (root)  a ×1
  1.0 KiB  16.7%  83.3%  1.0 KiB   16.7%  m       b ×2
  … 1 more (-v)
`, write(ByModule, 2))
	assert.Equal(t, `     flat  flat%    sum%  where  storages
  4.0 KiB  66.7%   66.7%                3
  1.0 KiB  16.7%   83.3%  m             2
  1.0 KiB  16.7%  100.0%  n             1
`, write(ByCategory, 0))
	assert.Equal(t, write(ByCategory, 0), write(ByCategory, 3))

	many := &Report{}
	for i := range 5 {
		many.Holders = append(many.Holders, Holder{Site: Site{Op: "o", Module: string(rune('a' + i))}, Category: "input",
			Flat: units.Bytes(5 - i), Count: 1})
	}
	d := Diff(&Report{}, many)
	var b bytes.Buffer
	require.NoError(t, d.WriteText(&b, 3))
	assert.Contains(t, b.String(), "    +3 B  0 B  3 B  c       o   inputs ×0 → ×1\n    … 2 more (-v)\n")
	for _, rows := range []int{0, 5, 6} {
		b.Reset()
		require.NoError(t, d.WriteText(&b, rows))
		assert.Contains(t, b.String(), "+1 B")
		assert.NotContains(t, b.String(), "more")
	}
	b.Reset()
	require.NoError(t, Diff(many, many).WriteText(&b, 3))
	assert.Contains(t, b.String(), "  the same holders at the peak\n")
}

func TestSource(t *testing.T) {
	for _, c := range []struct{ why, file, want string }{
		{"not known", "", ""},
		{"as the archive names it", "models/unet.py", "models/unet.py:7"},
		{"an absolute path is another on every machine", "/home/a/models/unet.py", "unet.py:7"},
		{"that of another system too", `C:\a\unet.py`, "unet.py:7"},
		{"an installed package's, from the package on", "/opt/lib/python3.12/site-packages/torchvision/models/resnet.py",
			"torchvision/models/resnet.py:7"},
		{"Debian's folder of packages", "/usr/lib/python3/dist-packages/net/m.py", "net/m.py:7"},
		{"the innermost folder of packages counts", `C:\Lib\site-packages\a\site-packages\b\m.py`, "b/m.py:7"},
	} {
		assert.Equal(t, c.want, Site{File: c.file, Line: 7}.Source(), c.why)
	}
	assert.Equal(t, "unet.py", Site{File: "/a/unet.py"}.Source(), "without a line")
}

// Metrics that are numbers have commas, and break a limit from below.
func TestNumbersOfMetrics(t *testing.T) {
	for _, tt := range []struct {
		n                    units.Bytes
		text, signed, tokens string
	}{
		{0, "0", "0", "0 tokens"}, {1, "1", "+1", "1 tokens"}, {999, "999", "+999", "999 tokens"},
		{1000, "1,000", "+1,000", "1,000 tokens"},
		{-999, "-999", "-999", "-999 tokens"}, {-123456, "-123,456", "-123,456", "-123,456 tokens"},
		{1234567, "1,234,567", "+1,234,567", "1,234,567 tokens"},
	} {
		assert.Equal(t, tt.text, KVTokens.Text(tt.n))
		assert.Equal(t, tt.text, Concurrency.Text(tt.n))
		assert.Equal(t, tt.signed, KVTokens.Signed(tt.n))
		assert.Equal(t, tt.tokens, KVTokens.Exact(tt.n))
		assert.Equal(t, tt.text+" requests", Concurrency.Exact(tt.n))
	}
	assert.Equal(t, "1.0 KiB", Loaded.Text(units.KiB))
	for _, tt := range []struct {
		m        Metric
		v, limit units.Bytes
		want     bool
	}{
		{KVTokens, 4, 5, true}, {KVTokens, 5, 5, false}, {Concurrency, 6, 5, false}, {Loaded, 4, 5, false},
		{Loaded, 5, 5, false}, {Activation, 6, 5, true},
	} {
		assert.Equal(t, tt.want, tt.m.Breaks(tt.v, tt.limit), "%s %d of %d", tt.m, tt.v, tt.limit)
	}
}

// Shares are by category, in the order of Categories, without those of nothing.
func TestShares(t *testing.T) {
	held := func(category string, n units.Bytes) Holder { return Holder{Category: category, Flat: n} }
	assert.Equal(t, []Share{{"parameter", 5}, {"activation", 1}},
		Shares([]Holder{held("activation", 1), held("parameter", 2), held("gradient", 0), held("parameter", 3)}))
	assert.Equal(t, []Share{}, Shares(nil))
}
