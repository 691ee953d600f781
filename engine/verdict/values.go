package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
)

// valuesDecide says whether the run was repeated with other values, which took otherwise, and that
// counts.
func valuesDecide(r *report.Report, o Options) bool {
	return len(r.OtherValues) > 0 && !slices.Contains(o.Allow, string(note.ValueDecides))
}

// decideValues judges a figure that values decide at both its ends: it passes only where the most
// keeps the budget, and fails only where the least breaks it.
func (f *Finding) decideValues(r *report.Report, o Options) Outcome {
	fit, runs := r.Fitting()
	if r.OOM == nil && incomplete(r, o) {
		f.Why = missing(r)
		return Inconclusive
	}
	low, high, known := r.Ends(f.Metric)
	if !known {
		f.Why = unknown(r, f.Metric)
		return Inconclusive
	}
	f.Lower, f.HasLower = low, true
	if f.Metric == report.Total && !f.Known {
		f.Predicted, f.Known = high, true
		f.Over = max(high-f.Limit, 0)
	}
	switch {
	case fit == 0:
		f.Why = "with any values the run stops where the device's memory ends"
		return Fail
	case fit == runs && high <= f.Limit && !r.Cut():
		return f.decideUpper(r, o, Pass)
	case low > f.Limit:
		return Fail
	}
	f.Upper = high
	where := ""
	for _, n := range r.Notes {
		if n.ID == note.ValueDecides && n.Assume != "" {
			where = " for " + n.Assume
			break
		}
	}
	between := fmt.Sprintf("between %s and %s", low, high)
	if fit < runs {
		between += fmt.Sprintf(", and %d of %d runs do not fit the device", runs-fit, runs)
	} else if r.Cut() {
		between += " or more"
	}
	f.Why = strings.Join([]string{"values that no kernel computed decide: ", between, "; assume: states which is meant",
		where}, "")
	return Inconclusive
}
