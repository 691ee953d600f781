package verdict_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// What a verdict rests on: notes once each with their places and the first command that settles
// them, then what the case states, allows and is judged by, then sources that nothing records.
func TestGrounds(t *testing.T) {
	r := account(func(r *report.Report) {
		r.Quality, r.Origin, r.Upper = report.Estimated, report.OriginUnknown, &report.Upper{Allocated: 100, Reserved: 200}
		r.Notes = []report.Note{
			{ID: note.WorkspaceEstimate, Text: "first"},
			{ID: note.WorkspaceEstimate, Text: "second", Settle: "capture"},
			{ID: note.WorkspaceEstimate, Text: "third", Settle: "another"},
			{ID: note.ValueStated, Text: "stated in words", Assume: "a.py:3 = 40"},
			{ID: note.ValueStated, Text: "b.py:4 = 50"},
			{ID: note.IndexAssumed, Text: "exact"},
			{ID: note.LocalsUnknown, Text: "locals", Settle: "export"},
			{ID: note.OutsideUnknown, Text: "of a total alone"},
			{ID: note.FixedLengths, Text: "of reserved memory alone"},
			{ID: note.DriverUnlogged, Text: "of an engine alone"},
			{ID: note.DriverEstimate, Text: "of an engine alone"},
		}
	})
	o := verdict.Options{Assume: []string{"d.py:6 = 70", "c.py:5 = 60"}, Allow: []string{string(note.OpMissing), "later"},
		Basis: verdict.ByLikely}
	v := verdict.Judge(r, one(report.Allocated, 100), o)
	assert.Equal(t, []verdict.Ground{
		{Kind: verdict.GroundNote, ID: note.WorkspaceEstimate, Text: "first", Places: 3, Settle: "capture"},
		{Kind: verdict.GroundAssume, ID: note.ValueStated, Text: "a.py:3 = 40"},
		{Kind: verdict.GroundAssume, ID: note.ValueStated, Text: "b.py:4 = 50"},
		{Kind: verdict.GroundNote, ID: note.LocalsUnknown, Text: "locals", Places: 1, Settle: "export"},
		{Kind: verdict.GroundAssume, Text: "d.py:6 = 70"},
		{Kind: verdict.GroundAssume, Text: "c.py:5 = 60"},
		{Kind: verdict.GroundAllow, ID: note.OpMissing, Text: meaningOf(note.OpMissing)},
		{Kind: verdict.GroundAllow, ID: "later"},
		{Kind: verdict.GroundJudge, Text: "the likely figure decides, not the upper one"},
		{Kind: verdict.GroundOrigin, Text: verdict.OriginUnknown},
	}, v.Grounds)
	assert.Equal(t, "estimate by workspace-estimate (3 places), locals-unknown; assume a.py:3 = 40, b.py:4 = 50, "+
		"d.py:6 = 70, c.py:5 = 60; allow op-missing, later; judge likely; origin unknown", v.RestsOn())
	var stated []bool
	for _, g := range v.Grounds {
		stated = append(stated, g.Stated())
	}
	assert.Equal(t, []bool{false, true, true, false, true, true, true, true, true, false}, stated)

	for _, tt := range []struct {
		why    string
		report *report.Report
		o      verdict.Options
		want   string
	}{
		{"exact", account(nil), verdict.Options{}, ""},
		{"exact, judged by the likely figure", account(nil), verdict.Options{Basis: verdict.ByLikely}, ""},
		{"an upper figure", account(func(r *report.Report) { r.Upper = &report.Upper{} }),
			verdict.Options{Basis: verdict.ByLikely}, "judge likely"},
		{"which decides", account(func(r *report.Report) { r.Upper = &report.Upper{} }), verdict.Options{}, ""},
		{"a total that may be too low", account(func(r *report.Report) { r.Notes = notes(note.OutsideUnknown) }),
			verdict.Options{Basis: verdict.ByLikely}, "outside-unknown; judge likely"},
		{"an estimate that no note explains", account(func(r *report.Report) { r.Quality = report.Estimated }),
			verdict.Options{}, "estimate"},
		{"sources that nothing records", account(func(r *report.Report) { r.Origin = report.OriginUnknown }),
			verdict.Options{}, "origin unknown"},
	} {
		v := verdict.Judge(tt.report, nil, tt.o)
		assert.Equal(t, tt.want, v.RestsOn(), tt.why)
	}
}

