package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/internal/cli"
)

// casesJSON is every case with everything that running it for real needs, so that who measures need
// not read YAML.
type casesJSON struct {
	Schema int             `json:"schema"`
	Cases  []spec.CaseJSON `json:"cases"`
}

func newCases() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cases [memspec.yaml]",
		Short: "List the cases of a memspec.yaml, all defaults filled in",
		Long: `List the cases of a memspec.yaml (in the working directory where none is named). Nothing but the file itself is opened. The JSON form
has all that running a case for real takes: inputs with their dims bound, how to build the model, flags, budgets.`,
		Example: `  memspec cases
  memspec cases --case 'resnet50[*]' --format json`,
		Args:              cli.WantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: cli.CompleteSpecs,
	}
	patterns := cli.CaseFlag(cmd)
	format := cli.FormatFlag(cmd)
	on, lines, part := cli.DeviceFlag(cmd), cli.SetFlag(cmd), cli.ShardFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.WantValues(cmd, "shard"); err != nil {
			return err
		}
		cases, err := cli.CasesOf(args, *patterns)
		if err != nil {
			return err
		}
		if cases, err = cli.Shard(cases, *part); err != nil {
			return err
		}
		if cases, err = cli.OnDevice(cases, *on); err != nil {
			return err
		}
		if cases, err = cli.WithLines(cases, *lines); err != nil {
			return err
		}
		if format.Value == "text" {
			for i := range cases {
				fmt.Fprintf(cmd.OutOrStdout(), "%s on %s  %s\n", cases[i].Name, cases[i].Platform.Device.Name,
					cli.LineOf(cases[i].Pos))
			}
			return nil
		}
		out := casesJSON{Schema: 1, Cases: make([]spec.CaseJSON, len(cases))}
		for i := range cases {
			out.Cases[i] = cases[i].JSON()
		}
		return report.EncodeJSON(cmd.OutOrStdout(), out)
	}
	return cmd
}
