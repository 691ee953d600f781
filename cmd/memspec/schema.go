package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
)

func newSchema() *cobra.Command {
	names := report.SchemaNames()
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON Schema of an output",
		Long:  "Print the JSON Schema (2020-12) of what a command writes with --format json.\n\nNames: " + strings.Join(names, ", ") + ".",
		Example: `  memspec schema estimate
  memspec schema check > check.schema.json`,
		Args:              wantArgs(1, 1, "one NAME of "+strings.Join(names, ", ")),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, ok := report.JSONSchema(args[0])
			if !ok {
				return fmt.Errorf("got schema %q, want one of %s", args[0], strings.Join(names, ", "))
			}
			_, err := cmd.OutOrStdout().Write(b)
			return err
		},
	}
}
