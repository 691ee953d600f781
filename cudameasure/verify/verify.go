// Package verify compares the prediction of a case with what the case took when it was really run.
//
// It turns a suite.Result and measurements (records made elsewhere, or a run on this machine's GPU)
// into an Account: the outcome of both, a table of predicted and measured, and where the two
// streams of events first part. memspec verify and package assert print the same account.
//
// A measurement is compared only where it says of itself that it is this case's: name, device,
// torch, runtime, inputs and settings. What was left out says why. Nothing passes by accident:
// where a measurement is required and there is none, the outcome is inconclusive.
package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/verdict"
)

// An Account is one case with the measurements that were compared with its prediction, and those
// that could not be.
type Account struct {
	// the prediction; of a case that has a source alone and no recording, what a run on a pretend
	// GPU recorded
	*suite.Result
	Outcome  verdict.Outcome // of the prediction and of every comparison, the worst
	Compared []Compared
	Skipped  []Skipped
	Failed   error           // the run that ended in the model's error; nil where none did
	Required bool            // a case without a measurement is inconclusive
	On       recording.Where // what it was to be run on: OnCUDA or OnPretend
}

// Compared is a prediction compared with one measurement.
type Compared struct {
	*cudameasure.Comparison
	Measured *cudameasure.Measurement
	Aligned  bool // the measurement has events
	// where the streams of events first part; nil where they do not, or have not been aligned
	Parts *trace.Divergence
}

// Skipped is a measurement that says nothing of the case, or that could not be made.
type Skipped struct {
	File string `json:"file"` // of the record; empty for a run on this machine
	Why  string `json:"why"`
}

// Kept are the records of runs made before.
type Kept struct {
	Records  []*cudameasure.Measurement
	Required bool // a case without one is inconclusive
	Pretend  bool // those of pretend GPUs are compared, and those of real ones left out; else the other way around
}

// Compare compares a prediction with those of the records that are its case's. The error is a
// record's.
func (k *Kept) Compare(ctx context.Context, r *suite.Result) (*Account, error) {
	a := &Account{Result: r, Outcome: r.Verdict.Outcome, Required: k.Required, On: recording.OnCUDA}
	if k.Pretend {
		a.On = recording.OnPretend
	}
	for _, m := range k.Records {
		if m.Case != r.Case.Name {
			continue
		}
		switch {
		case m.Where == recording.OnPretend && !k.Pretend:
			a.Skipped = append(a.Skipped,
				Skipped{File: m.File, Why: "recorded on a pretend GPU: no GPU took these numbers"})
			continue
		case m.Where == recording.OnCUDA && k.Pretend:
			a.Skipped = append(a.Skipped,
				Skipped{File: m.File, Why: "measured on a GPU, and what pretend ones took was asked for"})
			continue
		}
		if err := a.add(ctx, m); err != nil {
			return a, fmt.Errorf("%s: %w", m.File, err)
		}
	}
	a.end()
	return a, nil
}

// A Machine runs cases on this machine's GPUs, or on pretend ones. The zero value has the tools
// that the environment names; several goroutines may use it.
type Machine struct {
	Tools    *cudameasure.Tools
	Required bool // a case that cannot be run here is inconclusive
	Pretend  bool // on a pretend GPU of the case's device, whatever this machine has

	once    sync.Once
	devices []cudameasure.Device
	err     error // why there are none
	running sync.Mutex
}

// Run runs a case and compares its prediction with it. Where this machine lacks the case's GPU, or
// what it takes to run it, nothing is run and the account says so. One case is run at a time: what
// a device has in use is the run's own. The error is the context's.
func (h *Machine) Run(ctx context.Context, r *suite.Result) (*Account, error) {
	a := &Account{Result: r, Outcome: r.Verdict.Outcome, Required: h.Required, On: recording.OnCUDA}
	if h.Pretend {
		a.On = recording.OnPretend
	}
	why, err := h.run(ctx, a)
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	if err != nil {
		a.Failed = err
		a.Outcome = verdict.Worst(a.Outcome, verdict.Error)
	}
	if why != "" {
		a.Skipped = append(a.Skipped, Skipped{Why: why})
	}
	a.end()
	return a, nil
}

