package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

type replayJSON struct {
	Schema  int                      `json:"schema"`
	Devices []allocator.DeviceReplay `json:"devices"`
	Record  *recordReplay            `json:"record,omitempty"` // of a measurement record
}

// maxSnapshot bounds a memory snapshot: PyTorch writes some 200 bytes an event with its stack.
const maxSnapshot = 1 << 30

func newReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay SNAPSHOT.pickle | RECORD.json",
		Short: "Replay a recorded run through the simulated allocator",
		Long: `Replay the events of a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) or of a
measurement record (python -m memshim measure) through the simulated allocator. Reports whether
every allocation gets the address that the device gave it, and whether the peaks are the
recorded ones. Of a record made on CPU tensors only the requested bytes are compared; the rest
is simulated, and labelled so.

Exit codes: 0 all agree, 1 they differ, 3 nothing to replay, 2 the file cannot be read.`,
		Example: `  memspec replay snapshot.pickle
  memspec replay 'measured/resnet50[B=8].eager.tesla-t4.json' --format json`,
		Args: cli.WantArgs(1, 1, "one SNAPSHOT.pickle or RECORD.json"),
	}
	out := cli.NewOutputs(cmd, format.Verdicts|format.Timelines)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, what, err := artifact.What(args[0])
		if err != nil {
			return err
		}
		if kind == "recording" {
			return endRecordReplay(out, args[0])
		}
		if kind != "snapshot" {
			return fmt.Errorf("%s: got %s, want a memory snapshot (torch.cuda.memory._dump_snapshot) or a recording (memshim "+
				"measure)", args[0], what)
		}
		data, err := regular.Read(args[0], maxSnapshot)
		if err != nil {
			return regular.Plain(err)
		}
		devices, err := allocator.ReplaySnapshot(data)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if err := out.Open(len(devices)); err != nil {
			return err
		}
		defer out.Abandon()
		code := cli.ExitOK
		for i := range devices {
			if !devices[i].Agrees() {
				code = cli.ExitBroken
			}
			c, err := deviceCase(args[0], &devices[i], out)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := out.Add(c); err != nil {
				return err
			}
		}
		if err := out.End(&format.Summary{Exit: code, JSON: replayJSON{Schema: 1, Devices: devices}}); err != nil {
			return err
		}
		if len(devices) == 0 {
			return &cli.Exit{Code: cli.ExitUnsure,
				Err: errors.New(args[0] + ": nothing to replay: no device recorded an allocation or a free")}
		}
		return cli.ExitWith(code)
	}
	return cmd
}

// deviceCase is a replayed device for every format. Its timeline is reported where a replay of the
// events alone comes to the simulated peaks: it does not where the recording gave segments back,
// which such a replay cannot know.
func deviceCase(path string, d *allocator.DeviceReplay, out *cli.Outputs) (*format.Case, error) {
	name := fmt.Sprintf("%s, device %d", path, d.Device)
	c := &format.Case{Name: name, Judged: true, Outcome: verdict.Pass,
		Text: func(w io.Writer) error { return writeDevice(w, path, d) }}
	c.Line = replayLine(name, d.Agrees())
	sizes := func(p allocator.PeakSizes) []units.Bytes {
		return []units.Bytes{p.Requested, p.Allocated, p.Active, p.Reserved}
	}
	recorded := sizes(d.Peaks.Recorded)
	for i, simulated := range sizes(d.Peaks.Simulated) {
		addReplayed(c, []report.Metric{"requested", report.Allocated, "active", report.Reserved}[i], "", simulated,
			&recorded[i])
	}
	if d.AddressMatch != d.Allocs {
		c.Outcome = verdict.Fail
		c.Findings = append(c.Findings, format.Finding{Rule: format.RuleDisagreement, Outcome: verdict.Fail,
			Text: fmt.Sprintf("%d of %d allocations at their recorded address", d.AddressMatch, d.Allocs)})
	}
	if !out.Need(format.Timelines) {
		return c, nil
	}
	a, err := allocator.New(allocator.Config{Settings: d.Settings, Heap: d.Recording.Heap})
	if err != nil {
		return nil, err
	}
	tl, err := allocator.Replay(d.Recording, a)
	if err != nil {
		return nil, err
	}
	if p := tl.Peaks; p.Allocated.Bytes == d.Peaks.Simulated.Allocated &&
		p.Reserved.Bytes == d.Peaks.Simulated.Reserved {
		recordedRun(c, report.Run{Artifact: path, Format: "snapshot"}, tl)
	}
	return c, nil
}

// addReplayed adds a figure, simulated and recorded, and a finding where the two are not the same.
// What was not recorded is not compared.
func addReplayed(c *format.Case, m report.Metric, moment string, simulated units.Bytes, recorded *units.Bytes) {
	f := format.Figure{Metric: m, Moment: moment, Outcome: verdict.Pass, Predicted: &simulated, Measured: recorded}
	if recorded != nil && *recorded != simulated {
		f.Outcome, c.Outcome = verdict.Fail, verdict.Fail
		c.Findings = append(c.Findings, format.Finding{Rule: format.RuleDisagreement, Outcome: verdict.Fail, Metric: m,
			Text: fmt.Sprintf("%s: simulated %s, recorded %s", f.Name(), simulated.Exact(), recorded.Exact())})
	}
	c.Figures = append(c.Figures, f)
}

// recordedRun gives a case its timeline, and the account of who holds its peaks.
func recordedRun(c *format.Case, run report.Run, tl *allocator.Timeline) {
	d, _ := device.Lookup("none")
	p, _ := platform.New(d, platform.Newest()) // whose rules are known
	c.Timeline = tl
	c.Report = cli.RepositoryPaths().Report(report.Build(report.Source{Run: run, Platform: &p, Timeline: tl}))
	// of a recorded run there is nothing to say about that
	c.Report.Quality, c.Report.Peak.Total, c.Report.Context = "", nil, nil
}

func replayLine(name string, agrees bool) string {
	if agrees {
		return name + ": simulation and recording agree"
	}
	return name + ": simulation and recording part"
}

func writeDevice(w io.Writer, path string, d *allocator.DeviceReplay) error {
	p := layout.To(w)
	p.Line("%s", replayLine(fmt.Sprintf("%s, device %d", path, d.Device), d.Agrees()))
	text := fmt.Sprintf("  %d events, %d of %d allocations at their recorded address", d.Events, d.AddressMatch,
		d.Allocs)
	if d.Skipped > 0 {
		text += fmt.Sprintf(", %d events skipped: unknown, or contradicted by the recording itself", d.Skipped)
	}
	p.Line("%s", text)
	if m := d.FirstMismatch; m != nil {
		p.Line("  first elsewhere: event %d, %s (%s): recorded at %s, simulated at %s", m.Event, m.Bytes,
			m.Bytes.Exact(), m.Recorded, m.Simulated)
	}
	t := layout.NewTable("rrrrr")
	t.Add("peaks", "requested", "allocated", "active", "reserved")
	for _, row := range []struct {
		name string
		p    allocator.PeakSizes
	}{{"simulated", d.Peaks.Simulated}, {"recorded", d.Peaks.Recorded}} {
		t.Add(row.name, row.p.Requested.Exact(), row.p.Allocated.Exact(), row.p.Active.Exact(), row.p.Reserved.Exact())
	}
	p.Table(2, t)
	return p.Err
}
