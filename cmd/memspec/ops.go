package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/coverage"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/internal/cli"
)

type opsJSON struct {
	Schema int      `json:"schema"`
	Ops    []opJSON `json:"ops"`
}

type opJSON struct {
	Op     string `json:"op"`
	Schema string `json:"schema"`
}

type missingJSON struct {
	Schema   int         `json:"schema"`
	Artifact string      `json:"artifact"`
	Missing  []missingOp `json:"missing"`
}

type missingOp struct {
	Op    string      `json:"op"`
	Count int         `json:"count"`
	First missingSite `json:"first"`
}

type missingSite struct {
	Module string `json:"module"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

func newOps() *cobra.Command {
	var missing string
	cmd := &cobra.Command{
		Use:   "ops [--missing ARTIFACT]",
		Short: "List the operators that have a rule, or those an artifact would still need",
		Long: `List the operators that have a rule. With --missing, the operators that an artifact's code names and that have no rule under
any overload; this needs no inputs and looks at all that forward can reach.

Exit codes of --missing: 0 none is missing, 3 some are, 2 the artifact cannot be read.`,
		Example: `  memspec ops
  memspec ops --missing model.pt --format json`,
		Args:              cli.WantArgs(0, 0, "none; an artifact goes behind --missing"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&missing, "missing", "", "the operators of this `ARTIFACT` that have no rule")
	format := cli.FormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("missing") {
			return runMissing(cmd, missing, format.Value)
		}
		return listOps(cmd.OutOrStdout(), format.Value)
	}
	return cmd
}

func listOps(w io.Writer, format string) error {
	table := builtin.Table()
	out := opsJSON{Schema: 1, Ops: []opJSON{}}
	for _, key := range table.Keys() {
		b, _ := table.Lookup(key)
		out.Ops = append(out.Ops, opJSON{Op: key, Schema: b.Rule.Schema})
	}
	if format == "json" {
		return report.EncodeJSON(w, out)
	}
	for _, o := range out.Ops {
		if _, err := fmt.Fprintln(w, o.Schema); err != nil {
			return err
		}
	}
	return nil
}

func runMissing(cmd *cobra.Command, path, format string) error {
	m, err := engine.Open(path)
	if err != nil {
		return err
	}
	p, err := m.Program()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found, err := coverage.Missing(p)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	code := cli.ExitOK
	if len(found) > 0 {
		code = cli.ExitUnsure
	}
	if format == "json" {
		out := missingJSON{Schema: 1, Artifact: path, Missing: []missingOp{}}
		for _, u := range found {
			out.Missing = append(out.Missing,
				missingOp{u.Op, u.Count, missingSite{u.First.Module, u.First.File, u.First.Line}})
		}
		if err := report.EncodeJSON(cmd.OutOrStdout(), out); err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	if len(found) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: every operator has a rule\n", path)
	}
	for _, u := range found {
		fmt.Fprintf(cmd.OutOrStdout(), "%s ×%d, first at %s\n", u.Op, u.Count,
			report.Site{Module: u.First.Module, File: u.First.File, Line: u.First.Line})
	}
	return cli.ExitWith(code)
}