func meaningOf(id note.ID) string {
	k, _ := note.Of(id)
	return k.Meaning
}

// A note on one kind of figure counts where a budget is on it, and the quality is that of the
// figures that budgets are on.
func TestGroundsOfTheFiguresThatAreJudged(t *testing.T) {
	for id, metrics := range map[note.ID][]report.Metric{
		note.OutsideUnknown: {report.Total}, note.FixedLengths: {report.Total, report.Reserved, report.HostPinned},
		note.DriverUnlogged:    {report.KVTokens, report.Concurrency},
		note.DriverEstimate:    {report.KVTokens, report.Concurrency},
		note.WorkspaceEstimate: report.AllMetrics(), note.IndexAssumed: nil,
	} {
		for _, m := range report.AllMetrics() {
			r := account(func(r *report.Report) { r.Quality, r.Notes = report.Estimated, notes(id) })
			v := verdict.Judge(r, one(m, 1000), verdict.Options{})
			rests := "estimate by " + string(id)
			quality := report.Estimated
			if !slices.Contains(metrics, m) {
				rests, quality = "", report.Exact
			}
			if id == note.IndexAssumed { // it lowers nothing: the estimate has another reason
				rests, quality = "estimate", report.Estimated
			}
			assert.Equal(t, rests, v.RestsOn(), "%s of %s", id, m)
			assert.Equal(t, quality, v.Quality, "%s of %s", id, m)
		}
	}
}

// What makes an estimate: the first cause in the order of causes, with the first command that
// settles it.
func TestWhatMakesAnEstimate(t *testing.T) {
	for _, tt := range []struct {
		notes       []report.Note
		cause, with string
	}{
		{nil, "estimated library workspace", "measure it on the card (memspec verify)"},
		{[]report.Note{{ID: note.WorkspaceBenchmark, Settle: "b"}, {ID: note.OperatorsDiffer, Settle: "o"},
			{ID: note.LocalsUnknown, Settle: "l"}}, "local variables that outlive what the trace shows", "l"},
		{[]report.Note{{ID: note.WorkspaceBenchmark, Settle: "b"}, {ID: note.OperatorsDiffer, Settle: "o"}},
			"operators that only the live model runs", "o"},
		{[]report.Note{{ID: note.WorkspaceStandIn}, {ID: note.WorkspaceBenchmark, Settle: "b"},
			{ID: note.WorkspaceEstimate, Settle: "e"}}, "estimated library workspace", "b"},
		{[]report.Note{{ID: note.OperatorsDiffer}, {ID: note.WorkspaceEstimate, Settle: "e"}},
			"operators that only the live model runs", "measure it on the card (memspec verify)"},
	} {
		r := account(func(r *report.Report) {
			r.Quality, r.Upper, r.Notes = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260}, tt.notes
		})
		f := verdict.Judge(r, one(report.Reserved, 250), verdict.Options{}).Findings[0]
		assert.Equal(t, tt.cause+" could take it to 260 B, over the budget; to make it exact: "+tt.with, f.Why)
	}
}

// What decides a whole case is said once for it, the first that applies.
func TestWhyOfACase(t *testing.T) {
	for _, tt := range []struct {
		why    string
		change func(*report.Report)
		want   []string
	}{
		{"nothing", nil, nil},
		{"an engine that fits", func(r *report.Report) { r.Serving = &report.Serving{Fits: true} }, nil},
		{"an engine that does not", func(r *report.Report) { r.Serving = &report.Serving{Unfit: "no room for a block"} },
			[]string{"does not fit: no room for a block"}},
		{"out of memory, and incomplete", func(r *report.Report) {
			r.OOM, r.Quality = &report.OutOfMemory{Requested: 10, Limit: 20}, report.Incomplete
		}, []string{"the run does not fit the device: 10 B asked for with a limit of 20 B"}},
		{"values decide, and a run is out of memory", func(r *report.Report) {
			r.OOM, r.Notes = &report.OutOfMemory{Requested: 10, Limit: 20}, notes(note.ValueDecides)
			r.OtherValues = []report.OtherValues{{Values: "most"}}
		}, nil},
		{"incomplete", func(r *report.Report) { r.Quality = report.Incomplete }, []string{"the report is incomplete"}},
	} {
		v := verdict.Judge(account(tt.change), one(report.Reserved, 1000), verdict.Options{})
		assert.Equal(t, tt.want, v.Why, tt.why)
	}
}

