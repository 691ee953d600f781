package format

import (
	"io"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// Case is one run with what a command found out about it: a row of every table.
type Case struct {
	Name     string
	Pos      verdict.Pos     // where memspec.yaml says it; no line where it was asked for on the command line
	Judged   bool            // something was compared with a limit: Outcome counts
	Outcome  verdict.Outcome // of the whole case
	Line     string          // the result in one line, as the text begins
	Error    string          // why there is nothing to report; "" where there is
	Figures  []Figure        // in the order they are printed
	Findings []Finding       // what is not right, the worst first
	RestsOn  string          // what the outcome rests on beside the figures, in a line; "" for nothing
	Report   *report.Report  // nil where Error says why
	Timeline *allocator.Timeline
	Beside   bool // a run of those that a page draws side by side, on one scale
	// what the segments may take together: the device's memory less the context; 0 is no limit
	Limit   units.Bytes
	Text    func(w io.Writer) error // for people, as long as the command was asked for
	Account func(w io.Writer) error // the whole account, which documents have; nil stands for Text
}

// Figure is one number of a case: a metric, or a metric at one moment. What is not known is nil.
type Figure struct {
	Metric    report.Metric
	Moment    string // "baseline", "first", "steady"; "" for the whole run
	Outcome   verdict.Outcome
	Limit     *units.Bytes // its budget
	Before    *units.Bytes // what it was in the run that this one is compared with
	Predicted *units.Bytes
	Upper     *units.Bytes // the prediction with estimated workspace at the upper bound
	Measured  *units.Bytes // or recorded
}

// Name is "allocated", or "first allocated" where it is of one moment.
func (f *Figure) Name() string {
	if f.Moment == "" {
		return string(f.Metric)
	}
	return f.Moment + " " + string(f.Metric)
}

// value is the number that is compared with the limit: what was measured, else what is predicted.
func (f *Figure) value() *units.Bytes {
	if f.Measured != nil {
		return f.Measured
	}
	return f.Predicted
}

// over is by how much the figure exceeds its limit, or a number falls short of it; 0 where it does
// not or one of the two is missing.
func (f *Figure) over() units.Bytes {
	if v := f.value(); v != nil && f.Limit != nil && f.Metric.Breaks(*v, *f.Limit) {
		return max(*v-*f.Limit, *f.Limit-*v)
	}
	return 0
}

// text is a value of the figure for people; "" for none.
func (f *Figure) text(v *units.Bytes) string {
	if v == nil {
		return ""
	}
	return f.Metric.Text(*v)
}

// changed is what the figure was and is, apart: "+1.5 MiB (+2.0%)"; "" where one is not known.
func (f *Figure) changed() string {
	if f.Before == nil || f.Predicted == nil {
		return ""
	}
	by := *f.Predicted - *f.Before
	s := f.Metric.Signed(by)
	if *f.Before > 0 && by != 0 {
		s += " (" + signedPercent(by, *f.Before) + ")"
	}
	return s
}

// Finding is something that is not right: a broken budget, a disagreement, a question that could
// not be settled.
type Finding struct {
	Rule    Rule
	Outcome verdict.Outcome // Warn, Inconclusive, Fail or Error
	Metric  report.Metric   // "" where it is of no single one
	Text    string          // in words, without the case's name
	Pos     verdict.Pos     // of the budget; the case's own where there is none
}

// Rule is the stable name of a kind of finding.
type Rule string

// The rules besides one for each metric, whose budget is broken (BudgetRule).
const (
	RuleOutOfMemory  Rule = "memspec/out-of-memory" // the run does not fit the device
	RuleDisagreement Rule = "memspec/disagreement"  // predicted and measured are too far apart
	RuleInconclusive Rule = "memspec/inconclusive"  // it could not be said
	RuleError        Rule = "memspec/error"         // the case could not be run
)

// BudgetRule is the rule of a metric's budget.
func BudgetRule(m report.Metric) Rule { return "memspec/" + Rule(m) }

// Summary is what a command says when the last case is in.
type Summary struct {
	Exit int                     // the command's exit code
	Text func(w io.Writer) error // the last lines for people; nil for none
	JSON any                     // the whole result as the command's JSON has it
}

// Right says whether nothing is to be said against a case: it passed, or it was compared with
// nothing and does fit.
func (c *Case) Right() bool {
	if c.Judged {
		return c.Outcome == verdict.Pass
	}
	return c.Error == "" && (c.Report == nil || c.Report.Fits() && c.Report.Quality != report.Incomplete)
}

// fails says whether a case broke a budget, could not be run, or does not fit.
func (c *Case) fails() bool {
	if c.Judged {
		return c.Outcome == verdict.Fail || c.Outcome == verdict.Error
	}
	return c.Error != "" || c.Report != nil && !c.Report.Fits()
}

// counts are cases by outcome.
type counts [verdict.Error + 1]int

// severity puts the worst first: a failure before an error before what could not be said before a
// warning.
func severity(o verdict.Outcome) int {
	return [...]int{verdict.Pass: 0, verdict.Warn: 1, verdict.Inconclusive: 2, verdict.Error: 3, verdict.Fail: 4}[o]
}

// figures are a case's figures, and where it has none those of its report.
func (c *Case) figures() []Figure {
	if len(c.Figures) > 0 || c.Report == nil {
		return c.Figures
	}
	return ReportFigures(c.Report)
}

// ReportFigures are every metric of a report, without a limit.
func ReportFigures(r *report.Report) []Figure {
	var out []Figure
	for _, m := range r.Metrics() {
		f := Figure{Metric: m, Outcome: verdict.Pass}
		if v, ok := r.Value(m); ok {
			f.Predicted = &v
		}
		if v, ok := r.UpperValue(m); ok {
			f.Upper = &v
		}
		out = append(out, f)
	}
	return out
}

// title is "unet[B=1] on t4".
func (c *Case) title() string {
	if c.Report == nil || c.Report.Device == "" {
		return oneLine(c.Name)
	}
	return oneLine(c.Name + " on " + c.Report.Device)
}

// account is the text of a case; an error of one that writes nothing else cannot happen, as a
// strings.Builder takes everything.
func (c *Case) account() string {
	write := c.Account
	if write == nil {
		write = c.Text
	}
	if write == nil {
		return c.Line + "\n"
	}
	var b strings.Builder
	_ = write(&b)
	return b.String()
}

// oneLine is how every writer shows a name.
func oneLine(s string) string { return layout.OneLine(s) }

// plain is oneLine for a text of several lines.
func plain(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = oneLine(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
