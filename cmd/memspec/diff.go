package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

func newDiff() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two estimates or artifacts, or two checks case by case",
		Long: `Compare two estimates written by memspec estimate --format json: every metric, and what each
place of the model holds at the peak. A file whose name does not end in .json is an artifact,
such as a recording, and is estimated with --device and the other flags.

Two results of memspec check --format json are compared case by case, matched by name (and by
file, where several files have a case of that name): what changed, was added or was removed. The
exit code is 0 whether they differ or not; memspec check
judges budgets.

Two runs on different devices, or with different inputs, runtime, mode, torch or allocator
settings, are compared only with --unlike.`,
		Example: `  memspec estimate model.pt --input 'float32[1,3,224,224]' --device t4 --format json > old.json
  memspec diff old.json new.json
  memspec diff old.rec new.rec --device t4`,
		Args: cli.WantArgs(2, 2, "OLD and NEW, estimates, checks or artifacts"),
	}
	f := cli.NewRunFlags(cmd)
	out := cli.NewOutputs(cmd, 0)
	most := cmd.Flags().String("fail-on-increase", "",
		"exit 1 where any metric is worse by more than this `SHARE`, such as 1%: sizes grow, tokens and requests drop")
	unlike := cmd.Flags().Bool("unlike", false, "compare runs of other inputs, devices, runtimes or settings, too")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every holder, not only the largest")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limit := -1.0
		if *most != "" {
			var err error
			if limit, err = cli.ParseShare(*most); err != nil {
				return fmt.Errorf("--fail-on-increase: %w", err)
			}
		}
		code := func(increase float64) int {
			if limit >= 0 && increase > limit {
				return cli.ExitBroken
			}
			return cli.ExitOK
		}
		if name := f.Given(cmd); name != "" && isJSON(args[0]) && isJSON(args[1]) {
			return fmt.Errorf("got --%s, want an artifact beside it: %s and %s say which runs they are", name, args[0],
				args[1])
		}
		old, err := readCheck(args[0])
		if err != nil {
			return err
		}
		now, err := readCheck(args[1])
		if err != nil {
			return err
		}
		if old != nil && now != nil {
			d := compareChecks(old, now)
			if err := out.Open(len(d.Cases)); err != nil {
				return err
			}
			defer out.Abandon()
			end := code(d.increase())
			if err := d.write(out, end); err != nil {
				return err
			}
			return cli.ExitWith(end)
		}
		before, err := readReport(cmd.Context(), f, args[0])
		if err != nil {
			return err
		}
		after, err := readReport(cmd.Context(), f, args[1])
		if err != nil {
			return err
		}
		if differ := report.Unlike(&before.Run, &after.Run); len(differ) > 0 && !*unlike {
			return fmt.Errorf("%s, %s: got unlike runs (--unlike compares them): %s", args[0], args[1],
				strings.Join(differ, "; "))
		}
		if err := out.Open(1); err != nil {
			return err
		}
		defer out.Abandon()
		d := report.Diff(before, after)
		if err := out.Add(diffCase(d, after, verbose)); err != nil {
			return err
		}
		end := code((&checksDiff{Cases: []caseDiffJSON{{Diff: d}}}).increase())
		if err := out.End(&format.Summary{Exit: end, JSON: d}); err != nil {
			return err
		}
		return cli.ExitWith(end)
	}
	return cmd
}

// diffCase is a difference for every format.
func diffCase(d *report.Difference, after *report.Report, verbose bool) *format.Case {
	c := &format.Case{Name: after.Artifact, Report: after, Line: d.Head(),
		Text: func(w io.Writer) error { return d.WriteText(w, cli.RowsShown(verbose)) }}
	c.Figures = changeFigures(d)
	return c
}

func changeFigures(d *report.Difference) []format.Figure {
	var out []format.Figure
	for _, m := range d.Metrics {
		out = append(out, format.Figure{Metric: m.Metric, Outcome: verdict.Pass, Before: m.Old, Predicted: m.New})
	}
	return out
}

// isJSON says whether a file holds a result by its name; every other one is an artifact.
func isJSON(path string) bool {
	return filepath.Ext(path) == ".json"
}

// readReport is the estimate that a file holds, or that of an artifact.
func readReport(ctx context.Context, f *cli.RunFlags, path string) (*report.Report, error) {
	if isJSON(path) {
		return readEstimate(path)
	}
	c, err := f.OneCase(path)
	if err != nil {
		return nil, err
	}
	models := suite.New(os.Environ())
	r, err := models.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	r.Report = cli.RepositoryPaths().Report(r.Report)
	r.Report.Normalize()
	return r.Report, nil
}

func readEstimate(path string) (*report.Report, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, regular.Plain(err)
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
