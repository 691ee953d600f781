package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func newCheck() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "check [memspec.yaml]",
		Short: "Check every budget of a memspec.yaml",
		Long: `Predict every case of a memspec.yaml (in the working directory where none is named) and judge its budgets. All cases always run.

Exit codes: 2 if the file cannot be read; else 1 if any case fails; else 2 if any is an error; else 3 if any is inconclusive; else 0.`,
		Example: `  memspec check
  memspec check --case 'resnet50[*]' models/memspec.yaml
  memspec check -o junit.xml -o report.html
  memspec check --format json > result.json`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	patterns := caseFlag(cmd)
	profile := workspaceFlag(cmd)
	out := newOutputs(cmd, format.Verdicts|format.Timelines)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "the whole account of every case, every holder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := loadCases(specPath(args), *patterns)
		if err != nil {
			return err
		}
		if err := useProfile(cases, *profile); err != nil {
			return err
		}
		if err := out.open(len(cases)); err != nil {
			return err
		}
		defer out.abandon()
		code, err := runCheck(cmd, cases, &checked{out: out, verbose: verbose, json: out.has("json")})
		if err != nil {
			return err
		}
		return exitWith(code)
	}
	return cmd
}

// useProfile gives every case the workspace profile of --workspace in place of its own.
func useProfile(cases []spec.Case, path string) error {
	if path == "" {
		return nil
	}
	p, err := profile.Load(path)
	if err != nil {
		return err
	}
	for i := range cases {
		cases[i].Platform.Workspace = p
	}
	return nil
}

func runCheck(cmd *cobra.Command, cases []spec.Case, all *checked) (int, error) {
	bar := newProgress(cmd.ErrOrStderr(), len(cases))
	var outcomes []verdict.Outcome
	var err error
	var models engine.Models
	models.JudgeAll(cmd.Context(), cases, bar.step, func(r *engine.Result) {
		if cmd.Context().Err() != nil {
			return
		}
		outcomes = append(outcomes, r.Verdict.Outcome)
		bar.clear()
		if err == nil {
			err = all.add(r)
		}
	})
	bar.clear()
	if cmd.Context().Err() != nil {
		return 0, interrupted(len(outcomes), len(cases))
	}
	if err != nil {
		return 0, err
	}
	code := verdict.ExitCode(outcomes)
	return code, all.end(code)
}

// interrupted says how far a command came.
func interrupted(done, of int) error {
	return &exit{code: exitInterrupted, err: fmt.Errorf("interrupted: %d of %s done", done, plural(of, "case"))}
}

// checked are the results of a check: a line a case that passes, the whole account of any other, and a summary.
type checked struct {
	out     *outputs
	verbose bool
	json    bool // it is asked for
	cases   []caseJSON
	count   [verdict.Error + 1]int
	total   int
}

func (c *checked) add(r *engine.Result) error {
	c.count[r.Verdict.Outcome]++
	c.total++
	if r.Report != nil {
		r.Report = repositoryPaths().Report(r.Report)
	}
	if c.json {
		c.cases = append(c.cases, asJSON(r))
	}
	return c.out.add(resultCase(r, c.out, c.verbose))
}

// resultCase is a judged result for every format. Its text is a line where it passes and no more is asked for.
func resultCase(r *engine.Result, out *outputs, verbose bool) *format.Case {
	whole := func(w io.Writer) error {
		o := engine.MessageOptions{Rows: rowsShown(verbose), Columns: layout.Columns(w)}
		if missing := new(engine.Uncaptured); !errors.As(r.Err, &missing) { // else there is nothing to explain yet
			o.Reproduce = []string{engine.ExplainCommand(r.Case)}
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
		if out.need(format.Timelines) {
			c.Timeline = r.Run.Timeline
		}
	}
	c.Line, c.Text, c.Account = r.Line(), whole, whole
	if c.Right() && !verbose {
		c.Text = func(w io.Writer) error { return writeLine(w, c.Line) }
	}
	return c
}

func (c *checked) end(code int) error {
	sum := &format.Summary{Exit: code, Text: func(w io.Writer) error {
		return writeLine(w, fmt.Sprintf("%s: %s", plural(c.total, "case"), countsText(&c.count)))
	}}
	if c.json {
		if c.cases == nil {
			c.cases = []caseJSON{}
		}
		sum.JSON = checkJSON{Schema: 1, Exit: code, Cases: c.cases}
	}
	return c.out.end(sum)
}

// countsText is "3 pass, 1 fail".
func countsText(count *[verdict.Error + 1]int) string {
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Fail, verdict.Error, verdict.Inconclusive} {
		if n := count[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

type checkJSON struct {
	Schema int        `json:"schema"`
	Exit   int        `json:"exit"`
	Cases  []caseJSON `json:"cases"`
}

type caseJSON struct {
	Name     string          `json:"name"`
	Spec     string          `json:"spec"`
	Outcome  verdict.Outcome `json:"outcome"`
	Error    string          `json:"error"`
	Findings []findingJSON   `json:"findings"`
	Report   *report.Report  `json:"report"`
}

type findingJSON struct {
	Metric    report.Metric   `json:"metric"`
	Limit     units.Bytes     `json:"limit"`
	Predicted *units.Bytes    `json:"predicted"`
	Measured  *units.Bytes    `json:"measured"`
	Over      units.Bytes     `json:"over"`
	Spec      string          `json:"spec"`
	Outcome   verdict.Outcome `json:"outcome"`
	Why       string          `json:"why,omitempty"`
}

func asJSON(r *engine.Result) caseJSON {
	j := caseJSON{Name: r.Case.Name, Spec: lineOf(r.Case.Pos), Outcome: r.Verdict.Outcome, Findings: []findingJSON{}, Report: r.Report}
	if r.Err != nil {
		j.Error = r.Err.Error()
	}
	if r.Report != nil {
		r.Report.Normalize()
	}
	for _, f := range r.Verdict.Findings {
		fj := findingJSON{Metric: f.Metric, Limit: f.Limit, Over: f.Over, Spec: lineOf(f.Pos), Outcome: f.Outcome, Why: f.Why}
		if f.Known {
			fj.Predicted = &f.Predicted
		}
		j.Findings = append(j.Findings, fj)
	}
	return j
}

// lineOf is file:line, as JSON promises.
func lineOf(p verdict.Pos) string {
	p.Col = 0
	return p.String()
}
