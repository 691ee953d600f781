package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

type verifyOptions struct {
	dir           string
	require, json bool
	timeout       time.Duration
}

func newVerify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [memspec.yaml] [--measured DIR]",
		Short: "Hold predictions against measurements: recorded ones, or runs on this machine's GPU",
		Long: `Predict every case of a memspec.yaml and hold it against what it took when it was run: against the records in a folder
(python -m memshim measure writes them), or without --measured by running the cases whose GPU this machine has, each in a fresh process
(python -m memshim; MEMSPEC_PYTHON names the Python). A record is a case's by what it says of itself: name, device, torch, runtime, inputs and
flags. Records made on CPU tensors are compared with nothing.

Exit codes: 2 if the file or a record cannot be read; else 1 if a budget is broken by the predicted or the measured number, or the two are
further apart than the case's tolerance; else 2 if a case cannot be predicted or its model fails; else 3 if something could not be judged, a
case without a measurement under --require is, or no case has a record in the folder given; else 0.`,
		Example: `  memspec verify --measured measured
  memspec verify models/memspec.yaml --measured measured --case 'resnet50[*]' --require
  memspec verify --require                     # on a machine with the GPU`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dir, "measured", "", "the `FOLDER` of measurement records; without it the cases are run here")
	_ = cmd.MarkFlagDirname("measured")
	fs.BoolVar(&o.require, "require", false, "a case without a measurement is inconclusive: exit 3")
	fs.DurationVar(&o.timeout, "timeout", cudameasure.DefaultLimit, "for running one case here")
	complete(cmd, "timeout")
	patterns := caseFlag(cmd)
	profile := scratchFlag(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = format.value == "json"
		if o.timeout <= 0 {
			return fmt.Errorf("--timeout: got %s, want more than 0", o.timeout)
		}
		if fs.Changed("measured") && o.dir == "" {
			return errors.New("--measured: got no folder, want that of the records that python -m memshim measure wrote")
		}
		cases, err := loadCases(specPath(args), *patterns)
		if err != nil {
			return err
		}
		if err := useProfile(cases, *profile); err != nil {
			return err
		}
		hold, err := o.holder()
		if err != nil {
			return err
		}
		all, err := o.verifyAll(cmd, cases, hold)
		if err != nil {
			return err
		}
		return o.end(cmd, all)
	}
	return cmd
}

// A holder holds one prediction against what was measured.
type holder func(context.Context, *engine.Result) (*verify.Account, error)

func (o *verifyOptions) holder() (holder, error) {
	if o.dir == "" {
		tools := cudameasure.FromEnvironment()
		tools.Limit = o.timeout
		here := &verify.Machine{Tools: &tools, Required: o.require}
		return here.Run, nil
	}
	records, err := cudameasure.ReadFolder(o.dir)
	if err != nil {
		return nil, plainPathError(err)
	}
	return func(ctx context.Context, r *engine.Result) (*verify.Account, error) {
		return verify.Records(ctx, r, records, o.require)
	}, nil
}

func (o *verifyOptions) verifyAll(cmd *cobra.Command, cases []spec.Case, hold holder) ([]*verify.Account, error) {
	var all []*verify.Account
	var first error
	stderr := cmd.ErrOrStderr()
	live := terminal(stderr) && o.dir == "" // a run takes a while
	bar := raw(stderr)
	var models engine.Models
	models.JudgeAll(cmd.Context(), cases, nil, func(r *engine.Result) {
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
		return nil, fmt.Errorf("interrupted")
	}
	return all, first
}

// end writes the accounts and gives the exit code.
func (o *verifyOptions) end(cmd *cobra.Command, all []*verify.Account) error {
	measured := 0
	outcomes := make([]verdict.Outcome, len(all))
	for i, a := range all {
		if len(a.Compared) > 0 {
			measured++
		}
		outcomes[i] = a.Outcome
	}
	code := verdict.ExitCode(outcomes)
	if code == exitOK && measured == 0 && o.dir != "" {
		code = exitUnsure
	}
	var err error
	if o.json {
		out := verifyJSON{Schema: 1, Exit: code, Cases: []verify.JSON{}}
		for _, a := range all {
			out.Cases = append(out.Cases, a.AsJSON())
		}
		err = report.EncodeJSON(cmd.OutOrStdout(), out)
	} else {
		err = o.write(cmd.OutOrStdout(), all)
	}
	if err != nil {
		return err
	}
	if code == exitUnsure && measured == 0 && o.dir != "" {
		return &exit{code: code, err: fmt.Errorf("%s: got no record that any case can be held against", o.dir)}
	}
	return exitWith(code)
}

type verifyJSON struct {
	Schema int           `json:"schema"`
	Exit   int           `json:"exit"`
	Cases  []verify.JSON `json:"cases"`
}

// write writes every account, then how many there were.
func (o *verifyOptions) write(w io.Writer, all []*verify.Account) error {
	count := [verdict.Error + 1]int{}
	missing := 0
	for _, a := range all {
		count[a.Outcome]++
		if len(a.Compared) == 0 {
			missing++
		}
		var reproduce []string
		if a.Outcome != verdict.Pass {
			reproduce = append(reproduce, verify.Command(a.Case, o.dir))
		}
		if a.Verdict.Outcome != verdict.Pass && a.Err == nil {
			reproduce = append(reproduce, engine.ExplainCommand(a.Case))
		}
		if err := a.WriteText(w, reproduce...); err != nil {
			return err
		}
	}
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Fail, verdict.Error, verdict.Inconclusive} {
		if count[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[o], o))
		}
	}
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of them not measured", missing))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", plural(len(all), "case"), strings.Join(parts, ", "))
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
