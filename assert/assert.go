package assert

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TB is what a test must offer: testing.T does, and testify's TestingT. Helper, Name, Logf and
// Context are used where t has them.
type TB interface {
	Errorf(format string, args ...any)
}

// Measure says whether a case is also run, on this machine's GPU or on a pretend one, and compared.
type Measure uint8

// The ways. Predict is what is done where nothing is said.
const (
	Predict Measure = iota // nothing is run
	// where this machine has the case's GPU, and Python with memshim; elsewhere it is logged why
	// not
	WherePossible
	Required // a case that was not measured fails
	// on a pretend GPU of the case's device, which needs Python with torch and memshim, and no GPU;
	// a case that was not run fails
	OnPretend
)

// Likely makes the likely figure of an estimate decide, whatever judge: of the case says: memspec
// check --judge likely.
const Likely = Basis(verdict.ByLikely)

// Basis is the figure of an estimate that decides.
type Basis verdict.Basis

// An Option changes how cases are judged: a Measure or a Basis.
type Option interface{ apply(*options) }

type options struct {
	measure Measure
	basis   verdict.Basis // "" is the case's own
}

func (m Measure) apply(o *options) { o.measure = m }
func (b Basis) apply(o *options)   { o.basis = verdict.Basis(b) }

func optionsOf(list []Option) options {
	var o options
	for _, option := range list {
		option.apply(&o)
	}
	return o
}

// of is the case as the options have it judged.
func (o *options) of(c spec.Case) spec.Case {
	c.Judge = cmp.Or(o.basis, c.Judge)
	return c
}

// Case predicts one case and fails t unless every budget holds. With a measure it is also run for
// real: t fails unless every budget holds for the measured numbers too, and the two agree within
// the case's tolerance.
func Case(t TB, c spec.Case, list ...Option) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	o := optionsOf(list)
	return finish(t, judge(t, o.of(c)), machineOf(o.measure))
}

// PeakAtMost fails t if one run of the artifact allocates more than limit at once.
//
// It judges what the model itself allocates on any GPU, as torch.cuda.max_memory_allocated counts
// it: the device none, which takes no library workspace. For reserved memory, or a device's own,
// write a Case. The inputs are those written beside the artifact when it was exported
// (ARTIFACT.inputs.json); inputs given here, in the grammar of memspec --input
// (x=float32[8,3,224,224]), take their place.
func PeakAtMost(t TB, artifact string, limit units.Bytes, inputs ...string) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	c, err := peakCase(artifact, limit, inputs)
	if err != nil {
		return reportTo(t, suite.Failed(c, err))
	}
	return reportTo(t, judge(t, c))
}

// AtMost fails t if one run of the artifact on a device takes more than the limits, by metric:
// reserved and total are a device's own. The runtime is eager, the torch the newest that is known;
// for anything else write a Case. The inputs are as PeakAtMost takes them.
func AtMost(t TB, device, artifact string, limits map[report.Metric]units.Bytes, inputs ...string) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	c, err := caseOn(device, artifact, inputs)
	for _, m := range report.BudgetMetrics() {
		if limit, ok := limits[m]; ok {
			c.Budgets = append(c.Budgets, verdict.Budget{Metric: m, Limit: limit, Text: limit.Compact()})
		}
	}
	for m := range limits {
		if !slices.Contains(report.BudgetMetrics(), m) && err == nil {
			err = fmt.Errorf("got the metric %q, want one of %v", m, report.BudgetMetrics())
		}
	}
	if err != nil {
		return reportTo(t, suite.Failed(c, err))
	}
	return reportTo(t, judge(t, c))
}

// CaseOf is a case of a memspec.yaml by its name, for NoRegression and the like. It ends the test
// where there is none, if t can.
func CaseOf(t TB, path, name string) spec.Case {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	cases, err := spec.Load(path)
	if err == nil {
		var names []string
		for _, c := range cases {
			if c.Name == name {
				return c
			}
			names = append(names, c.Name)
		}
		err = fmt.Errorf("%s: got no case %q, want one of %s", path, name, strings.Join(names, ", "))
	}
	t.Errorf("memspec: %v", err)
	if f, ok := t.(interface{ FailNow() }); ok {
		f.FailNow()
	}
	return spec.Case{}
}

func peakCase(artifact string, limit units.Bytes, inputs []string) (spec.Case, error) {
	c, err := caseOn("none", artifact, inputs)
	c.Budgets = []verdict.Budget{{Metric: report.Allocated, Limit: limit, Text: limit.Compact()}}
	return c, err
}

// caseOn is one run of an artifact on a device. One whose inputs cannot be read names no artifact:
// no command would give it again.
func caseOn(name, artifact string, inputs []string) (spec.Case, error) {
	c := spec.Case{Name: artifact, Artifact: artifact}
	d, err := device.Lookup(name)
	if err != nil {
		c.Artifact = ""
		return c, err
	}
	c.Platform, _ = platform.New(d, platform.Newest()) // whose rules are known
	if len(inputs) == 0 {
		if c.Inputs, err = origin.Inputs(artifact); err != nil {
			return c, err
		}
	}
	for _, text := range inputs {
		in, err := spec.ParseInput(text)
		if err == nil {
			in, err = in.Bind(nil)
		}
		if err != nil {
			c.Artifact = ""
			return c, fmt.Errorf("input %s: %w", text, err)
		}
		c.Inputs = append(c.Inputs, in)
	}
	return c, nil
}

// File reads a memspec.yaml and runs each of its cases, as Case does, as a subtest of its name.
func File[T interface {
	TB
	Run(string, func(T)) bool
}](t T, path string, list ...Option) {
	if h, ok := any(t).(helper); ok {
		h.Helper()
	}
	cases, err := spec.Load(path)
	if err != nil {
		t.Errorf("memspec: %v", err)
	}
	models := suite.New(os.Environ())
	o := optionsOf(list)
	machine := machineOf(o.measure)
	for _, c := range cases {
		t.Run(c.Name, func(t T) {
			if h, ok := any(t).(helper); ok {
				h.Helper()
			}
			finish(t, models.Judge(contextOf(t), o.of(c)), machine)
		})
	}
}

// judge predicts a case and compares it with its budgets. What a recorded run read of the
// environment is compared with that of the test.
func judge(t TB, c spec.Case) *suite.Result {
	models := suite.New(os.Environ())
	return models.Judge(contextOf(t), c)
}

// report reports a result to t and returns its verdict.
func reportTo(t TB, r *suite.Result) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	switch r.Verdict.Outcome {
	case verdict.Pass:
		if line := r.Caution(); line != "" {
			log(t, line)
		}
	case verdict.Warn:
		log(t, message(t, r))
	default:
		models := suite.New(os.Environ())
		r.Remedies = models.Remedies(contextOf(t), r)
		t.Errorf("%s", message(t, r))
	}
	return r.Verdict
}

// helper is a t that leaves functions out of the line it names: those that call Helper themselves.
type helper interface{ Helper() }

func log(t TB, text string) {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if l, ok := t.(interface{ Logf(string, ...any) }); ok {
		l.Logf("%s", text)
	}
}

// contextOf ends a prediction with its test.
func contextOf(t TB) context.Context {
	if c, ok := t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

func valid(tolerance float64) bool { return tolerance >= 0 && !math.IsInf(tolerance, 0) }
