package suite

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
)

// MessageOptions say how much a message reports.
type MessageOptions struct {
	Rows      int      // of holders; 0 means all
	Columns   int      // to lay it out in; 0 means 80
	Reproduce []string // commands that give the account again, the first named so
}

// Line is the result in one line: the outcome, the case, and its first finding that is not a pass,
// or all that passed.
func (r *Result) Line() string {
	head := strings.ToUpper(r.Verdict.Outcome.String()) + " " + r.name()
	if r.Err != nil {
		return head + ": " + r.Err.Error()
	}
	if r.Report.Serving != nil && !r.Report.Serving.Fits {
		return head + ": " + report.Headline(r.Report)
	}
	if r.Report.OOM != nil {
		return fmt.Sprintf("%s: does not fit: %s asked for at %s, limit %s", head, r.Report.OOM.Requested,
			r.Report.OOM.Moment.String(), r.Report.OOM.Limit)
	}
	if f := r.worst(); f != nil {
		return head + ": " + FindingText(f)
	}
	if len(r.Verdict.Findings) == 0 || r.Verdict.Outcome != verdict.Pass {
		parts := append(slices.Clone(r.Verdict.Why), r.Fits...)
		if r.onlyUncompared() && len(r.Verdict.Findings) > 0 {
			parts = append(parts, "its budgets hold")
		}
		return head + ": " + strings.Join(parts, "; ")
	}
	parts := make([]string, len(r.Verdict.Findings))
	for i := range r.Verdict.Findings {
		parts[i] = r.Verdict.Findings[i].Held()
	}
	parts = append(parts, r.Fits...)
	if r.Change != "" {
		parts = append(parts, "before: "+r.Change)
	}
	if c := r.Caution(); c != "" {
		parts = append(parts, c)
	}
	return head + ": " + strings.Join(parts, ", ")
}

// onlyUncompared says whether all that keeps the case from a pass is that regression: has nothing
// to compare with.
func (r *Result) onlyUncompared() bool {
	return r.uncompared && r.Err == nil && r.Verdict.Outcome == verdict.Inconclusive &&
		!slices.ContainsFunc(r.Verdict.Findings, func(f verdict.Finding) bool { return f.Outcome != verdict.Pass }) &&
		len(r.Verdict.Why) == 1
}

// RestsOn is what the verdict rests on beside its figures, in a line; "" where that is nothing.
func (r *Result) RestsOn() string {
	if r.Report == nil {
		return ""
	}
	return r.Verdict.RestsOn()
}

// Caution says where the likely figure decides and the upper one would break a budget or not fit
// the device; "" where it would not.
func (r *Result) Caution() string {
	for _, f := range r.Verdict.Findings {
		if f.Outcome == verdict.Pass && (f.Upper > 0 || f.NoRoom || f.Open) {
			return fmt.Sprintf("caution: %s: %s", f.Metric, f.Why)
		}
	}
	return ""
}

func (r *Result) name() string {
	if r.Report != nil {
		return r.Case.Name + " " + r.Report.On()
	}
	if d := r.Case.Platform.Device.Name; d != "" {
		return r.Case.Name + " on " + d
	}
	return r.Case.Name
}

// worst is the first finding that has the verdict's outcome, nil where that is a pass.
func (r *Result) worst() *verdict.Finding {
	if r.Verdict.Outcome == verdict.Pass {
		return nil
	}
	for i := range r.Verdict.Findings {
		if r.Verdict.Findings[i].Outcome == r.Verdict.Outcome {
			return &r.Verdict.Findings[i]
		}
	}
	return nil
}

// FindingText is "peak reserved 2.31 GiB, budget 2.00 GiB: over by 0.31 GiB (+15.5%)".
func FindingText(f *verdict.Finding) string { return f.String() }

