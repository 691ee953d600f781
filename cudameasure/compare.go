package cudameasure

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// Row is one number, predicted and measured.
type Row struct {
	Phase     string        `json:"phase"` // baseline, first, steady, or peak: over the whole run
	Metric    report.Metric `json:"metric"`
	Predicted units.Bytes   `json:"predicted"`
	Measured  units.Bytes   `json:"measured"`
}

// Difference is what was measured less what was predicted. Above 0 the prediction was too low, the
// worse kind: a budget can be broken unseen.
func (r *Row) Difference() units.Bytes { return r.Measured - r.Predicted }

// Under says that the prediction was too low.
func (r *Row) Under() bool { return r.Measured > r.Predicted }

// requestedMetric is in the table beside the metrics that a budget can be put on.
const requestedMetric report.Metric = "requested"

// Finding is something that does not hold: a budget that the measured number breaks, or the
// agreement of the two.
type Finding struct {
	Metric  report.Metric `json:"metric"`
	Text    string        `json:"text"`
	Warn    bool          `json:"warn"`    // a budget of level warn
	Under   bool          `json:"under"`   // a disagreement of the worse kind
	Unknown bool          `json:"unknown"` // nothing is broken, but something could not be judged
	Budget  bool          `json:"-"`       // a budget, not the agreement of the two
}

// Comparison is a prediction compared with a measurement.
type Comparison struct {
	Where    recording.Where `json:"-"`        // of the measurement
	Rows     []Row           `json:"rows"`     // by metric, each by phase
	Findings []Finding       `json:"findings"` // budgets in their order, then disagreements
}

// Compare compares a prediction with a measurement made on a GPU, or on a pretend GPU, which every
// text then says. They disagree where the peak allocated or the peak reserved is further than
// tolerance (0.01 is 1%) of the predicted one from it; exactly at it they agree. An incomplete
// prediction is not held to that.
func Compare(predicted *report.Report, m *Measurement, tolerance float64) (*Comparison, error) {
	if !m.Where.Allocator() {
		return nil, errors.New("got a record on CPU tensors, want one made on a GPU: the two are not to be compared")
	}
	c := &Comparison{Where: m.Where, Rows: []Row{}, Findings: []Finding{}}
	c.rows(predicted, m)
	if m.OOM != nil { // the peaks are those of a run that stopped
		return c, nil
	}
	for _, metric := range []report.Metric{report.Allocated, report.Reserved} {
		want, _ := predicted.Value(metric)
		got, _ := m.Value(metric) // a record of an allocator has both
		if math.Abs(float64(got-want)) > tolerance*float64(want) {
			f := Finding{Metric: metric, Under: got > want,
				Text: fmt.Sprintf("peak %s %s %s (%s), %s", metric, Measured(m.Where), got, got.Exact(),
					disagreement(want, got, tolerance))}
			if predicted.Quality == report.Incomplete {
				f.Unknown = true
				f.Text += "; the prediction is incomplete"
			}
			c.Findings = append(c.Findings, f)
		}
	}
	return c, nil
}

// Measured is how what was recorded is called: a pretend GPU measures nothing.
func Measured(w recording.Where) string {
	if w == recording.OnPretend {
		return "on a pretend GPU"
	}
	return "measured"
}

func disagreement(want, got units.Bytes, tolerance float64) string {
	kind, by := "over-estimated", want-got
	if got > want {
		kind, by = "UNDER-ESTIMATED", got-want
	}
	return fmt.Sprintf("predicted %s (%s): %s by %s (%s), tolerance %s", want, want.Exact(), kind, by,
		signedPercent(got-want, want), tolerancePercent(tolerance))
}

func (c *Comparison) rows(r *report.Report, m *Measurement) {
	type column struct {
		metric   report.Metric
		of       func(report.Sizes) units.Bytes
		measured func(*recording.Pass) *units.Bytes
	}
	for _, col := range []column{
		{requestedMetric, func(s report.Sizes) units.Bytes { return s.Requested }, requested},
		{report.Allocated, func(s report.Sizes) units.Bytes { return s.Allocated }, allocated},
		{report.Reserved, func(s report.Sizes) units.Bytes { return s.Reserved }, reserved},
	} {
		add := func(phase string, s report.Sizes) {
			if got, ok := mostIn(m, phase, col.measured); ok {
				c.Rows = append(c.Rows, Row{Phase: phase, Metric: col.metric, Predicted: col.of(s), Measured: got})
			}
		}
		add(recording.Baseline, r.Baseline)
		for _, p := range r.Passes {
			add(p.Name, p.Peak)
		}
		peak := report.Sizes{Requested: r.Peak.Requested, Allocated: r.Peak.Allocated, Reserved: r.Peak.Reserved}
		whole := m.peakOfCalls
		if col.metric == report.Reserved {
			whole = m.Peak
		}
		if got, ok := whole(col.measured); ok && m.OOM == nil {
			c.Rows = append(c.Rows, Row{Phase: "peak", Metric: col.metric, Predicted: col.of(peak), Measured: got})
		}
	}
	// of the whole run; a total is not known without the context's cost
	for _, metric := range []report.Metric{report.Delta, report.Total} {
		want, predicted := r.Value(metric)
		got, measured := m.Value(metric)
		if predicted && measured && m.OOM == nil {
			c.Rows = append(c.Rows, Row{Phase: "peak", Metric: metric, Predicted: want, Measured: got})
		}
	}
}