// Parts of a total that are known within a range are named, and those that are known are not.
func TestPartsOfATotal(t *testing.T) {
	const context = "a CUDA context on a10g takes between 50 B and 80 B: give context: for it under devices:"
	const nccl = "NCCL takes between 5 B and 6 B, by its channels and connections: give nccl:"
	for _, tt := range []struct {
		context report.Context
		nccl    *report.NCCL
		limit   units.Bytes
		want    string
	}{
		{report.Context{Low: 50, High: 80}, nil, 260, "peak total between 250 B and 280 B, budget 260 B: " + context},
		{report.Context{Low: 50, High: 80}, &report.NCCL{Low: 5, High: 6}, 260,
			"peak total between 255 B and 286 B, budget 260 B: " + context + "; " + nccl},
		{report.Context{Low: 50, High: 80}, &report.NCCL{Low: 6, High: 6}, 260,
			"peak total between 256 B and 286 B, budget 260 B: " + context},
		{report.Context{Low: 50, High: 50}, &report.NCCL{Low: 5, High: 6}, 255,
			"peak total between 255 B and 256 B, budget 255 B: " + nccl},
	} {
		r := account(func(r *report.Report) { r.Context, r.NCCL = &tt.context, tt.nccl })
		f := verdict.Judge(r, one(report.Total, tt.limit), verdict.Options{}).Findings[0]
		assert.Equal(t, tt.want, f.String())
	}
	for m, want := range map[report.Metric]string{
		report.FirstCall: "first call unknown, budget 1 B: first_call is not known",
		report.HostPinned: "host pinned unknown, budget 1 B: page-locked memory of the host is not known: a recording of a " +
			"run on a pretend GPU has it"} {
		assert.Equal(t, want, verdict.Judge(account(nil), one(m, 1), verdict.Options{}).Findings[0].String())
	}
}

// A finding is undecided where the likely figure keeps the budget and an upper one may not.
func TestUndecided(t *testing.T) {
	for _, tt := range []struct {
		f    verdict.Finding
		want bool
	}{
		{verdict.Finding{Upper: 1}, true}, {verdict.Finding{NoRoom: true}, true}, {verdict.Finding{Open: true}, true},
		{verdict.Finding{}, false}, {verdict.Finding{Outcome: verdict.Pass, Upper: 1, NoRoom: true, Open: true}, false},
	} {
		assert.Equal(t, tt.want, tt.f.Undecided(), "%+v", tt.f)
	}
}

// A note that leaves a report undecided does so whatever its effect is, and values that are allowed
// to decide leave no second end.
func TestNotesThatDecide(t *testing.T) {
	one := one(report.Reserved, 150)
	undecided := account(func(r *report.Report) {
		r.Notes = []report.Note{{ID: note.OtherDevice, Text: "ran on another card", Undecided: true}}
	})
	v := verdict.Judge(undecided, one, verdict.Options{})
	assert.Equal(t, []string{"ran on another card"}, v.Why)
	assert.Equal(t, verdict.Inconclusive, v.Outcome)
	bound := func(id note.ID) *report.Report {
		return account(func(r *report.Report) { r.Quality, r.Notes = report.Bound, notes(id) })
	}
	for id, want := range map[note.ID]verdict.Outcome{note.ValueDecides: verdict.Fail,
		note.ValueAssumed: verdict.Inconclusive, note.ShapeBound: verdict.Inconclusive} {
		assert.Equal(t, want, verdict.Judge(bound(id), one, verdict.Options{}).Outcome, id)
	}
}

// An upper figure of a regression is compared with what the upper one was and may grow.
func TestUpperFigureOfARegression(t *testing.T) {
	r := account(func(r *report.Report) {
		r.Quality, r.Upper = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260}
	})
	for upper, want := range map[units.Bytes]string{260: "", 259: "estimated library workspace could take it to 260 B, " +
		"over what the upper figure was before and may grow (259 B); to make it exact: measure it on the card (memspec " +
		"verify)"} {
		b := verdict.Budget{Metric: report.Reserved, Limit: 200, Regression: true, UpperLimit: &upper}
		f := verdict.Judge(r, []verdict.Budget{b}, verdict.Options{}).Findings[0]
		assert.Equal(t, want, f.Why)
		assert.Equal(t, want == "", f.Outcome == verdict.Pass)
	}
}
