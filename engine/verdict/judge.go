package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
)

// NoBudget is why a case without a budget is inconclusive.
const NoBudget = "no budget was given"

// Judge judges a report against budgets. The findings are in the order of the budgets.
//
// Rules, in order: a report with a note that leaves it undecided (a stale artifact, a recording of
// another card) is inconclusive. A figure that values decide without a known end is inconclusive,
// and one with two ends is judged at both. A run that does not fit its device fails. An incomplete
// report is inconclusive, whatever the sizes say. A budget on a size that is not known is
// inconclusive. A bound that data-dependent sizes made is judged at both its ends, and inconclusive
// where they disagree. Where the likely figure keeps a budget and the upper one does not, or the
// upper one does not fit the device, it is inconclusive, unless the likely figure decides
// (ByLikely); so it is where a note says that a figure may be too low and nothing says by how much.
// note.Effect has what each note does. What is left passes at or under the limit. A budget of level
// warn only ever warns.
func Judge(r *report.Report, budgets []Budget, o Options) Verdict {
	var v Verdict
	for _, b := range budgets {
		v.Findings = append(v.Findings, judgeOne(r, b, o))
	}
	v.Outcome = worst(v.Findings)
	v.Quality, v.Grounds = judgedQuality(r, budgets), grounds(r, budgets, o)
	switch {
	case len(budgets) == 0:
		v.Why = append(v.Why, NoBudget)
	case unsettled(r, o) != nil:
		v.Why = append(v.Why, unsettled(r, o).Text)
	case valuesDecide(r, o):
	case !r.Fits() && r.Serving != nil:
		v.Why = append(v.Why, "does not fit: "+r.Serving.Unfit)
	case r.OOM != nil:
		v.Why = append(v.Why, fmt.Sprintf("the run does not fit the device: %s asked for with a limit of %s",
			r.OOM.Requested, r.OOM.Limit))
	case incomplete(r, o):
		v.Why = append(v.Why, missing(r))
	}
	return v
}

func judgeOne(r *report.Report, b Budget, o Options) Finding {
	f := Finding{Budget: b}
	f.Predicted, f.Known = r.Value(b.Metric)
	if f.Known {
		f.Over = b.over(f.Predicted)
	}
	f.Outcome = f.decide(r, o)
	if b.Level == LevelWarn && f.Outcome != Pass {
		f.Outcome = Warn
	}
	return f
}

// decide fills in what stands beside the outcome; the level is not its business.
func (f *Finding) decide(r *report.Report, o Options) Outcome {
	switch {
	case unsettled(r, o) != nil:
		f.Why = unsettled(r, o).Text
		return Inconclusive
	case valuesDecide(r, o) && !f.Regression: // which compares like with like
		return f.decideValues(r, o)
	case r.Serving != nil && !r.Serving.Fits:
		f.Why = "the engine does not fit the device"
		return Fail
	case r.OOM != nil:
		f.Why = "the run stopped where the device's memory ended"
		return Fail
	case incomplete(r, o):
		f.Why = missing(r)
		return Inconclusive
	case f.Metric == report.Total && !f.Known && r.Context != nil:
		return f.decideTotal(r, o)
	case !f.Known:
		f.Why = unknown(r, f.Metric)
		return Inconclusive
	}
	at := Pass
	if f.Over > 0 {
		at = Fail
	}
	if f.Regression || !dependsOnData(r, o) {
		return f.decideUpper(r, o, at)
	}
	if o.Lower == nil {
		if at == Fail {
			f.Why = "this is the most that data-dependent sizes allow; the least was not judged"
			return Inconclusive
		}
		return f.decideUpper(r, o, at)
	}
	low, ok := o.Lower.Value(f.Metric)
	if !ok || o.Lower.OOM != nil || incomplete(o.Lower, o) {
		f.Why = "the lower end of data-dependent sizes could not be judged"
		return Inconclusive
	}
	f.Lower, f.HasLower = low, true
	if (low > f.Limit) != (at == Fail) {
		f.Why = fmt.Sprintf("data-dependent sizes decide: between %s and %s; assume: states a tighter bound",
			min(low, f.Predicted), max(low, f.Predicted))
		return Inconclusive
	}
	return f.decideUpper(r, o, at)
}

