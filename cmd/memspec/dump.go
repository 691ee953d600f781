package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump ARTIFACT --stage program|trace|timeline",
		Short: "Print a stage of the prediction as text",
		Long: `Print what a stage makes of an artifact: the typed program, the trace of allocations and frees, or the allocator's timeline.
A program needs no inputs; the other two need the flags of memspec estimate.`,
		Example: `  memspec dump model.pt --stage program
  memspec dump model.pt --stage trace --input 'float32[1,3,224,224]' --device none --format json`,
		Args: wantArgs(1, 1, "one ARTIFACT"),
	}
	f := newRunFlags(cmd)
	stage := choiceFlag(cmd, "stage", "what to print (required)", "", "program", "trace", "timeline")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w := cmd.OutOrStdout()
		switch stage.value {
		case "":
			return errors.New("dump: got no --stage, want program, trace or timeline")
		case "program":
			if format.value == "json" {
				return errors.New("dump: got --format json for the program, want text: only the trace and the timeline have a JSON form")
			}
			m, err := engine.Open(args[0])
			if err != nil {
				return err
			}
			return program.Write(w, m.Program)
		}
		c, err := f.oneCase(args[0])
		if err != nil {
			return err
		}
		var models engine.Models
		r, err := models.Run(cmd.Context(), c)
		if err != nil {
			return err
		}
		if stage.value == "trace" {
			err = writeTrace(w, r.Trace, format.value)
		} else {
			err = writeTimeline(w, r.Timeline, format.value)
		}
		if err != nil {
			return err
		}
		if len(r.Trace.Coverage.Unsupported) > 0 {
			return &exit{code: exitUnsure, err: errors.New("the account is incomplete, see memspec ops --missing " + engine.ShellQuote(args[0]))}
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
		out.Events = append(out.Events, eventJSON{Action: e.Action.String(), Storage: e.Storage, Size: e.Bytes, Category: s.Category.String(), Pass: e.Pass,
			Op: s.Op, Module: s.Module, File: s.File, Line: s.Line})
	}
	return report.EncodeJSON(w, out)
}
