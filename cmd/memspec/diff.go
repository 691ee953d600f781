package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
)

func newDiff() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "diff OLD.json NEW.json",
		Short: "Compare two estimates, by metric and by holder",
		Long: `Compare two estimates written by memspec estimate --format json: every metric, and what each place of the model
holds at the peak. Exit 0 whether they differ or not: budgets are judged by memspec check.`,
		Example: `  memspec estimate model.pt --input 'float32[1,3,224,224]' --device t4 --format json > old.json
  memspec diff old.json new.json`,
		Args: wantArgs(2, 2, "OLD.json and NEW.json"),
	}
	format := formatFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every holder, not only the largest")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		before, err := readReport(args[0])
		if err != nil {
			return err
		}
		after, err := readReport(args[1])
		if err != nil {
			return err
		}
		d := report.Diff(before, after)
		if format.value == "json" {
			return report.EncodeJSON(cmd.OutOrStdout(), d)
		}
		return d.WriteText(cmd.OutOrStdout(), rowsShown(verbose))
	}
	return cmd
}

func readReport(path string) (*report.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plainPathError(err)
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// rowsShown is how many rows of holders a text has: 0 means all.
func rowsShown(verbose bool) int {
	if verbose {
		return 0
	}
	return report.ShortRows
}
