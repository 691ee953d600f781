package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/internal/cli"
)

func newSchema() *cobra.Command {
	names := append([]string{"spec"}, report.SchemaNames()...)
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON Schema of memspec.yaml or of an output",
		Long: "Print the JSON Schema (2020-12) of memspec.yaml (spec), for editors, or of what a command writes with " +
			"--format json.\n\nNames: " +
			strings.Join(names, ", ") + ".",
		Example: `  memspec schema spec > memspec.schema.json
  memspec schema estimate`,
		Args:              cli.WantArgs(1, 1, "one NAME of "+strings.Join(names, ", ")),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, ok := report.JSONSchema(args[0])
			if args[0] == "spec" {
				b, ok = spec.Schema, true
			}
			if !ok {
				return fmt.Errorf("got schema %q, want one of %s", args[0], strings.Join(names, ", "))
			}
			_, err := cmd.OutOrStdout().Write(b)
			return err
		},
	}
}