func (h *Machine) run(ctx context.Context, a *Account) (why string, err error) {
	h.running.Lock()
	defer h.running.Unlock()
	h.once.Do(func() {
		if h.Tools == nil {
			t := cudameasure.FromEnvironment()
			h.Tools = &t
		}
		if !h.Pretend {
			h.devices, h.err = h.Tools.Devices(ctx)
		}
	})
	if h.Pretend {
		if a.Case.Platform.IsNone() {
			return "the device none is no GPU that could be pretended", nil
		}
		return a.ran(ctx, h.Tools.RunPretended)
	}
	if h.err != nil {
		return h.err.Error(), nil
	}
	device, ok := cudameasure.DeviceOf(&a.Case, h.devices)
	if !ok {
		return fmt.Sprintf("this machine has %s, the case is for %s", names(h.devices), a.Case.Platform.Device.Name),
			nil
	}
	tools := *h.Tools
	if _, said := os.LookupEnv("CUDA_VISIBLE_DEVICES"); !said && len(h.devices) > 1 {
		tools.Device = device.UUID
	}
	return a.ran(ctx, tools.Run)
}

// ran runs the case and compares it; why not, where it could not be run.
func (a *Account) ran(
	ctx context.Context, run func(context.Context, spec.Case) (*cudameasure.Measurement, error),
) (why string, err error) {
	m, err := run(ctx, a.Case)
	switch {
	case errors.Is(err, cudameasure.ErrNoDevice), errors.Is(err, cudameasure.ErrNoPretend),
		errors.Is(err, cudameasure.ErrNoPython), errors.Is(err, cudameasure.ErrNothing):
		var run *cudameasure.RunError
		if errors.As(err, &run) {
			return run.Why(), nil
		}
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	if missing := new(origin.Uncaptured); a.On == recording.OnPretend && errors.As(a.Err, &missing) &&
		cudameasure.WhyNot(&a.Case, m) == "" {
		a.Result = suite.JudgeRecording(ctx, a.Case, &m.Recording) // it is predicted from a recording, and this is one
		a.Outcome = a.Verdict.Outcome
	}
	return "", a.add(ctx, m)
}

func names(ds []cudameasure.Device) string {
	text := ""
	for i, d := range ds {
		if i > 0 {
			text += ", "
		}
		text += d.Name
	}
	return text
}

// add compares one measurement of the case, or says why not.
func (a *Account) add(ctx context.Context, m *cudameasure.Measurement) error {
	why := cudameasure.WhyNot(&a.Case, m)
	if why == "" && a.Err != nil {
		why = "there is no prediction"
	}
	if why != "" {
		a.Skipped = append(a.Skipped, Skipped{File: m.File, Why: why})
		return nil
	}
	c, err := a.compare(m)
	if err != nil {
		return err
	}
	a.Compared = append(a.Compared, c)
	switch {
	case c.Broken():
		a.Outcome = verdict.Worst(a.Outcome, verdict.Fail)
	case c.Unsure():
		a.Outcome = verdict.Worst(a.Outcome, verdict.Inconclusive)
	case c.Warns():
		a.Outcome = verdict.Worst(a.Outcome, verdict.Warn)
	}
	return nil
}

func (a *Account) compare(m *cudameasure.Measurement) (Compared, error) {
	out := Compared{Measured: m}
	var err error
	if out.Comparison, err = cudameasure.Verify(&a.Case, a.Report, m); err != nil || len(m.Events) == 0 {
		return out, err
	}
	got, err := m.Trace()
	if err != nil {
		return out, err
	}
	out.Aligned, out.Parts = true, trace.Align(a.Result.Run.Trace, got, trace.Memory)
	return out, nil
}

// end judges what is missing.
func (a *Account) end() {
	if a.Required && len(a.Compared) == 0 {
		a.Outcome = verdict.Worst(a.Outcome, verdict.Inconclusive)
	}
}
