package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/internal/cli"
)

func newBaseline() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "baseline [memspec.yaml | FOLDER | PATTERN]...",
		Short: "Write the report of every case, for later runs to be compared with",
		Long: `Predict every case of a memspec.yaml and write the reports to ` + spec.BaselineFile + ` beside it:
sorted, one case a line, to be committed. Arguments may be files, folders with all beneath
them, and patterns; each memspec.yaml has its own baseline.

From then on memspec check reports what changed since the baseline. A case may budget the
change: regression: {allocated: 2%, reserved: 16MiB}. Run the command again to accept a change.`,
		Example: `  memspec baseline
  memspec check`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cli.CompleteSpecs,
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"the `FILE` to write (default: "+spec.BaselineFile+" beside memspec.yaml)")
	profile := cli.WorkspaceFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, err := cli.SpecFiles(args)
		if err != nil {
			return err
		}
		if output != "" && len(files) > 1 {
			return fmt.Errorf("-o %s: got %d files of cases, want one: each has its baseline beside it", output,
				len(files))
		}
		w := baselineWriter{cmd: cmd, output: output, profile: *profile, written: map[string]string{}}
		for _, file := range files {
			if err := w.write(file); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// baselineWriter writes the baseline of each of several files of cases.
type baselineWriter struct {
	cmd     *cobra.Command
	output  string // "" for beside each file
	profile string
	written map[string]string // the file of cases of each baseline
}

func (w *baselineWriter) write(file string) error {
	output := w.output
	if output == "" {
		output = filepath.Join(filepath.Dir(file), spec.BaselineFile)
	}
	if other, twice := w.written[output]; twice {
		return fmt.Errorf("%s: got it for %s and for %s, want one file of cases in a folder", output, other, file)
	}
	w.written[output] = file
	cases, err := cli.LoadCases([]string{file}, nil)
	if err != nil {
		return err
	}
	if err := cli.UseProfile(cases, w.profile); err != nil {
		return err
	}
	b, err := baselineOf(w.cmd, cases)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		return err
	}
	if err := cli.WriteWhole(output, text.Bytes()); err != nil {
		return err
	}
	return cli.WriteLine(w.cmd.OutOrStdout(), fmt.Sprintf("%s: %s", output, cli.Plural(len(b.Cases), "case")))
}

// baselineOf runs every case; one that cannot be run is an error, for a baseline without it would
// say nothing of it.
func baselineOf(cmd *cobra.Command, cases []spec.Case) (*suite.Baseline, error) {
	for i := range cases {
		cases[i].Baseline, cases[i].Regression, cases[i].Fits = "", nil, nil
	}
	b := &suite.Baseline{}
	var wrong, unsure []error
	models := suite.New(os.Environ())
	bar := cli.NewProgress(cmd.ErrOrStderr(), len(cases))
	models.JudgeAll(cmd.Context(), cases, bar.Step, func(r *suite.Result) {
		switch {
		case r.Err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", r.Case.Name, r.Err))
		case r.Report.Quality == report.Incomplete:
			unsure = append(unsure, fmt.Errorf("%s: %s", r.Case.Name, report.Lacking(r.Report.Coverage.Unsupported)))
		default:
			b.Cases = append(b.Cases, suite.BaselineOf(r.Case.Name, cli.RepositoryPaths().Report(r.Report)))
		}
	})
	bar.Clear()
	if cmd.Context().Err() != nil {
		return nil, cli.Interrupted(len(b.Cases), len(cases))
	}
	if len(wrong) == 0 && len(unsure) > 0 {
		return nil, &cli.Exit{Code: cli.ExitUnsure, Err: errors.Join(unsure...)}
	}
	return b, errors.Join(append(wrong, unsure...)...)
}
