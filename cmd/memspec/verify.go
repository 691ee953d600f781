package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

type verifyOptions struct {
	dir     string
	require bool
	on      *cli.Choice
	timeout time.Duration
	out     *cli.Outputs
	query   cli.Query
}

func newVerify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [memspec.yaml] [--measured DIR]",
		Short: "Compare predictions with measurements: recorded ones, or runs on this machine's GPU",
		Long: `Predict every case of a memspec.yaml and compare it with what the case took when it was run.
With --measured the measurements are the records in a folder (python -m memshim measure writes
them). Without it the cases whose GPU this machine has are run, each in a fresh process (python
-m memshim; MEMSPEC_PYTHON names the Python).

With --on pretend they are run on a pretend GPU (with --measured, were): PyTorch's own allocator
on a machine without a GPU, labelled so and never called measured. A record belongs to a case by
its name, device, torch, runtime, inputs and flags. Records made on CPU tensors are compared with
nothing.

Exit codes, the first that applies:
2 the file or a record cannot be read.
1 the predicted or the measured number breaks a budget, or the two differ by more than the
  case's tolerance.
2 a case cannot be predicted, or its model fails.
3 something could not be judged, a case has no measurement with --require, no case has a record
  in the folder given, or none was run with --on pretend.
0 otherwise.`,
		Example: `  memspec verify --measured measured
  memspec verify models/memspec.yaml --measured measured --case 'resnet50[*]' --require
  memspec verify --require                     # on a machine with the GPU
  memspec verify --on pretend                  # on any machine with PyTorch`,
		Args:              cli.WantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: cli.CompleteSpecs,
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dir, "measured", "", "the `FOLDER` of measurement records; without it the cases are run here")
	_ = cmd.MarkFlagDirname("measured")
	o.on = cli.ChoiceFlag(cmd, "on",
		"what cases are run on: this machine's GPUs, or a pretend GPU of each case's device, which needs none", "real",
		"real", "pretend")
	fs.BoolVar(&o.require, "require", false, "a case without a measurement is inconclusive: exit 3")
	fs.DurationVar(&o.timeout, "timeout", cudameasure.DefaultLimit, "for running one case here")
	cli.Complete(cmd, "timeout")
	patterns := cli.CaseFlag(cmd)
	profile := cli.WorkspaceFlag(cmd)
	basis := cli.JudgeFlag(cmd)
	o.query.AnswersFlag(cmd)
	o.out = cli.NewOutputs(cmd, format.Verdicts|format.Timelines)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.timeout <= 0 {
			return fmt.Errorf("--timeout: got %s, want more than 0", o.timeout)
		}
		if fs.Changed("measured") && o.dir == "" {
			return errors.New("--measured: got no folder, want that of the records that python -m memshim measure wrote")
		}
		cases, err := cli.CasesOf(args, *patterns)
		if err != nil {
			return err
		}
		if err := cli.UseProfile(cases, *profile); err != nil {
			return err
		}
		cli.JudgeBy(cases, basis)
		hold, err := o.holder()
		if err != nil {
			return err
		}
		if err := o.out.Open(len(cases)); err != nil {
			return err
		}
		defer o.out.Abandon()
		all, err := o.verifyAll(cmd, cases, hold)
		if err != nil {
			return err
		}
		return o.end(all)
	}
	return cmd
}

// A holder compares one prediction with what was measured.
type holder func(context.Context, *suite.Result) (*verify.Account, error)

func (o *verifyOptions) holder() (holder, error) {
	if o.dir == "" {
		tools := cudameasure.FromEnvironment()
		tools.Limit = o.timeout
		tools.Binary, _ = os.Executable() // where it is unknown, memshim looks for it
		here := &verify.Machine{Tools: &tools, Required: o.require, Pretend: o.on.Value == "pretend"}
		return here.Run, nil
	}
	records, err := cudameasure.ReadFolder(o.dir)
	if err != nil {
		return nil, regular.Plain(err)
	}
	return (&verify.Kept{Records: records, Required: o.require, Pretend: o.on.Value == "pretend"}).Compare, nil
}

func (o *verifyOptions) verifyAll(cmd *cobra.Command, cases []spec.Case, hold holder) ([]*verify.Account, error) {
	var all []*verify.Account
	var first error
	stderr := cmd.ErrOrStderr()
	live := cli.Terminal(stderr) && o.dir == "" // a run takes a while
	bar := cli.Raw(stderr)
	models, err := o.query.Models()
	if err != nil {
		return nil, err
	}
	models.JudgeAll(cmd.Context(), cases, nil, func(r *suite.Result) {
		if first != nil || cmd.Context().Err() != nil {
			return
		}
		if live {
			fmt.Fprintf(bar, "\r\033[K%d of %d: %s", len(all)+1, len(cases), r.Case.Name)
		}
		var a *verify.Account
		a, first = hold(cmd.Context(), r)
		all = append(all, a)
	})
	if live {
		fmt.Fprint(bar, "\r\033[K")
	}
	if cmd.Context().Err() != nil {
		return nil, cli.Interrupted(len(all), len(cases))
	}
	return all, first
}

