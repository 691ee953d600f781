package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump ARTIFACT --stage program|lifetimes|trace|timeline",
		Short: "Print a stage of the prediction as text",
		Long: `Print what a stage makes of an artifact: the typed program, the live ranges of its values, the
trace of allocations and frees, or the allocator's timeline. A program needs no inputs; the
others need the flags of memspec estimate. --most prints the longest live ranges, for the upper
figure of an eager run whose archive does not record what Python's names hold.

A line of the program ends with "# STATEMENT FILE:LINE", a statement of the archive's code,
which may be several nodes. A line of the live ranges is a value, from which node to which it
lives, what ends it and why: "entry" is the begin of the call, "3.." lives as long as its name.
Nodes are numbered from 0 in the order in which the runtime runs them, those of blocks included.
TorchScript's runtime has inlined calls and run its passes before.`,
		Example: `  memspec dump model.pt --stage program
  memspec dump model.pt --stage trace --input 'float32[1,3,224,224]' --device none --format json`,
		Args: cli.WantArgs(1, 1, "one ARTIFACT"),
	}
	f := cli.NewRunFlags(cmd)
	stage := cli.ChoiceFlag(cmd, "stage", "what to print (required)", "", "program", "lifetimes", "trace", "timeline")
	most := cmd.Flags().Bool("most", false, "with --stage lifetimes: live ranges at their longest")
	format := cli.FormatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w := cmd.OutOrStdout()
		if format.Value == "json" && (stage.Value == "program" || stage.Value == "lifetimes") {
			return fmt.Errorf("dump: got --format json for the %s, want text: only the trace and the timeline have a JSON form",
				stage.Value)
		}
		if *most && stage.Value != "lifetimes" {
			return errors.New("dump: got --most, want --stage lifetimes with it")
		}
		switch stage.Value {
		case "":
			return errors.New("dump: got no --stage, want program, lifetimes, trace or timeline")
		case "program":
			m, err := engine.Open(args[0])
			if err != nil {
				return err
			}
			p, err := m.Program()
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return program.Write(w, p)
		}
		c, err := f.OneCase(args[0])
		if err != nil {
			return err
		}
		models := suite.New(os.Environ())
		if stage.Value == "lifetimes" {
			m, err := models.Open(args[0])
			if err != nil {
				return err
			}
			funcs, err := m.Lifetimes(cmd.Context(), c, *most)
			if err != nil {
				return err
			}
			return lifetime.Write(w, funcs)
		}
		r, err := models.Run(cmd.Context(), c)
		if err != nil {
			return err
		}
		if r.Trace == nil {
			return fmt.Errorf("%s: got the recorded start of an engine, want a run: an engine's start has its figures alone",
				args[0])
		}
		if stage.Value == "trace" {
			err = writeTrace(w, r.Trace, format.Value)
		} else {
			err = writeTimeline(w, r.Timeline, format.Value)
		}
		if err != nil {
			return err
		}
		if len(r.Trace.Coverage.Unsupported) > 0 {
			return &cli.Exit{Code: cli.ExitUnsure,
				Err: errors.New("the report is incomplete, see memspec ops --missing " + layout.ShellQuote(args[0]))}
		}
		return nil
	}
	return cmd
}

type traceJSON struct {
	Schema int         `json:"schema"`
	Events []eventJSON `json:"events"`
}

// eventJSON is a storage's birth or death.
type eventJSON struct {
	Action   string           `json:"action"`
	Storage  tensor.StorageID `json:"storage"`
	Size     units.Bytes      `json:"size"`
	Category string           `json:"category"`
	Pass     int              `json:"pass"`
	Op       string           `json:"op"`
	Module   string           `json:"module"`
	File     string           `json:"file"`
	Line     int              `json:"line"`
}

func writeTrace(w io.Writer, tr *trace.Trace, format string) error {
	if format == "text" {
		_, err := tr.WriteTo(w)
		return err
	}
	out := traceJSON{Schema: 1, Events: []eventJSON{}}
	for _, e := range tr.Events {
		if e.Storage == trace.NoStorage {
			continue
		}
		s := tr.Site(e.Site)
		out.Events = append(out.Events, eventJSON{Action: e.Action.String(), Storage: e.Storage, Size: e.Bytes,
			Category: s.Category.String(), Pass: e.Pass, Op: s.Op, Module: s.Module, File: s.File, Line: s.Line})
	}
	return report.EncodeJSON(w, out)
}