// decideUpper judges the upper figure of an estimate whose likely figure came to at.
func (f *Finding) decideUpper(r *report.Report, o Options, at Outcome) Outcome {
	if n := tooLow(r, o, f.Metric); n != nil && at == Pass && !f.Regression {
		f.Open = true
		wrong := "the figure may be too low, and no upper one is known"
		if f.Metric.Counts() {
			wrong = "the figure may be too high, and nobody knows by how much"
		}
		f.Why = n.Text + ": " + wrong
		return f.undecided(o, cmp.Or(n.Settle, measureIt))
	}
	if !upperCounts(r, o) {
		return at
	}
	limit, what := f.Limit, "the budget"
	up, ok := r.UpperValue(f.Metric)
	if r.Serving != nil {
		return f.decideTokens(r, o, at)
	}
	if oom := upperOOM(r); oom != nil && at == Pass && (!f.Regression || f.UpperLimit != nil) {
		f.NoRoom = true
		cause, settle := unsure(r)
		f.Why = fmt.Sprintf("%s could take it over the device's memory: %s asked for with a limit of %s", cause,
			oom.Requested, oom.Limit)
		return f.undecided(o, settle)
	}
	if f.Regression {
		if f.UpperLimit == nil {
			return at
		}
		limit, what = *f.UpperLimit, "what the upper figure was before and may grow ("+f.UpperLimit.String()+")"
	}
	if at != Pass || !ok || up <= limit {
		return at
	}
	f.Upper = up
	cause, settle := unsure(r)
	f.Why = fmt.Sprintf("%s could take it to %s, over %s", cause, up, what)
	return f.undecided(o, settle)
}

// decideTokens judges what an engine has left where the driver takes as much as in any log. What it
// was before is compared with the plain prediction alone.
func (f *Finding) decideTokens(r *report.Report, o Options, at Outcome) Outcome {
	least, ok := r.UpperValue(f.Metric)
	if !ok || at != Pass || f.Regression || !f.Metric.Breaks(least, f.Limit) {
		return at
	}
	f.Upper, f.NoRoom = least, least == 0
	f.Why = fmt.Sprintf("the driver takes up to %s outside of PyTorch in public logs, which leaves %s",
		r.Serving.Driver.Most, f.Metric.Exact(least))
	return f.undecided(o, startIt)
}

// undecided is the outcome where the likely figure passes and the upper one does not.
func (f *Finding) undecided(o Options, settle string) Outcome {
	if o.Basis == ByLikely {
		return Pass
	}
	f.Why += "; to make it exact: " + settle
	return Inconclusive
}

// tooLow is the first note that says that a figure may be too low without saying by how much; nil
// where there is none, or allow: names it. Weights of the run are what they are. A value that was
// read decides nothing more where runs with others have shown what it decides.
func tooLow(r *report.Report, o Options, m report.Metric) *report.Note {
	for i := range r.Notes {
		n := &r.Notes[i]
		switch {
		case m == report.Weights && n.ID != note.RanksNotRun || slices.Contains(o.Allow, string(n.ID)):
		case n.ID == note.ValueRead && (r.HasNote(note.ValueDecides) || r.HasNote(note.ValueOpen)):
		case n.ID.Effect() != note.UpperTokens && opens(n.ID.Effect(), m):
			return n
		}
	}
	return nil
}

// opens says whether a note of that effect concerns a metric: figures of it may be too low, of
// tokens and requests too high.
func opens(e note.Effect, m report.Metric) bool {
	switch e {
	case note.Open:
		return true
	case note.OpenTotal:
		return m == report.Total
	case note.OpenTokens, note.UpperTokens:
		return m.Counts()
	case note.OpenReserved:
		return m == report.Total || m == report.Reserved || m == report.HostPinned // cached by powers of two
	}
	return false
}

// upperCounts says whether the upper figure is judged: it is not where allow: names every note that
// it comes from.
func upperCounts(r *report.Report, o Options) bool {
	noted := false
	for i := range r.Notes {
		if id := r.Notes[i].ID; id.Effect() == note.Upper || id.Effect() == note.UpperTokens {
			if noted = true; !slices.Contains(o.Allow, string(id)) {
				return true
			}
		}
	}
	return !noted
}

// upperOOM is where the run at the upper bound does not fit the device, though the likely one does;
// nil where it fits.
func upperOOM(r *report.Report) *report.NoRoom {
	if r.Upper == nil {
		return nil
	}
	return r.Upper.OOM
}