// mostIn is the most over the passes of a name: the steady ones of a training run are many. false
// where the run did not come to one.
func mostIn(m *Measurement, name string, of func(*recording.Pass) *units.Bytes) (most units.Bytes, ok bool) {
	for i := range m.Passes {
		if p := &m.Passes[i]; p.Name == name && !m.Stopped(p) {
			most, ok = max(most, *of(p)), true
		}
	}
	return most, ok
}

// ranOut says when memory ended, and who held it then: what follows how the run is called.
func ranOut(o *recording.OutOfMemory) string {
	when := "in the " + o.Pass + " pass"
	if o.Pass == recording.Baseline {
		when = "while the model was loaded"
	}
	text := fmt.Sprintf(" out of memory %s: %s", when, o.Text)
	for i, h := range o.Held[:min(len(o.Held), 3)] {
		at := fmt.Sprintf("%s:%d (%s)", h.File, h.Line, h.Function)
		if h.File == "" {
			at = "the model and its inputs"
		}
		text += []string{"; held then: ", ", "}[min(i, 1)] + h.Bytes.String() + " by " + at
	}
	return text
}

// Verify is Compare with the case's own tolerance, and its budgets judged by the measured numbers.
func Verify(c *spec.Case, predicted *report.Report, m *Measurement) (*Comparison, error) {
	out, err := Compare(predicted, m, c.Tolerance)
	if err != nil {
		return nil, err
	}
	disagreements := out.Findings
	out.Findings = []Finding{}
	if m.OOM != nil {
		out.Findings = append(out.Findings, Finding{Metric: report.Reserved, Under: predicted.OOM == nil,
			Text: Measured(m.Where) + ranOut(m.OOM)})
	}
	for i := range c.Budgets {
		b := &c.Budgets[i]
		got, known := m.Value(b.Metric)
		warn := b.Level == verdict.LevelWarn
		switch {
		case !known:
			out.Findings = append(out.Findings,
				Finding{Metric: b.Metric, Budget: true, Warn: warn, Unknown: true,
					Text: fmt.Sprintf("%s was not measured, budget %s", b.Metric, b.Limit)})
		case got > b.Limit:
			pos := b.Pos
			pos.Col = 0
			text := fmt.Sprintf("%s %s %s (%s), budget %s (%s): over by %s", Measured(m.Where), b.Metric, got,
				got.Exact(), b.Limit, b.Limit.Exact(), got-b.Limit)
			if b.Limit > 0 {
				text += " (" + signedPercent(got-b.Limit, b.Limit) + ")"
			}
			if at := pos.String(); at != "" {
				text += ", " + at
			}
			out.Findings = append(out.Findings, Finding{Metric: b.Metric, Budget: true, Warn: warn, Text: text})
		}
	}
	out.Findings = append(out.Findings, disagreements...)
	return out, nil
}

// Broken says that a budget is broken (one of level warn apart) or that the two disagree.
func (c *Comparison) Broken() bool {
	return c.has(func(f *Finding) bool { return !f.Warn && !f.Unknown })
}

// Unsure says that something could not be judged: a budget that was not measured, an incomplete
// prediction.
func (c *Comparison) Unsure() bool {
	return c.has(func(f *Finding) bool { return !f.Warn && f.Unknown })
}

// Warns says that a budget of level warn does not hold.
func (c *Comparison) Warns() bool { return c.has(func(f *Finding) bool { return f.Warn }) }

func (c *Comparison) has(is func(*Finding) bool) bool {
	for i := range c.Findings {
		if is(&c.Findings[i]) {
			return true
		}
	}
	return false
}

