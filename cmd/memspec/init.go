package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

func newInit() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "init ARTIFACT",
		Short: "Print a memspec.yaml with budgets from predictions",
		Long: `Predict the artifact for every combination of --dim values and print a memspec.yaml whose budgets are the predictions, rounded up
to whole MiB. The path of the artifact is printed as it is given: it counts from the folder of the memspec.yaml.`,
		Example: `  memspec init model.pt --input 'x=float32[B,3,224,224]' --dim B=1,8 --device t4 > memspec.yaml`,
		Args:    wantArgs(1, 1, "one ARTIFACT"),
	}
	f := newRunFlags(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the model's `NAME` (default: the artifact's, without its extensions)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dims, err := parseDims(f.dims)
		if err != nil {
			return err
		}
		cases, err := crossCases(f, args[0], dims)
		if err != nil {
			return err
		}
		results, err := predictAll(cmd, cases)
		if err != nil {
			return err
		}
		if name == "" {
			name = modelName(args[0])
		}
		inputs, err := f.parseInputs(args[0])
		if err != nil {
			return err
		}
		return writeInit(cmd.OutOrStdout(), f, initFile{name: name, artifact: args[0], inputs: inputs, results: results})
	}
	return cmd
}

// maxInitCases bounds the cross product: a file of budgets is read by people.
const maxInitCases = 1000

// crossCases is one case for every combination of the dims' values, the last dim fastest.
func crossCases(f *runFlags, artifact string, dims []dimValues) ([]spec.Case, error) {
	total := 1
	for _, d := range dims {
		if total *= len(d.values); total > maxInitCases {
			return nil, fmt.Errorf("--dim: got more than %d combinations, want fewer", maxInitCases)
		}
	}
	var cases []spec.Case
	for i := range total {
		bound := make([]spec.Dim, len(dims))
		rest := i
		for j := len(dims) - 1; j >= 0; j-- {
			n := len(dims[j].values)
			bound[j] = spec.Dim{Name: dims[j].name, Value: dims[j].values[rest%n]}
			rest /= n
		}
		c, err := f.build(artifact, bound)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func predictAll(cmd *cobra.Command, cases []spec.Case) ([]*engine.Result, error) {
	var results []*engine.Result
	var err error
	var models engine.Models
	bar := newProgress(cmd.ErrOrStderr(), len(cases))
	models.JudgeAll(cmd.Context(), cases, bar.step, func(r *engine.Result) {
		switch {
		case err != nil:
		case r.Err != nil:
			err = r.Err
		case r.Report.OOM != nil:
			err = fmt.Errorf("%s does not fit %s: no budget to give", dimsText(r.Case.Dims), r.Report.Device)
		case r.Report.Quality == report.Incomplete:
			err = &exit{code: exitUnsure, err: errors.New("no budget to give: " + report.Lacking(r.Report.Coverage.Unsupported))}
		}
		results = append(results, r)
	})
	bar.clear()
	return results, err
}

type initFile struct {
	name, artifact string
	inputs         []spec.Input // with dims
	results        []*engine.Result
}

func writeInit(w io.Writer, f *runFlags, file initFile) error {
	var b strings.Builder
	b.WriteString("# Budgets are what memspec init predicted, rounded up to whole MiB.\nversion: 1\ndefaults:\n")
	first := file.results[0]
	fmt.Fprintf(&b, "  device: %s\n  runtime: %s\n  torch: %s\n", first.Report.Device, first.Report.Runtime, first.Report.Torch)
	if f.allocConf != "" {
		fmt.Fprintf(&b, "  alloc_conf: %s\n", yamlText(f.allocConf))
	}
	fmt.Fprintf(&b, "models:\n  %s:\n    artifact: %s\n", yamlText(file.name), yamlText(filepath.ToSlash(file.artifact)))
	writeInputs(&b, file.inputs)
	if len(first.Case.Dims) == 0 {
		fmt.Fprintf(&b, "    budget: %s\n", budgetText(first.Report))
	} else {
		b.WriteString("    cases:\n")
		for _, r := range file.results {
			fmt.Fprintf(&b, "      - dims: {%s}\n        budget: %s\n", dimsText(r.Case.Dims), budgetText(r.Report))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeInputs(b *strings.Builder, inputs []spec.Input) {
	if len(inputs) == 0 {
		return
	}
	named := true
	for _, in := range inputs {
		named = named && in.Name != ""
	}
	parts := make([]string, len(inputs))
	for i, in := range inputs {
		parts[i] = strconv.Quote(in.Value.String())
		if named {
			parts[i] = in.Name + ": " + parts[i]
		}
	}
	if named {
		fmt.Fprintf(b, "    inputs: {%s}\n", strings.Join(parts, ", "))
	} else {
		fmt.Fprintf(b, "    inputs: [%s]\n", strings.Join(parts, ", "))
	}
}

func dimsText(dims []spec.Dim) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = fmt.Sprintf("%s: %d", d.Name, d.Value)
	}
	return strings.Join(parts, ", ")
}

func budgetText(r *report.Report) string {
	return fmt.Sprintf("{allocated: %s, reserved: %s}", wholeMiB(r.Peak.Allocated), wholeMiB(r.Peak.Reserved))
}

func wholeMiB(b units.Bytes) string {
	return fmt.Sprintf("%dMiB", int64(b.RoundUp(units.MiB)/units.MiB))
}

// modelName is the artifact's file name without its extensions: resnet50 for models/resnet50.script.pt.
func modelName(artifact string) string {
	base := filepath.Base(artifact)
	if i := strings.IndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return base
}

// yamlText is s as a YAML scalar, quoted where plain text would mean something else.
func yamlText(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	word := s != "" && strings.Trim(s, safe) == "" && s[0] != '-' && (s[0] < '0' || s[0] > '9') && s[0] != '.'
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		word = false
	}
	if word {
		return s
	}
	return strconv.Quote(s)
}