// decideTotal judges a total of which only a range is known, at both its ends.
func (f *Finding) decideTotal(r *report.Report, o Options) Outcome {
	low, high, _ := r.TotalRange()
	if dependsOnData(r, o) && o.Lower != nil {
		least, _, _ := o.Lower.TotalRange()
		low = min(low, least)
	}
	f.Predicted, f.Known, f.Lower, f.HasLower = high, true, low, true
	f.Over = max(high-f.Limit, 0)
	switch {
	case high <= f.Limit:
		return f.decideUpper(r, o, Pass)
	case low > f.Limit:
		return Fail
	}
	f.Why = openTotal(r)
	return Inconclusive
}

// openTotal says which parts of a total are known within a range only, and what states them.
func openTotal(r *report.Report) string {
	var parts []string
	if c := r.Context; c.Low != c.High {
		parts = append(parts,
			fmt.Sprintf("a CUDA context on %s takes between %s and %s: give context: for it under devices:",
				r.Device, c.Low, c.High))
	}
	if n := r.NCCL; n != nil && n.Low != n.High {
		parts = append(parts, fmt.Sprintf("NCCL takes between %s and %s, by its channels and connections: give nccl:",
			n.Low, n.High))
	}
	return strings.Join(parts, "; ")
}

// dependsOnData says whether the account has two ends: a note that makes them was written and not
// allowed, or it is a bound without one.
func dependsOnData(r *report.Report, o Options) bool {
	noted := false
	for _, n := range r.Notes {
		if n.ID.Effect() == note.Ends && n.ID != note.ValueDecides {
			if !slices.Contains(o.Allow, string(n.ID)) {
				return true
			}
			noted = true
		}
		noted = noted || n.ID == note.ValueDecides // which valuesDecide asks for
	}
	return r.Quality == report.Bound && !noted
}

// unsettled is the first note that leaves the whole report undecided and is not allowed; nil where
// there is none.
func unsettled(r *report.Report, o Options) *report.Note {
	for i := range r.Notes {
		n := &r.Notes[i]
		if (n.Undecided || n.ID.Effect() == note.Decides) && !slices.Contains(o.Allow, string(n.ID)) {
			return n
		}
	}
	return nil
}

func incomplete(r *report.Report, o Options) bool {
	switch r.Quality {
	case report.Exact, report.Estimated, report.Bound:
		return false
	}
	return !slices.Contains(o.Allow, string(note.OpMissing)) // allowing it judges the sizes that are known
}

// missing says why an account is incomplete.
func missing(r *report.Report) string {
	if len(r.Coverage.Unsupported) == 0 {
		return "the report is incomplete"
	}
	return report.Lacking(r.Coverage.Unsupported)
}

// startIt is what makes tokens of an engine's KV cache exact.
const startIt = "start the engine on the card"

// measureIt is what makes a figure exact where no command does.
const measureIt = "measure it on the card (memspec verify)"

// unsure is what makes a report an estimate, and the command that makes it exact.
func unsure(r *report.Report) (cause, settle string) {
	settle = measureIt
	for _, c := range []struct {
		cause string
		ids   []note.ID
	}{
		{"local variables that outlive what the trace shows", []note.ID{note.LocalsUnknown}},
		{"operators that only the live model runs", []note.ID{note.OperatorsDiffer}},
		{"estimated library workspace", []note.ID{note.WorkspaceEstimate, note.WorkspaceStandIn, note.WorkspaceBenchmark}},
	} {
		found := false
		for _, n := range r.Notes {
			if slices.Contains(c.ids, n.ID) {
				found = true
				if n.Settle != "" {
					return c.cause, n.Settle
				}
			}
		}
		if found {
			return c.cause, settle
		}
	}
	return "estimated library workspace", settle
}

func unknown(r *report.Report, m report.Metric) string {
	if m == report.Total {
		return fmt.Sprintf("what a CUDA context takes on %s is not known: give context: for it under devices:",
			r.Device)
	}
	if m == report.HostPinned {
		return "page-locked memory of the host is not known: a recording of a run on a pretend GPU has it"
	}
	return fmt.Sprintf("%s is not known", m)
}

// worst is the outcome of a case.
func worst(fs []Finding) Outcome {
	if len(fs) == 0 {
		return Inconclusive
	}
	outcomes := make([]Outcome, len(fs))
	for i := range fs {
		outcomes[i] = fs[i].Outcome
	}
	return Worst(outcomes...)
}
