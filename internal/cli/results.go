package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// Interrupted says how far a command came.
func Interrupted(done, of int) error {
	return &Exit{Code: exitInterrupted, Err: fmt.Errorf("interrupted: %d of %s done", done, Plural(of, "case"))}
}

// ResultCase is a judged result for every format. Its text is a line where it passes and no more is
// asked for.
func ResultCase(r *suite.Result, out *Outputs, verbose bool) *format.Case {
	whole := func(w io.Writer) error {
		o := suite.MessageOptions{Rows: RowsShown(verbose), Columns: layout.Columns(w)}
		// else there is nothing to explain yet
		if missing := new(origin.Uncaptured); !errors.As(r.Err, &missing) && r.Case.Artifact+r.Case.Source != "" {
			o.Reproduce = []string{suite.ExplainCommand(r.Case)}
		}
		_, err := io.WriteString(w, r.Message(o))
		return err
	}
	var c *format.Case
	if r.Err != nil {
		c = format.Failed(r.Case.Name, r.Case.Pos, r.Err, r.Verdict.Outcome)
	} else {
		c = format.Judged(r.Case.Name, r.Case.Pos, r.Report, r.Verdict)
		c.Limit = allocator.LimitOn(&r.Case.Platform)
		for i := range c.Figures {
			if f := &c.Figures[i]; r.Before != nil && f.Moment == "" {
				if was, ok := r.Before.Value(f.Metric); ok {
					f.Before = &was
				}
			}
		}
		if out.Need(format.Timelines) {
			c.Timeline = r.Run.Timeline
		}
	}
	c.Line, c.Text, c.Account = r.Line(), whole, whole
	if c.Right() && !verbose {
		c.Text = func(w io.Writer) error { return writePassed(w, c) }
	}
	return c
}

// writePassed writes a case that passes: its line, and what it rests on beside its figures.
func writePassed(w io.Writer, c *format.Case) error {
	if err := WriteLine(w, c.Line); err != nil || c.RestsOn == "" {
		return err
	}
	p := layout.To(w)
	p.Item("rests on", "%s", c.RestsOn)
	return p.Err
}

// CountsText is "3 pass, 1 fail".
func CountsText(count *[verdict.Error + 1]int) string {
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Fail, verdict.Error, verdict.Inconclusive} {
		if n := count[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

// LineOf is file:line, as JSON promises.
func LineOf(p verdict.Pos) string {
	p.Col = 0
	return p.String()
}

// RunCase is a run that is held against nothing, for every format.
func RunCase(r *engine.Run) *format.Case {
	return &format.Case{Name: r.Case.Name, Report: r.Report, Timeline: r.Timeline,
		Limit: allocator.LimitOn(&r.Case.Platform),
		Line:  fmt.Sprintf("%s %s: %s", r.Case.Name, r.Report.On(), report.Headline(r.Report))}
}

// EstimateExit is 3 where sizes are missing: a number that is too small must not look like one that
// is right.
func EstimateExit(r *report.Report) int {
	if r.Quality == report.Incomplete {
		return ExitUnsure
	}
	return ExitOK
}

// RowsShown is how many rows of holders a text has: 0 means all.
func RowsShown(verbose bool) int {
	if verbose {
		return 0
	}
	return report.ShortRows
}
