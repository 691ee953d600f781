package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/report"
)

type replayJSON struct {
	Schema  int                      `json:"schema"`
	Devices []allocator.DeviceReplay `json:"devices"`
	Record  *recordReplay            `json:"record,omitempty"` // of a measurement record
}

func newReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay SNAPSHOT.pickle | RECORD.json",
		Short: "Replay a recorded run through the simulated allocator",
		Long: `Take the events of a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) or of a measurement record (python -m memshim measure)
through the simulated allocator and tell whether every allocation gets the address the device gave it, and whether the peaks are the recorded
ones. Of a record made on CPU tensors only what was requested is compared; the rest is simulated, and labelled so.

Exit codes: 0 all agree, 1 they part, 3 nothing to replay, 2 the file cannot be read.`,
		Example: `  memspec replay snapshot.pickle
  memspec replay 'measured/resnet50[B=8].eager.tesla-t4.json' --format json`,
		Args: wantArgs(1, 1, "one SNAPSHOT.pickle or RECORD.json"),
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, what, err := artifact.What(args[0])
		if err != nil {
			return err
		}
		if kind == "recording" {
			return endRecordReplay(cmd, args[0], format.value == "json")
		}
		if kind != "snapshot" {
			return fmt.Errorf("%s: got %s, want a memory snapshot (torch.cuda.memory._dump_snapshot) or a recording (memshim measure)", args[0], what)
		}
		data, err := os.ReadFile(args[0])
		if err != nil {
			return plainPathError(err)
		}
		devices, err := allocator.ReplaySnapshot(data)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if format.value == "json" {
			if devices == nil {
				devices = []allocator.DeviceReplay{}
			}
			err = report.EncodeJSON(cmd.OutOrStdout(), replayJSON{Schema: 1, Devices: devices})
		} else {
			err = writeReplay(cmd.OutOrStdout(), args[0], devices)
		}
		if err != nil {
			return err
		}
		if len(devices) == 0 {
			return &exit{code: exitUnsure, err: errors.New(args[0] + ": nothing to replay: no device recorded an allocation or a free")}
		}
		for i := range devices {
			if !devices[i].Agrees() {
				return exitWith(exitBroken)
			}
		}
		return nil
	}
	return cmd
}

func writeReplay(w io.Writer, path string, devices []allocator.DeviceReplay) error {
	for i := range devices {
		d := &devices[i]
		verdict := "simulation and recording agree"
		if !d.Agrees() {
			verdict = "simulation and recording part"
		}
		fmt.Fprintf(w, "%s, device %d: %s\n", path, d.Device, verdict)
		fmt.Fprintf(w, "  %d events, %d of %d allocations at their recorded address", d.Events, d.AddressMatch, d.Allocs)
		if d.Skipped > 0 {
			fmt.Fprintf(w, ", %d events skipped: unknown, or contradicted by the recording itself", d.Skipped)
		}
		fmt.Fprintln(w)
		if m := d.FirstMismatch; m != nil {
			fmt.Fprintf(w, "  first elsewhere: event %d, %s (%s): recorded at %s, simulated at %s\n", m.Event, m.Bytes, m.Bytes.Exact(), m.Recorded, m.Simulated)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "  peaks\trequested\tallocated\tactive\treserved\t")
		for _, row := range []struct {
			name string
			p    allocator.PeakSizes
		}{{"simulated", d.Peaks.Simulated}, {"recorded", d.Peaks.Recorded}} {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t\n", row.name, row.p.Requested.Exact(), row.p.Allocated.Exact(), row.p.Active.Exact(), row.p.Reserved.Exact())
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