// WriteTable writes predicted and measured, two spaces in.
func (c *Comparison) WriteTable(w io.Writer) error {
	column := "measured"
	if c.Where == recording.OnPretend {
		column = "pretend"
	}
	t := layout.NewTable("rrrrrl")
	t.Add("", "predicted", column, "difference", "%", "")
	for i := range c.Rows {
		r := &c.Rows[i]
		mark := ""
		if r.Under() {
			mark = "UNDER"
		}
		t.Add(fmt.Sprintf("%s %s", r.Phase, r.Metric), r.Predicted.Exact(), r.Measured.Exact(), signed(r.Difference()),
			signedPercent(r.Difference(), r.Predicted), mark)
	}
	p := layout.To(w)
	p.Table(2, t)
	return p.Err
}

func signed(b units.Bytes) string {
	if b > 0 {
		return "+" + b.Exact()
	}
	return b.Exact()
}

// signedPercent is a part of a whole: +1.5%, -0.2%, 0%; n/a of nothing. What is not zero is not
// printed as 0%.
func signedPercent(part, whole units.Bytes) string {
	switch {
	case part == 0:
		return "0%"
	case whole == 0:
		return "n/a"
	}
	p := 100 * float64(part) / float64(whole)
	if text := fmt.Sprintf("%+.1f%%", p); !strings.HasSuffix(text, "0.0%") || math.Abs(p) >= 1 {
		return text
	}
	return fmt.Sprintf("%+.2g%%", p)
}

func tolerancePercent(t float64) string { return fmt.Sprintf("%.4g%%", 100*t) }

// WhyNot says why a record cannot be compared with a case's prediction; empty where it can.
func WhyNot(c *spec.Case, m *Measurement) string {
	if m.Where == recording.OnCPU {
		return "recorded on CPU tensors: there is no allocator's number to compare with"
	}
	var parts []string
	add := func(what, got, want string) {
		if got != want {
			parts = append(parts, fmt.Sprintf("%s %q, the case says %q", what, got, want))
		}
	}
	if !sameDevice(c, &m.Device) {
		parts = append(parts, fmt.Sprintf("%s, the case is for %s", m.Device.Name, c.Platform.Device.Name))
	}
	if !c.Platform.Torch.Covers(m.Torch) {
		add("torch", m.Torch, c.Platform.Torch.String())
	}
	if want := c.Platform.CuDNN; m.CuDNN != "" && !strings.HasPrefix(want.String()+".", m.CuDNN+".") &&
		!want.Covers(m.CuDNN) {
		// its plans and their workspaces are others; PyTorch reports three numbers of four
		add("cuDNN", m.CuDNN, want.String())
	}
	add("runtime", m.Runtime, cmp.Or(string(c.Runtime), string(spec.Eager)))
	p := &c.Platform
	add("mode", m.Mode, string(c.Mode))
	add("grad", m.Grad, string(c.Grad))
	add("dtype", m.DType, c.DType)
	add("autocast", m.Autocast, p.Autocast)
	add("alloc_conf", m.AllocConf, p.AllocConf)
	add("cublas_workspace", m.CublasWorkspace, p.CublasWorkspace)
	add("memory_fraction", fmt.Sprint(m.MemoryFraction), fmt.Sprint(p.MemoryFraction))
	add("flags", flagText(m.Flags), flagText(flagsOf(c)))
	add("inputs", strings.Join(m.Inputs, "; "), strings.Join(inputsOf(c), "; "))
	if len(parts) == 0 {
		return ""
	}
	return Measured(m.Where) + " with " + strings.Join(parts, "; ")
}

func flagText(f recording.Flags) string {
	var on []string
	for _, flag := range []struct {
		name string
		on   bool
	}{{"tf32_matmul", f.TF32Matmul}, {"tf32_cudnn", f.TF32CuDNN}, {"benchmark", f.Benchmark},
		{"deterministic", f.Deterministic}, {"cudnn_v7", f.CuDNNv7}} {
		if flag.on {
			on = append(on, flag.name)
		}
	}
	if len(f.Attention) > 0 {
		on = append(on, "attention "+strings.Join(f.Attention, ", "))
	}
	return strings.Join(on, " ")
}

// sameDevice says whether a GPU is the case's: by its multiprocessors where they are reported, as a
// pretend one may have more memory than the card.
func sameDevice(c *spec.Case, d *recording.Device) bool {
	if d.SMs > 0 {
		return d.ComputeCapability == c.Platform.Device.ComputeCapability.String() && d.SMs == c.Platform.Device.SMs
	}
	return d.Total != nil && c.Platform.Device.Is(d.ComputeCapability, *d.Total)
}

// DeviceOf is the first of the GPUs that is the case's.
func DeviceOf(c *spec.Case, devices []Device) (Device, bool) {
	for _, d := range devices {
		if sameDevice(c, &recording.Device{Name: d.Name, Total: &d.Total, ComputeCapability: d.ComputeCapability}) {
			return d, true
		}
	}
	return Device{}, false
}
