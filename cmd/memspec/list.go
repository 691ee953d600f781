package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// casesJSON is every case with everything that running it for real needs, so that who measures need not read YAML.
type casesJSON struct {
	Schema int            `json:"schema"`
	Cases  []caseSpecJSON `json:"cases"`
}

type caseSpecJSON struct {
	Name            string         `json:"name"`
	Model           string         `json:"model"`
	Spec            string         `json:"spec"`
	Dir             string         `json:"dir"`
	Artifact        string         `json:"artifact"`
	Source          string         `json:"source"`
	Device          caseDeviceJSON `json:"device"`
	Runtime         spec.Runtime   `json:"runtime"`
	Mode            spec.Mode      `json:"mode"`
	Grad            spec.Grad      `json:"grad"`
	DType           string         `json:"dtype"`
	Autocast        string         `json:"autocast"`
	Flags           caseFlagsJSON  `json:"flags"`
	Torch           string         `json:"torch"`
	CuDNN           string         `json:"cudnn"`
	AllocConf       string         `json:"alloc_conf"`
	CublasWorkspace string         `json:"cublas_workspace"`
	MemoryFraction  float64        `json:"memory_fraction"`
	Tolerance       float64        `json:"tolerance"`
	Inputs          []string       `json:"inputs"`
	Budgets         []budgetJSON   `json:"budgets"`
	Error           string         `json:"error"`
}

type caseDeviceJSON struct {
	Name              string       `json:"name"`
	Memory            *units.Bytes `json:"memory"` // null: no limit
	ComputeCapability string       `json:"compute_capability"`
}

type caseFlagsJSON struct {
	TF32Matmul    bool `json:"tf32_matmul"`
	TF32CuDNN     bool `json:"tf32_cudnn"`
	Benchmark     bool `json:"benchmark"`
	Deterministic bool `json:"deterministic"`
	CuDNNv7       bool `json:"cudnn_v7,omitempty"`
}

type budgetJSON struct {
	Metric report.Metric `json:"metric"`
	Limit  units.Bytes   `json:"limit"`
	Level  string        `json:"level"`
	Text   string        `json:"text"`
	Path   string        `json:"path"`
	Spec   string        `json:"spec"`
}

func newCases() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cases [memspec.yaml]",
		Short: "List the cases of a memspec.yaml, all defaults filled in",
		Long: `List the cases of a memspec.yaml (in the working directory where none is named). Nothing but the file itself is opened. The JSON form
has all that running a case for real takes: inputs with their dims bound, how to build the model, flags, budgets.`,
		Example: `  memspec cases
  memspec cases --case 'resnet50[*]' --format json`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	patterns := caseFlag(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := loadCases(specPath(args), *patterns)
		if err != nil {
			return err
		}
		if format.value == "text" {
			for i := range cases {
				fmt.Fprintf(cmd.OutOrStdout(), "%s on %s  %s\n", cases[i].Name, cases[i].Platform.Device.Name, lineOf(cases[i].Pos))
			}
			return nil
		}
		out := casesJSON{Schema: 1, Cases: make([]caseSpecJSON, len(cases))}
		for i := range cases {
			out.Cases[i] = caseSpecAsJSON(&cases[i])
		}
		return report.EncodeJSON(cmd.OutOrStdout(), out)
	}
	return cmd
}

func caseSpecAsJSON(c *spec.Case) caseSpecJSON {
	p := &c.Platform
	j := caseSpecJSON{
		Name: c.Name, Model: c.Model, Spec: lineOf(c.Pos), Dir: c.Dir, Artifact: c.Artifact, Source: c.Source,
		Device:  caseDeviceJSON{Name: p.Device.Name, ComputeCapability: p.Device.ComputeCapability.String()},
		Runtime: c.Runtime, Mode: c.Mode, Grad: c.Grad, DType: c.DType, Autocast: p.Autocast,
		Flags: caseFlagsJSON{TF32Matmul: p.TF32Matmul, TF32CuDNN: p.TF32CuDNN, Benchmark: p.Benchmark, Deterministic: p.Deterministic, CuDNNv7: p.CuDNNv7},
		Torch: p.Torch.String(), CuDNN: p.CuDNN.String(), AllocConf: p.AllocConf, CublasWorkspace: p.CublasWorkspace,
		MemoryFraction: p.MemoryFraction, Tolerance: c.Tolerance, Inputs: []string{}, Budgets: []budgetJSON{},
	}
	if p.Device.Memory > 0 {
		j.Device.Memory = &p.Device.Memory
	}
	for _, in := range c.Inputs {
		j.Inputs = append(j.Inputs, in.String())
	}
	for i := range c.Budgets {
		j.Budgets = append(j.Budgets, budgetAsJSON(&c.Budgets[i]))
	}
	if c.Err != nil {
		j.Error = c.Err.Error()
	}
	return j
}

func budgetAsJSON(b *verdict.Budget) budgetJSON {
	return budgetJSON{Metric: b.Metric, Limit: b.Limit, Level: b.Level.String(), Text: b.Text, Path: b.Path, Spec: lineOf(b.Pos)}
}
