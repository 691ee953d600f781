package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
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
  memspec check --format json > result.json`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	patterns := caseFlag(cmd)
	profile := scratchFlag(cmd)
	format := formatFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "the whole account of every case, every holder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := loadCases(specPath(args), *patterns)
		if err != nil {
			return err
		}
		if err := useProfile(cases, *profile); err != nil {
			return err
		}
		var out checkWriter = &checkText{w: cmd.OutOrStdout(), verbose: verbose}
		if format.value == "json" {
			out = &checkJSON{w: cmd.OutOrStdout(), Schema: 1, Cases: []caseJSON{}}
		}
		code, err := runCheck(cmd, cases, out)
		if err != nil {
			return err
		}
		return exitWith(code)
	}
	return cmd
}

// useProfile gives every case the scratch profile of --scratch in place of its own.
func useProfile(cases []spec.Case, path string) error {
	if path == "" {
		return nil
	}
	p, err := profile.Load(path)
	if err != nil {
		return err
	}
	for i := range cases {
		cases[i].Platform.Scratch = p
	}
	return nil
}

// A checkWriter writes results as they come, in order, and then the whole.
type checkWriter interface {
	result(*engine.Result) error
	end(code int) error
}

func runCheck(cmd *cobra.Command, cases []spec.Case, out checkWriter) (int, error) {
	bar := newProgress(cmd.ErrOrStderr(), len(cases))
	var outcomes []verdict.Outcome
	var err error
	var models engine.Models
	models.JudgeAll(cmd.Context(), cases, bar.step, func(r *engine.Result) {
		outcomes = append(outcomes, r.Verdict.Outcome)
		bar.clear()
		if err == nil {
			err = out.result(r)
		}
	})
	bar.clear()
	if cmd.Context().Err() != nil {
		return 0, fmt.Errorf("interrupted")
	}
	if err != nil {
		return 0, err
	}
	code := verdict.ExitCode(outcomes)
	return code, out.end(code)
}

// checkText writes a line a case, the whole account of what does not pass, and a summary.
type checkText struct {
	w       io.Writer
	verbose bool
	count   [verdict.Error + 1]int
	total   int
}

func (c *checkText) result(r *engine.Result) error {
	c.count[r.Verdict.Outcome]++
	c.total++
	if r.Verdict.Outcome == verdict.Pass && !c.verbose {
		p := layout.To(c.w)
		p.Line("%s", r.Line())
		return p.Err
	}
	o := engine.MessageOptions{Rows: rowsShown(c.verbose), Columns: layout.Columns(c.w), Reproduce: []string{engine.ExplainCommand(r.Case)}}
	_, err := io.WriteString(c.w, r.Message(o))
	return err
}

func (c *checkText) end(int) error {
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Fail, verdict.Error, verdict.Inconclusive} {
		if n := c.count[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	cases := "cases"
	if c.total == 1 {
		cases = "case"
	}
	_, err := fmt.Fprintf(c.w, "%d %s: %s\n", c.total, cases, strings.Join(parts, ", "))
	return err
}

// checkJSON is the JSON form of a check, written when the last result is in.
type checkJSON struct {
	w      io.Writer
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

func (c *checkJSON) result(r *engine.Result) error {
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
	c.Cases = append(c.Cases, j)
	return nil
}

func (c *checkJSON) end(code int) error {
	c.Exit = code
	return report.EncodeJSON(c.w, c)
}

// lineOf is file:line, as JSON promises.
func lineOf(p verdict.Pos) string {
	p.Col = 0
	return p.String()
}
