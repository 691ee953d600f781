package verdict_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// effects are what each note does to a verdict. A new note has its row here.
var effects = map[note.ID]struct {
	effect note.Effect
	why    string
}{
	note.ArtifactStale: {note.Decides, "the figures are of what was there before"},
	note.BranchBoth:    {note.Ends, "the lighter path is the lower end"},
	note.DependsUnchecked: {note.Exact, "the figures are those of the run; whether " +
		"it is up to date is said beside them"},
	note.DeviceRemapped:  {note.Exact, "what lies on another device in the archive counts"},
	note.DriverEstimate:  {note.UpperTokens, "what logs have at most is the other end of tokens and requests"},
	note.DriverUnlogged:  {note.OpenTokens, "no log says how far tokens and requests are from it"},
	note.FixedLengths:    {note.OpenReserved, "what is cached depends on the sizes that came before"},
	note.GradientMissing: {note.Exact, "the run took what it took"},
	note.IndexAssumed:    {note.Exact, "a position does not matter to memory"},
	note.LaterGraph:      {note.AtMost, "tensors may be freed earlier than counted"},
	note.LocalsUnknown:   {note.Upper, "with every local held to the end of its call"},
	note.LoopBound:       {note.Ends, "what its rounds hold does not grow"},
	note.LoopOpen:        {note.Partial, "each round may hold more"},
	note.OpAssumed:       {note.Open, "what its kernels take beside the results is not counted"},
	note.OpMissing:       {note.Partial, "what it makes is not counted"},
	note.OperatorsDiffer: {note.Upper, "with every local held to the end of its call"},
	note.OtherDevice: {note.ByNote, "the device none counts less than a card does, any other chip or release may " +
		"take more"},
	note.OutsideUnknown:     {note.OpenTotal, "a total alone counts what lies outside PyTorch's allocator"},
	note.RanksNotRun:        {note.Open, "any of them may take more"},
	note.ShapeBound:         {note.Ends, "assume: states a tighter bound"},
	note.TimingDecides:      {note.AtMost, "the path that takes more was taken"},
	note.ValueAssumed:       {note.Exact, "it is only computed with"},
	note.ValueCompared:      {note.Exact, "runs with other values take the same"},
	note.ValueDecides:       {note.Ends, "runs with other values are the ends"},
	note.ValueOpen:          {note.Decides, "no end is known"},
	note.ValueRead:          {note.Open, "no run with other values was made"},
	note.ValueStated:        {note.Exact, "the case states it"},
	note.WorkspaceBenchmark: {note.Upper, "the largest plan that may be tried"},
	note.WorkspaceEstimate:  {note.Upper, "the largest workspace of the formula's class"},
	note.WorkspaceStandIn:   {note.Upper, "the larger of the answer and the formula's"},
	note.WorkspaceUnknown:   {note.Open, "part of a workspace is counted as 0"},
}

// TestEffectOfEveryNote: a figure that a note may make too low does not pass, unless the likely
// figure decides or allow: names the note.
func TestEffectOfEveryNote(t *testing.T) {
	pass, fail, undecided := verdict.Pass, verdict.Fail, verdict.Inconclusive
	want := map[note.Effect]struct{ keeps, breaks, likely, allowed verdict.Outcome }{
		note.Exact:        {pass, fail, pass, pass},
		note.AtMost:       {pass, fail, pass, pass},
		note.ByNote:       {pass, fail, pass, pass},
		note.Upper:        {undecided, fail, pass, pass},
		note.Open:         {undecided, fail, pass, pass},
		note.OpenTotal:    {pass, fail, pass, pass}, // of reserved memory
		note.OpenReserved: {undecided, fail, pass, pass},
		note.OpenTokens:   {pass, fail, pass, pass}, // of reserved memory: served_test.go has tokens
		note.UpperTokens:  {pass, fail, pass, pass},
		note.Ends:         {pass, undecided, pass, pass},
		note.Decides:      {undecided, undecided, undecided, pass},
		note.Partial:      {undecided, undecided, undecided, pass},
	}
	qualities := map[note.Effect]report.Quality{note.Exact: report.Exact, note.Ends: report.Bound,
		note.Partial: report.Incomplete}
	for _, k := range note.Kinds() {
		t.Run(string(k.ID), func(t *testing.T) {
			row, known := effects[k.ID]
			assert.True(t, known, "a new note chooses what it does to a verdict")
			assert.Equal(t, row.effect, k.Effect)
			assert.NotEmpty(t, row.why)
			r := account(func(r *report.Report) {
				r.Quality, r.Notes = report.Estimated, notes(k.ID)
				if q, other := qualities[k.Effect]; other {
					r.Quality = q
				}
				switch {
				case k.Effect == note.Upper:
					r.Upper = &report.Upper{Allocated: 150, Reserved: 300}
				case k.ID == note.ValueDecides:
					r.OtherValues = []report.OtherValues{{Values: "least", Reserved: 100, Allocated: 50, Fits: true}}
				}
			})
			lower := account(func(r *report.Report) { r.Peak.Reserved = 100 })
			outcome := func(limit units.Bytes, o verdict.Options) verdict.Outcome {
				o.Lower = lower
				return verdict.Judge(r, one(report.Reserved, limit), o).Outcome
			}
			expected := want[k.Effect]
			assert.Equal(t, expected.keeps, outcome(200, verdict.Options{}), "kept")
			assert.Equal(t, expected.breaks, outcome(199, verdict.Options{}), "broken")
			assert.Equal(t, expected.likely, outcome(200, verdict.Options{Basis: verdict.ByLikely}), "kept, judge: likely")
			allowed := []string{string(k.ID)}
			if k.Effect == note.Partial {
				allowed = []string{string(note.OpMissing)}
			}
			assert.Equal(t, expected.allowed, outcome(200, verdict.Options{Allow: allowed}), "kept, allow: names it")
		})
	}
	assert.Len(t, effects, len(note.Kinds()))
	later := account(func(r *report.Report) { r.Quality, r.Notes = report.Estimated, notes("later-note") })
	assert.Equal(t, undecided, verdict.Judge(later, one(report.Reserved, 200), verdict.Options{}).Outcome,
		"a note of a later release")
	assert.Equal(t, pass, verdict.Judge(later, one(report.Weights, 50), verdict.Options{}).Outcome,
		"weights are what they are")
}

