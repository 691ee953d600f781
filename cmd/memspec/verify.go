package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A verified is one case with the records that were held against its prediction, and those that could not be.
type verified struct {
	*engine.Result
	outcome  verdict.Outcome // of the prediction and of every comparison, the worst
	compared []compared
	skipped  []skipped
}

type compared struct {
	*cudameasure.Comparison
	record *cudameasure.Measurement
	parts  *trace.Divergence // where the event streams first part; nil where they do not, or align is false
	align  bool              // the record has events
}

type skipped struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

func newVerify() *cobra.Command {
	var dir string
	var require bool
	cmd := &cobra.Command{
		Use:   "verify [memspec.yaml] --measured DIR",
		Short: "Hold predictions against recorded measurements",
		Long: `Predict every case of a memspec.yaml and hold it against the measurement records in a folder (python -m memshim measure writes them).
A record is a case's by what it says of itself: name, device, torch, runtime, inputs and flags. Records made on CPU tensors are compared with nothing.

Exit codes: 2 if the file or a record cannot be read; else 1 if a budget is broken by the predicted or the measured number, or the two are
further apart than the case's tolerance; else 2 if a case cannot be predicted; else 3 if something could not be judged, a case without a record
under --require is, or no case has a record at all; else 0.`,
		Example: `  memspec verify --measured measured
  memspec verify models/memspec.yaml --measured measured --case 'resnet50[*]' --require`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	cmd.Flags().StringVar(&dir, "measured", "", "the `FOLDER` of measurement records")
	_ = cmd.MarkFlagDirname("measured")
	cmd.Flags().BoolVar(&require, "require", false, "a case without a record is inconclusive: exit 3")
	patterns := caseFlag(cmd)
	profile := scratchFlag(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dir == "" {
			return errors.New("got no --measured, want the folder of records that python -m memshim measure wrote")
		}
		cases, err := loadCases(specPath(args), *patterns)
		if err != nil {
			return err
		}
		if err := useProfile(cases, *profile); err != nil {
			return err
		}
		records, err := cudameasure.ReadFolder(dir)
		if err != nil {
			return plainPathError(err)
		}
		all, err := verifyAll(cmd, cases, records)
		if err != nil {
			return err
		}
		return endVerify(cmd, all, verifyOptions{dir: dir, require: require, json: format.value == "json"})
	}
	return cmd
}

func verifyAll(cmd *cobra.Command, cases []spec.Case, records []*cudameasure.Measurement) ([]*verified, error) {
	var all []*verified
	var first error
	bar := newProgress(cmd.ErrOrStderr(), len(cases))
	var models engine.Models
	models.JudgeAll(cmd.Context(), cases, bar.step, func(r *engine.Result) {
		v, err := verifyOne(cmd, r, records)
		if err != nil && first == nil {
			first = err
		}
		all = append(all, v)
	})
	bar.clear()
	if cmd.Context().Err() != nil {
		return nil, fmt.Errorf("interrupted")
	}
	return all, first
}

func verifyOne(cmd *cobra.Command, r *engine.Result, records []*cudameasure.Measurement) (*verified, error) {
	v := &verified{Result: r, outcome: r.Verdict.Outcome}
	for _, m := range records {
		if m.Case != r.Case.Name {
			continue
		}
		why := cudameasure.WhyNot(&r.Case, m)
		if why == "" && r.Err != nil {
			why = "there is no prediction"
		}
		if why != "" {
			v.skipped = append(v.skipped, skipped{File: m.File, Why: why})
			continue
		}
		c, err := compareOne(cmd, r, m)
		if err != nil {
			return v, fmt.Errorf("%s: %w", m.File, err)
		}
		v.compared = append(v.compared, c)
		switch {
		case c.Broken():
			v.outcome = worse(v.outcome, verdict.Fail)
		case c.Unsure():
			v.outcome = worse(v.outcome, verdict.Inconclusive)
		case c.Warns():
			v.outcome = worse(v.outcome, verdict.Warn)
		}
	}
	return v, nil
}

func compareOne(cmd *cobra.Command, r *engine.Result, m *cudameasure.Measurement) (compared, error) {
	out := compared{record: m}
	var err error
	if out.Comparison, err = cudameasure.Verify(&r.Case, r.Report, m); err != nil || len(m.Events) == 0 {
		return out, err
	}
	got, err := m.Trace()
	if err != nil {
		return out, err
	}
	model, err := engine.Open(r.Case.Artifact)
	if err != nil {
		return out, err
	}
	want, err := model.Trace(cmd.Context(), r.Case)
	if err != nil {
		return out, err
	}
	out.align, out.parts = true, trace.Align(want, got, trace.Memory)
	return out, nil
}

// worse is the outcome of two that decides: a failure before an error before what is inconclusive.
func worse(a, b verdict.Outcome) verdict.Outcome {
	order := []verdict.Outcome{verdict.Fail, verdict.Error, verdict.Inconclusive, verdict.Warn}
	for _, o := range order {
		if a == o || b == o {
			return o
		}
	}
	return verdict.Pass
}

type verifyOptions struct {
	dir           string
	require, json bool
}

func endVerify(cmd *cobra.Command, all []*verified, o verifyOptions) error {
	measured := 0
	outcomes := make([]verdict.Outcome, len(all))
	for i, v := range all {
		if len(v.compared) > 0 {
			measured++
		} else if o.require {
			v.outcome = worse(v.outcome, verdict.Inconclusive)
		}
		outcomes[i] = v.outcome
	}
	code := verdict.ExitCode(outcomes)
	if code == exitOK && measured == 0 {
		code = exitUnsure
	}
	var err error
	if o.json {
		err = report.EncodeJSON(cmd.OutOrStdout(), verifyAsJSON(all, code))
	} else {
		err = writeVerify(cmd.OutOrStdout(), all, o.require)
	}
	if err != nil {
		return err
	}
	if code == exitUnsure && measured == 0 {
		return &exit{code: code, err: fmt.Errorf("%s: got no record that any case can be held against", o.dir)}
	}
	return exitWith(code)
}

type verifyJSON struct {
	Schema int              `json:"schema"`
	Exit   int              `json:"exit"`
	Cases  []verifyCaseJSON `json:"cases"`
}

type verifyCaseJSON struct {
	Name      string          `json:"name"`
	Spec      string          `json:"spec"`
	Outcome   verdict.Outcome `json:"outcome"`
	Predicted verdict.Outcome `json:"predicted"` // what check says
	Error     string          `json:"error"`
	Measured  []comparedJSON  `json:"measured"`
	Skipped   []skipped       `json:"skipped"`
}

type comparedJSON struct {
	File     string                `json:"file"`
	Device   string                `json:"device"`
	Torch    string                `json:"torch"`
	Rows     []rowJSON             `json:"rows"`
	Findings []cudameasure.Finding `json:"findings"`
	Events   *eventsJSON           `json:"events"` // null: the record has none
}

type rowJSON struct {
	cudameasure.Row
	Difference units.Bytes `json:"difference"` // measured less predicted: above 0 is an under-estimate
	Under      bool        `json:"under"`
}

type eventsJSON struct {
	Agree     bool   `json:"agree"`
	Compared  int    `json:"compared"` // that agree; 0 where all do
	Why       string `json:"why"`
	Predicted string `json:"predicted"`
	Measured  string `json:"measured"`
}

func verifyAsJSON(all []*verified, code int) verifyJSON {
	out := verifyJSON{Schema: 1, Exit: code, Cases: []verifyCaseJSON{}}
	for _, v := range all {
		j := verifyCaseJSON{Name: v.Case.Name, Spec: lineOf(v.Case.Pos), Outcome: v.outcome, Predicted: v.Verdict.Outcome, Measured: []comparedJSON{}, Skipped: v.skipped}
		if v.Err != nil {
			j.Error = v.Err.Error()
		}
		if j.Skipped == nil {
			j.Skipped = []skipped{}
		}
		for _, c := range v.compared {
			j.Measured = append(j.Measured, c.asJSON())
		}
		out.Cases = append(out.Cases, j)
	}
	return out
}

func (c *compared) asJSON() comparedJSON {
	j := comparedJSON{File: filepath.ToSlash(c.record.File), Device: c.record.Device.Name, Torch: c.record.Torch, Rows: []rowJSON{}, Findings: c.Findings}
	for _, r := range c.Rows {
		j.Rows = append(j.Rows, rowJSON{Row: r, Difference: r.Difference(), Under: r.Under()})
	}
	if c.align {
		j.Events = &eventsJSON{Agree: c.parts == nil}
		if d := c.parts; d != nil {
			j.Events.Compared, j.Events.Why, j.Events.Predicted, j.Events.Measured = d.Compared, d.Why, d.AText, d.BText
		}
	}
	return j
}
