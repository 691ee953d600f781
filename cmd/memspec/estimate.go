package main

import (
	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
)

func newEstimate() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "estimate ARTIFACT",
		Short: "Predict the peak memory of one artifact",
		Long: `Predict what a run of the artifact takes on a device: weights, inputs, a first and a second forward pass, as PyTorch's
allocator counts them. Nothing is executed and tensor bytes are not read.

Exit 3 where operators have no rule and the account is incomplete.`,
		Example: `  memspec estimate model.pt --input 'x=float32[B,3,224,224]' --dim B=8 --device a10g
  memspec estimate model.pt --input 'x=[float32[3,640,640], float32[3,480,640]]' --device t4 --runtime eager
  memspec estimate model.pt --input 'int64[1,128]' --device none --format json`,
		Args: wantArgs(1, 1, "one ARTIFACT"),
	}
	f := newRunFlags(cmd)
	format := formatFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every holder, not only the largest")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := f.oneCase(args[0])
		if err != nil {
			return err
		}
		r, err := engine.Estimate(cmd.Context(), c)
		if err != nil {
			return err
		}
		if format.value == "json" {
			err = report.WriteJSON(cmd.OutOrStdout(), r)
		} else {
			err = report.WriteTextRows(cmd.OutOrStdout(), r, rowsShown(verbose))
		}
		if err != nil {
			return err
		}
		return exitWith(estimateExit(r))
	}
	return cmd
}

// estimateExit is 3 where sizes are missing: a number that is too small must not look like one that is right.
func estimateExit(r *report.Report) int {
	if r.Quality == report.Incomplete {
		return exitUnsure
	}
	return exitOK
}
