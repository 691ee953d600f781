package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/guess"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/internal/cli"
)

func newInit() *cobra.Command {
	var name, headroom, output string
	cmd := &cobra.Command{
		Use:   "init [ARTIFACT]...",
		Short: "Write a first memspec.yaml with budgets from predictions",
		Long: `Predict artifacts for every combination of --dim values, and write a memspec.yaml whose budgets
are the predictions with some headroom, rounded up to whole MiB. Without an ARTIFACT, those in
this folder and beneath it are predicted.

Inputs come from --input, else from the file written beside an artifact when it was exported,
else from the first layer's weights. Inferred inputs are marked as guesses, and used only if the
model runs with them. The command never prompts.

Paths are relative to the folder of the memspec.yaml.`,
		Example: `  memspec init --device t4 -o memspec.yaml
  memspec init model.pt --input 'x=float32[B,3,224,224]' --dim B=1,8 --device t4 --headroom 10% > memspec.yaml`,
		Args: cobra.ArbitraryArgs,
	}
	f := cli.NewRunFlags(cmd)
	q := cli.NewQuery(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the model's `NAME` (default: the artifact's, without its extensions)")
	cmd.Flags().StringVar(&headroom, "headroom", "5%",
		"how much a budget is above the prediction, a `SHARE` such as 10%")
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"the `FILE` to write, which must not be there yet (default: standard output)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		share, err := cli.ParseShare(headroom)
		if err != nil {
			return fmt.Errorf("--headroom: %w", err)
		}
		if output != "" && cli.Exists(output) {
			return fmt.Errorf("-o %s: got a file that exists, want a new one: memspec update changes the budgets of one", output)
		}
		models, err := q.Models()
		if err != nil {
			return err
		}
		file := &initFile{flags: f, headroom: share, text: headroom, runs: models}
		gathered := file.gather(cmd, args, name)
		if err := cmp.Or(q.Unanswered(), gathered); err != nil {
			return err
		}
		text := file.yaml()
		if output == "" {
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		}
		if err := cli.WriteWhole(output, []byte(text)); err != nil {
			return err
		}
		line := fmt.Sprintf("%s: %s of %s", output, cli.Plural(file.cases(), "case"),
			cli.Plural(len(file.models), "model"))
		if err := cli.WriteLine(cmd.OutOrStdout(), line); err != nil {
			return err
		}
		if command, n := file.settle(); n > 0 && command != "" {
			return cli.WriteLine(cmd.OutOrStdout(),
				fmt.Sprintf("%s on upper figures of an estimate; to make it exact: %s, then memspec update --tighten",
					counted(n, "budget rests", "budgets rest"), command))
		}
		return nil
	}
	return cmd
}

// maxInitCases bounds the cross product: a file of budgets is read by people.
const maxInitCases = 1000

// initFile is the memspec.yaml that is written.
type initFile struct {
	flags    *cli.RunFlags
	headroom float64
	text     string // of the headroom, as it was given
	models   []initModel
	runs     *suite.Models
	left     []string // artifacts that no budget can be given for, each with why
}

type initModel struct {
	name, artifact, from string
	inputs               []spec.Input // with dims
	results              []*suite.Result
}

// gather predicts the artifacts. One that was named must work; of those that were found, the others
// are reported.
func (file *initFile) gather(cmd *cobra.Command, args []string, name string) error {
	if _, err := file.flags.Platform(""); err != nil {
		return err
	}
	found := len(args) == 0
	if found {
		if args = artifactsBeneath("."); len(args) == 0 {
			return errors.New("got no artifact in this folder or beneath it, want one: python " +
				"-m memshim export makes it, or name it")
		}
	}
	if name != "" && len(args) > 1 {
		return fmt.Errorf("--name: got it for %d artifacts, want one", len(args))
	}
	given := slices.Clone(file.flags.Inputs)
	for i, path := range args {
		if slices.Contains(args[:i], path) {
			return fmt.Errorf("got %s twice, want it once", path)
		}
		file.flags.Inputs = given
		m, err := file.model(cmd, path)
		switch {
		case err != nil && !found:
			return err
		case err != nil:
			file.left = append(file.left, cli.OneLine(err.Error()))
			continue
		}
		if m.name = name; name == "" {
			m.name = file.unused(path)
		}
		file.models = append(file.models, *m)
	}
	if len(file.models) == 0 {
		return errors.New("got no artifact that a budget can be given for: " + strings.Join(file.left, "; "))
	}
	return nil
}