// end writes the accounts and gives the exit code.
func (o *verifyOptions) end(all []*verify.Account) error {
	measured := 0
	outcomes := make([]verdict.Outcome, len(all))
	result := verifyJSON{Schema: 1, Cases: []verify.JSON{}}
	for i, a := range all {
		if len(a.Compared) > 0 {
			measured++
		}
		outcomes[i] = a.Outcome
		result.Cases = append(result.Cases, a.AsJSON())
		if a.Report != nil {
			a.Report = cli.RepositoryPaths().Report(a.Report)
		}
		if err := o.out.Add(o.accountCase(a)); err != nil {
			return err
		}
	}
	code := verdict.ExitCode(outcomes)
	if none := o.none(measured); code == cli.ExitOK && none != nil {
		code = cli.ExitUnsure
	}
	result.Exit = code
	if err := o.out.End(&format.Summary{Exit: code, Text: func(w io.Writer) error { return writeVerified(w, all) },
		JSON: result}); err != nil {
		return err
	}
	if none := o.none(measured); code == cli.ExitUnsure && none != nil {
		return &cli.Exit{Code: code, Err: none}
	}
	return cli.ExitWith(code)
}

// none says why nothing was compared with anything, where that was asked for: a machine need not
// have a case's GPU, but every one can pretend it.
func (o *verifyOptions) none(measured int) error {
	switch {
	case measured > 0:
	case o.dir != "":
		return fmt.Errorf("%s: got no record that any case can be compared with", o.dir)
	case o.on.Value == "pretend":
		return errors.New("got no case that was run on a pretend GPU, want at least one")
	}
	return nil
}

// accountCase is an account for every format: what check finds, with what was measured beside it.
func (o *verifyOptions) accountCase(a *verify.Account) *format.Case {
	c := cli.ResultCase(a.Result, o.out, true)
	c.Outcome, c.Line = a.Outcome, a.Headline()
	c.Text = func(w io.Writer) error {
		var reproduce []string
		if a.Outcome != verdict.Pass {
			reproduce = append(reproduce, a.Command(o.dir))
		}
		if a.Verdict.Outcome != verdict.Pass && a.Err == nil {
			reproduce = append(reproduce, suite.ExplainCommand(a.Case))
		}
		return a.WriteText(w, reproduce...)
	}
	c.Account = nil
	if a.Failed != nil {
		c.Findings = append(c.Findings, format.Finding{Rule: format.RuleError, Outcome: verdict.Error,
			Text: a.Failed.Error(), Pos: c.Pos})
	}
	if a.Required && len(a.Compared) == 0 && a.Failed == nil {
		c.Findings = append(c.Findings, format.Finding{Rule: format.RuleInconclusive, Outcome: verdict.Inconclusive,
			Text: a.NotMeasured(), Pos: c.Pos})
	}
	for i := range a.Compared {
		of := ""
		if len(a.Compared) > 1 {
			of = a.Compared[i].Measured.File
		}
		addMeasured(c, &a.Compared[i], of)
	}
	return c
}

// addMeasured adds one comparison: the measured peak beside a budget's own figure, every other row
// as a figure more. Of several measurements the record's file is named.
func addMeasured(c *format.Case, m *verify.Compared, file string) {
	for _, r := range m.Rows {
		predicted, measured := r.Predicted, r.Measured
		moment := r.Phase
		if moment == "peak" {
			moment = ""
		}
		if m.Where == recording.OnPretend {
			moment = strings.TrimSpace(moment + " on a pretend GPU")
		}
		if file != "" {
			moment = strings.TrimSpace(moment + " " + file)
		}
		known := false
		for i := range c.Figures {
			if f := &c.Figures[i]; f.Metric == r.Metric && f.Moment == moment {
				f.Measured, known = &measured, true
				if f.Outcome == verdict.Pass && f.Limit != nil && measured > *f.Limit {
					f.Outcome = verdict.Fail
				}
			}
		}
		if !known {
			c.Figures = append(c.Figures, format.Figure{Metric: r.Metric, Moment: moment, Outcome: verdict.Pass,
				Predicted: &predicted, Measured: &measured})
		}
	}
	for _, f := range m.Findings {
		out := format.Finding{Rule: format.RuleDisagreement, Outcome: verdict.Fail, Metric: f.Metric, Text: f.Text,
			Pos: c.Pos}
		if f.Budget {
			out.Rule = format.BudgetRule(f.Metric)
		}
		switch {
		case f.Warn:
			out.Outcome = verdict.Warn
		case f.Unknown:
			out.Rule, out.Outcome = format.RuleInconclusive, verdict.Inconclusive
		}
		c.Findings = append(c.Findings, out)
	}
}

type verifyJSON struct {
	Schema int           `json:"schema"`
	Exit   int           `json:"exit"`
	Cases  []verify.JSON `json:"cases"`
}

// writeVerified says how many accounts there were.
func writeVerified(w io.Writer, all []*verify.Account) error {
	count := [verdict.Error + 1]int{}
	missing := 0
	for _, a := range all {
		count[a.Outcome]++
		if len(a.Compared) == 0 {
			missing++
		}
	}
	text := cli.CountsText(&count)
	if missing > 0 {
		not := "not measured"
		if all[0].On == recording.OnPretend {
			not = "not run on a pretend GPU"
		}
		text += fmt.Sprintf(", %d of them %s", missing, not)
	}
	return cli.WriteLine(w, fmt.Sprintf("%s: %s", cli.Plural(len(all), "case"), text))
}
