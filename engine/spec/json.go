package spec

import (
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// CaseJSON is a case with all defaults filled in: what memspec cases --format json says, and what a
// run for real is reported.
type CaseJSON struct {
	Name            string              `json:"name"`
	Model           string              `json:"model"`
	Spec            string              `json:"spec"`
	Dir             string              `json:"dir"`
	Artifact        string              `json:"artifact"`
	Source          string              `json:"source"`
	Program         *ProgramJSON        `json:"program"`   // null where an artifact or a source is run
	Recording       string              `json:"recording"` // Captured
	Device          DeviceJSON          `json:"device"`
	Runtime         Runtime             `json:"runtime"`
	Mode            Mode                `json:"mode"`
	Grad            Grad                `json:"grad"`
	DType           string              `json:"dtype"`
	Autocast        string              `json:"autocast"`
	Flags           FlagsJSON           `json:"flags"`
	Torch           string              `json:"torch"`
	CuDNN           string              `json:"cudnn"`
	AllocConf       string              `json:"alloc_conf"`
	CublasWorkspace string              `json:"cublas_workspace"`
	MemoryFraction  float64             `json:"memory_fraction"`
	Tolerance       float64             `json:"tolerance"`
	Dims            map[string]int64    `json:"dims"`
	Inputs          []string            `json:"inputs"`
	Lengths         map[string][]int64  `json:"lengths,omitempty"`          // of dims, for each iteration
	IterationInputs [][]string          `json:"iteration_inputs,omitempty"` // with lengths: those of each
	Assume          []AssumeJSON        `json:"assume"`
	Depends         recording.Depends   `json:"depends"`
	Training        *recording.Training `json:"training"` // null of an inference
	Budgets         []BudgetJSON        `json:"budgets"`
}

// AssumeJSON is an Assumption.
type AssumeJSON struct {
	Place  string `json:"place"`
	Size   int64  `json:"size"`
	Values string `json:"values,omitempty"` // balanced, least, most or skewed: in the place of a size
}

// DeviceJSON is what a case runs on.
type DeviceJSON struct {
	Name              string       `json:"name"`
	Memory            *units.Bytes `json:"memory"` // null: no limit
	ComputeCapability string       `json:"compute_capability"`
	SMs               int          `json:"sms"`
	Context           *units.Bytes `json:"context"` // null: not known
}

// FlagsJSON are PyTorch's flags.
type FlagsJSON struct {
	TF32Matmul    bool `json:"tf32_matmul"`
	TF32CuDNN     bool `json:"tf32_cudnn"`
	Benchmark     bool `json:"benchmark"`
	Deterministic bool `json:"deterministic"`
	CuDNNv7       bool `json:"cudnn_v7,omitempty"`
	// Attention are the backends that torch.nn.attention.sdpa_kernel is given; none for all.
	Attention []string `json:"attention,omitempty"`
}

// BudgetJSON is a budget with where it is written.
type BudgetJSON struct {
	Metric report.Metric `json:"metric"`
	Limit  units.Bytes   `json:"limit"`
	Level  string        `json:"level"`
	Text   string        `json:"text"`
	Path   string        `json:"path"`
	Spec   string        `json:"spec"`
}

// JSON is the case as programs exchange it.
func (c *Case) JSON() CaseJSON {
	p := &c.Platform
	j := CaseJSON{
		Name: c.Name, Model: c.Model, Spec: line(c.Pos), Dir: c.Dir, Artifact: c.Artifact, Source: c.Source,
		Program: c.programJSON(), Recording: c.Captured(),
		Device:  DeviceJSON{Name: p.Device.Name, ComputeCapability: p.Device.ComputeCapability.String(), SMs: p.Device.SMs},
		Runtime: c.Runtime, Mode: c.Mode, Grad: c.Grad, DType: c.DType, Autocast: p.Autocast,
		Flags: FlagsJSON{TF32Matmul: p.TF32Matmul, TF32CuDNN: p.TF32CuDNN, Benchmark: p.Benchmark,
			Deterministic: p.Deterministic, CuDNNv7: p.CuDNNv7, Attention: p.Attention.Names()},
		Torch: p.Torch.String(), CuDNN: p.CuDNN.String(), AllocConf: p.AllocConf, CublasWorkspace: p.CublasWorkspace,
		MemoryFraction: p.MemoryFraction, Tolerance: c.Tolerance, Dims: map[string]int64{}, Inputs: []string{},
		Assume: []AssumeJSON{}, Budgets: []BudgetJSON{},
		Training: trainingJSON(c.Training), Depends: recording.Depends{Ignore: orEmpty(c.Depends.Ignore),
			Also: orEmpty(c.Depends.Also)},
	}
	if p.Device.ContextKnown {
		j.Device.Context = &p.Device.Context
	}
	if p.Device.Memory > 0 {
		j.Device.Memory = &p.Device.Memory
	}
	for _, d := range c.Dims {
		j.Dims[d.Name] = d.Value
	}
	for _, in := range c.Inputs {
		j.Inputs = append(j.Inputs, in.String())
	}
	j.Lengths = c.Lengths
	for _, in := range c.IterationInputs {
		j.IterationInputs = append(j.IterationInputs, InputTexts(in))
	}
	for _, a := range c.Assume {
		j.Assume = append(j.Assume, AssumeJSON{a.Line, a.Size, a.Values})
	}
	for i := range c.Budgets {
		j.Budgets = append(j.Budgets, budgetAsJSON(&c.Budgets[i]))
	}
	return j
}

func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// trainingJSON never says null where it means that there is no argument.
func trainingJSON(t *recording.Training) *recording.Training {
	if t == nil || t.Arguments != nil {
		return t
	}
	out := *t
	out.Arguments = map[string]any{}
	return &out
}

func budgetAsJSON(b *verdict.Budget) BudgetJSON {
	return BudgetJSON{Metric: b.Metric, Limit: b.Limit, Level: b.Level.String(), Text: b.Text, Path: b.Path,
		Spec: line(b.Pos)}
}

// line is file:line, as JSON promises.
func line(p Pos) string {
	p.Col = 0
	return p.String()
}
