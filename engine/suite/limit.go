package suite

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A Limit is what a value breaks.
type Limit struct {
	Value     int64
	Metric    report.Metric // what there was too much of; reserved where the device's memory ended
	Predicted units.Bytes
	Limit     units.Bytes
	Why       string // in words, where the sizes do not say it
	Unsure    bool   // it may fit: nobody can say
}

// String is "reserved 2.10 GiB of 2.00 GiB".
func (l *Limit) String() string {
	s := fmt.Sprintf("%s %s", l.Metric, l.Metric.Text(l.Predicted))
	if l.Limit > 0 && l.Metric.Counts() {
		s += ", at least " + l.Metric.Text(l.Limit)
	} else if l.Limit > 0 {
		s += " of " + l.Limit.String()
	}
	if l.Why != "" {
		s += ": " + l.Why
	}
	return s
}

// Limit is what a result breaks at a value; nil where it fits its budgets and its device. Where the
// device's memory ends, what was held and asked for together did not fit.
func (r *Result) Limit(value int64) *Limit {
	rep := r.Report
	switch {
	case !rep.Fits() && rep.Serving != nil:
		return &Limit{Value: value, Metric: report.KVTokens, Why: rep.Serving.Unfit}
	case rep.OOM != nil:
		return &Limit{Value: value, Metric: report.Reserved, Predicted: rep.Peak.Reserved.Add(rep.OOM.Requested),
			Limit: rep.OOM.Limit, Why: "the device's memory ends"}
	case rep.Quality == report.Incomplete:
		return &Limit{Value: value, Metric: report.Reserved, Predicted: rep.Peak.Reserved,
			Why: report.Lacking(rep.Coverage.Unsupported), Unsure: true}
	case len(r.Verdict.Findings) == 0:
		return deviceLimit(r, value)
	case r.Verdict.Outcome == verdict.Pass || r.Verdict.Outcome == verdict.Warn:
		return nil
	}
	f := r.worst()
	if f == nil {
		return &Limit{Value: value, Metric: report.Reserved, Predicted: rep.Peak.Reserved,
			Why: strings.Join(r.Verdict.Why, "; "), Unsure: true}
	}
	return &Limit{Value: value, Metric: f.Metric, Predicted: f.Predicted, Limit: f.Limit, Why: f.Why,
		Unsure: f.Outcome == verdict.Inconclusive}
}

// deviceLimit is the device where a case without budgets may not fit it, or nobody can say; nil
// where it fits.
func deviceLimit(r *Result, value int64) *Limit {
	if r.Report.Serving != nil {
		return nil // the engine itself says whether it fits
	}
	v := verdict.Judge(r.Report, []verdict.Budget{{Metric: report.Reserved, Limit: units.Max}}, r.options)
	if v.Outcome == verdict.Pass {
		return nil
	}
	l := &Limit{Value: value, Metric: report.Reserved, Predicted: r.Report.Peak.Reserved, Why: v.Findings[0].Why,
		Unsure: v.Outcome == verdict.Inconclusive}
	if up := r.Report.Upper; up != nil && up.OOM != nil {
		l.Limit = up.OOM.Limit
	}
	return l
}