// A figure that may be too low names the command that makes it exact. Beside judge: likely it is a
// caution and a ground.
func TestFigureThatMayBeTooLow(t *testing.T) {
	r := account(func(r *report.Report) {
		r.Quality = report.Estimated
		r.Notes = []report.Note{{ID: note.WorkspaceUnknown, Text: "no rule has all that x takes",
			Settle: "python -m memshim capture"}}
	})
	v := verdict.Judge(r, one(report.Allocated, 100), verdict.Options{})
	assert.Equal(t, "no rule has all that x takes: the figure may be too low, and no upper one is known; to make it "+
		"exact: python -m memshim capture", v.Findings[0].Why)
	assert.True(t, v.Findings[0].Undecided())
	v = verdict.Judge(r, one(report.Allocated, 100), verdict.Options{Basis: verdict.ByLikely})
	assert.Equal(t, verdict.Pass, v.Outcome)
	assert.Equal(t, verdict.GroundJudge, v.Grounds[len(v.Grounds)-1].Kind)
	r.Notes[0].Settle = ""
	v = verdict.Judge(r, one(report.Allocated, 100), verdict.Options{})
	assert.Contains(t, v.Findings[0].Why, "measure it on the card (memspec verify)")

	total := units.Bytes(300)
	outside := account(func(r *report.Report) {
		r.Quality, r.Notes, r.Peak.Total = report.Estimated, notes(note.OutsideUnknown), &total
	})
	assert.Equal(t, verdict.Inconclusive, verdict.Judge(outside, one(report.Total, 300), verdict.Options{}).Outcome)
	v = verdict.Judge(outside, one(report.Allocated, 100), verdict.Options{})
	assert.Equal(t, verdict.Pass, v.Outcome)
	assert.Empty(t, v.RestsOn(), "no figure that is judged lies outside the allocator")
	v = verdict.Judge(outside, append(one(report.Allocated, 100), one(report.Total, 300)...), verdict.Options{})
	assert.Equal(t, "estimate by outside-unknown", v.RestsOn())

	ranks := account(func(r *report.Report) { r.Quality, r.Notes = report.Estimated, notes(note.RanksNotRun) })
	assert.Equal(t, verdict.Inconclusive, verdict.Judge(ranks, one(report.Weights, 50), verdict.Options{}).Outcome,
		"other ranks have other weights")

	read := account(func(r *report.Report) { r.Quality, r.Notes = report.Bound, notes(note.ValueRead, note.ValueDecides) })
	read.OtherValues = []report.OtherValues{{Values: "most", Reserved: 200, Allocated: 100, Fits: true}}
	assert.Equal(t, verdict.Pass, verdict.Judge(read, one(report.Reserved, 200), verdict.Options{}).Outcome,
		"runs with others have shown what it decides")
}

// A known total that values decide is one figure, and its ends are in the reason.
func TestTotalThatValuesDecide(t *testing.T) {
	total := units.Bytes(230)
	r := account(func(r *report.Report) {
		r.Quality, r.Notes, r.Peak.Total = report.Bound, notes(note.ValueDecides), &total
		r.Context = &report.Context{Low: 30, High: 30}
		r.OtherValues = []report.OtherValues{{Values: "most", Reserved: 300, Allocated: 150, Fits: true}}
	})
	f := verdict.Judge(r, one(report.Total, 250), verdict.Options{}).Findings[0]
	assert.Equal(t, verdict.Inconclusive, f.Outcome)
	assert.Equal(t, units.Bytes(330), f.Upper)
	assert.Equal(t, "peak total 230 B, budget 250 B: values that no kernel computed decide: between 230 B and 330 B; "+
		"assume: states which is meant", f.String())
}

// What no rule knows may take more than any of the runs with other values shows.
func TestValuesDecideNothingOfAnIncompleteRun(t *testing.T) {
	for quality, want := range map[report.Quality]verdict.Outcome{report.Bound: verdict.Pass,
		report.Incomplete: verdict.Inconclusive} {
		r := account(func(r *report.Report) {
			r.Quality, r.Notes = quality, notes(note.ValueDecides)
			r.OtherValues = []report.OtherValues{{Values: "most", Reserved: 210, Allocated: 110, Fits: true}}
		})
		assert.Equal(t, want, verdict.Judge(r, one(report.Reserved, 250), verdict.Options{}).Outcome, quality)
	}
}