// Message is the account of a result that is not a pass: which case and metric, by how much, the
// line of the spec, where the peak is, who holds it, what was assumed, and the command that gives
// it again.
func (r *Result) Message(o MessageOptions) string {
	var b strings.Builder
	w := io.Writer(&b)
	if o.Columns > 0 {
		w = layout.Wide(w, o.Columns)
	}
	p := layout.To(w) // a strings.Builder does not fail
	p.Line("%s", r.Line())
	if r.Err != nil {
		item(p, "case", fileLine(r.Case.Pos))
		if at := fileLine(r.Case.ArtifactPos); at != fileLine(r.Case.Pos) {
			item(p, "artifact", at)
		}
		if trace := backtrace(r.Err); trace != "" {
			p.Line("  model stack, outermost first:")
			for line := range strings.Lines(trace) {
				p.Line("  %s", strings.TrimSuffix(line, "\n"))
			}
		}
		writeReproduce(p, o.Reproduce)
		return b.String()
	}
	if r.onlyUncompared() { // one line says it: nothing is wrong with the case
		return b.String()
	}
	for i := range r.Verdict.Findings {
		r.writeBudget(p, &r.Verdict.Findings[i])
	}
	for _, w := range r.Verdict.Why {
		if !strings.Contains(r.Line(), w) {
			p.Item("why", "%s", w)
		}
	}
	if r.Report.Serving == nil || r.Report.Serving.Fits { // else the line has it
		p.Item("predicted", "%s", r.predicted())
	}
	item(p, "changed", r.Change)
	_ = r.writeBroken(w, o.Rows)
	writeUnsupported(p, r.Report, o.Rows)
	_ = report.WriteAssumed(w, r.Report)
	if r.Verdict.OK() || slices.ContainsFunc(r.Verdict.Grounds, func(g verdict.Ground) bool { return g.Stated() }) {
		item(p, "rests on", r.RestsOn())
	}
	for i, remedy := range r.Remedies {
		name := "fits with"
		if i > 0 {
			name = ""
		}
		p.Item(name, "%s", remedy)
	}
	if advise := r.adviseCommand(); advise != "" {
		p.Command("advise", advise)
	}
	writeReproduce(p, o.Reproduce)
	return b.String()
}

// writeBudget writes where a budget stands; one that is not the line's own says its finding too.
func (r *Result) writeBudget(p *layout.Printer, f *verdict.Finding) {
	if f.Outcome == verdict.Pass {
		return
	}
	text := fmt.Sprintf("%s = %s (%s)", f.Path, f.Text, f.Metric.Exact(f.Limit))
	if f.Path == "" {
		most := "at most"
		if f.Metric.Counts() {
			most = "at least"
		}
		text = fmt.Sprintf("%s %s %s (%s)", f.Metric, most, f.Metric.Text(f.Limit), f.Metric.Exact(f.Limit))
	}
	if at := fileLine(f.Pos); at != "" {
		text = at + "  " + text
	}
	p.Item("budget", "%s", text)
	if f != r.worst() {
		p.Item("", "%s: %s", f.Outcome, FindingText(f))
	}
}

// predicted is the exact bytes of both peaks, and of every other metric whose budget does not hold.
func (r *Result) predicted() string {
	rep := r.Report
	if rep.Serving != nil {
		return report.Headline(rep)
	}
	s := fmt.Sprintf("%s reserved, %s allocated", rep.Peak.Reserved.Exact(), rep.Peak.Allocated.Exact())
	if w, known := rep.Value(report.Weights); known {
		s += fmt.Sprintf(", %s of it weights", w)
	}
	for _, m := range []report.Metric{report.Weights, report.Delta, report.FirstCall, report.Total} {
		for _, f := range r.Verdict.Findings {
			if f.Metric == m && f.Known && f.Outcome != verdict.Pass {
				s += fmt.Sprintf(", %s %s", f.Predicted.Exact(), m)
				break
			}
		}
	}
	return s
}

// fileLine is file:line; a column says nothing about a budget.
func fileLine(p verdict.Pos) string {
	p.Col = 0
	return p.String()
}

func writeUnsupported(p *layout.Printer, rep *report.Report, rows int) {
	if len(rep.Coverage.Unsupported) == 0 {
		return
	}
	p.Line("  operators without a rule:")
	for i, u := range rep.Coverage.Unsupported {
		if rows > 0 && i == rows {
			p.Line("    … %d more (-v)", len(rep.Coverage.Unsupported)-rows)
			break
		}
		p.Line("    %s ×%d, first at %s", u.Text(), u.Count, strings.TrimSpace(u.First.String()))
	}
}

func writeReproduce(p *layout.Printer, commands []string) {
	for i, c := range commands {
		name := "reproduce"
		if i > 0 {
			name = ""
		}
		p.Command(name, c)
	}
}

func item(p *layout.Printer, name, text string) {
	if text != "" {
		p.Item(name, "%s", text)
	}
}

// backtrace is the model's own stack where err has one.
func backtrace(err error) string {
	var e *exec.EvalError
	if errors.As(err, &e) {
		return e.Backtrace()
	}
	return ""
}