// unused is the first name that no other model has: the file's, the path without its extension, the
// path.
func (file *initFile) unused(path string) string {
	whole := filepath.ToSlash(path)
	for _, name := range []string{modelName(path), strings.TrimSuffix(whole, filepath.Ext(whole))} {
		if !slices.ContainsFunc(file.models, func(m initModel) bool { return m.name == name }) {
			return name
		}
	}
	return whole
}

func (file *initFile) model(cmd *cobra.Command, path string) (*initModel, error) {
	m := &initModel{artifact: path}
	texts := file.flags.Dims
	if len(file.flags.Inputs) == 0 {
		guess, err := guessInputs(cmd.Context(), path)
		if err != nil {
			return nil, err
		}
		m.from = guess.From
		for _, in := range guess.Inputs {
			file.flags.Inputs = append(file.flags.Inputs, in.String())
		}
		batched := func(s string) bool { return strings.Contains(s, "[B,") }
		if len(texts) == 0 && slices.ContainsFunc(file.flags.Inputs, batched) {
			texts = []string{"B=1,8"}
		}
	}
	dims, err := cli.ParseDims(texts)
	if err != nil {
		return nil, err
	}
	cases, err := crossCases(file.flags, path, dims)
	if err != nil {
		return nil, err
	}
	if m.results, err = predictAll(cmd, file.runs, cases); err != nil {
		return nil, err
	}
	m.inputs, err = file.flags.ParseInputs(path)
	return m, err
}

// guessInputs is what an artifact can be run with; a recorded run needs nothing.
func guessInputs(ctx context.Context, path string) (*guess.Guess, error) {
	m, err := engine.Open(path)
	if err != nil {
		return nil, err
	}
	if m.Artifact.Recorded != nil {
		return &guess.Guess{From: "a recorded run"}, nil
	}
	return guess.Inputs(ctx, m)
}

// maxFound bounds how many artifacts are taken from a folder.
const maxFound = 50

// artifactsBeneath are the files in a folder and beneath it that can be read, by path.
func artifactsBeneath(folder string) []string {
	endings := []string{".pt", ".pth", ".pt2", ".ts", ".torchscript", ".rec"}
	var out []string
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name := ""
		if d != nil {
			name = d.Name()
		}
		switch {
		case err != nil:
			return nil // what cannot be looked into is left out
		case d.IsDir() && path != folder &&
			(strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(endings, strings.ToLower(filepath.Ext(name))):
			return nil
		}
		if kind, _, err := artifact.What(path); err == nil && kind != "" && len(out) < maxFound {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// crossCases is one case for every combination of the dims' values, the last dim fastest.
func crossCases(f *cli.RunFlags, artifact string, dims []cli.DimValues) ([]spec.Case, error) {
	total := 1
	for _, d := range dims {
		if total *= len(d.Values); total > maxInitCases {
			return nil, fmt.Errorf("--dim: got more than %d combinations, want fewer", maxInitCases)
		}
	}
	var cases []spec.Case
	for i := range total {
		bound := make([]spec.Dim, len(dims))
		rest := i
		for j := len(dims) - 1; j >= 0; j-- {
			n := len(dims[j].Values)
			bound[j] = spec.Dim{Name: dims[j].Name, Value: dims[j].Values[rest%n]}
			rest /= n
		}
		c, err := f.Build(artifact, bound)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func predictAll(cmd *cobra.Command, models *suite.Models, cases []spec.Case) ([]*suite.Result, error) {
	var results []*suite.Result
	var err error
	bar := cli.NewProgress(cmd.ErrOrStderr(), len(cases))
	models.JudgeAll(cmd.Context(), cases, bar.Step, func(r *suite.Result) {
		switch {
		case err != nil:
		case r.Err != nil:
			err = r.Err
		case r.Report.OOM != nil:
			err = fmt.Errorf("%s does not fit %s: no budget to give", dimsText(r.Case.Dims), r.Report.Device)
		case r.Report.Quality == report.Incomplete:
			err = &cli.Exit{Code: cli.ExitUnsure,
				Err: errors.New("no budget to give: " + report.Lacking(r.Report.Coverage.Unsupported))}
		}
		results = append(results, r)
	})
	bar.Clear()
	return results, err
}

func (file *initFile) cases() (n int) {
	for _, m := range file.models {
		n += len(m.results)
	}
	return n
}

// counted is a number with the right words: "1 budget rests", "3 budgets rest".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
