package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/internal/cli"
)

func newEstimate() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "estimate ARTIFACT",
		Short: "Predict the peak memory of one artifact, or of serving a model",
		Long: `Predict what a run of the artifact takes on a device: weights, inputs, a first and a second
forward pass, as PyTorch's allocator counts them. Nothing is executed, and no tensor bytes are
read.

Where ARTIFACT is a folder with a config.json of transformers, the estimate is of serving it.
It has the weights, the KV cache of --batch requests of --context tokens, a range for what an engine
takes beside them, and how many tokens of KV cache are left. Headers of safetensors files say what
the weights are; without them config.json does.

Exit codes: 1 where the run does not fit the device; 3 where operators have no rule and the
report is incomplete, where the range has both, and where the architecture is not known.`,
		Example: `  memspec estimate model.pt --input 'x=float32[B,3,224,224]' --dim B=8 --device a10g
  memspec estimate model.pt --input 'x=[float32[3,640,640], float32[3,480,640]]' --device t4 --runtime eager
  memspec estimate model.pt --input 'int64[1,128]' --device none --format json
  memspec estimate models/qwen3-8b --context 8192 --batch 16 --device l4`,
		Args: cli.WantArgs(1, 1, "one ARTIFACT"),
	}
	f := cli.NewRunFlags(cmd)
	out := cli.NewOutputs(cmd, format.Timelines)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every holder, not only the largest")
	served := newServingFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if modelfolder.IsFolder(args[0]) {
			return served.run(cmd, args[0], f, out)
		}
		if name := served.given(); name != "" {
			return fmt.Errorf("--%s: got it with an artifact, want a model's folder with a %s", name,
				modelfolder.ConfigName)
		}
		c, err := f.OneCase(args[0])
		if err != nil {
			return err
		}
		if err := out.Open(1); err != nil {
			return err
		}
		defer out.Abandon()
		models := suite.New(os.Environ())
		r, err := models.Run(cmd.Context(), c)
		if err != nil {
			return err
		}
		r.Report = cli.RepositoryPaths().Report(r.Report)
		r.Report.Normalize()
		k := cli.RunCase(r)
		k.Text = func(w io.Writer) error { return report.WriteTextRows(w, r.Report, cli.RowsShown(verbose)) }
		if err := out.Add(k); err != nil {
			return err
		}
		code := cli.EstimateExit(r.Report)
		if r.Report.OOM != nil {
			code = cli.ExitBroken
		}
		if err := out.End(&format.Summary{Exit: code, JSON: r.Report}); err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	return cmd
}
