package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

type devicesJSON struct {
	Schema       int          `json:"schema"`
	Devices      []deviceJSON `json:"devices"`
	Capabilities []limitsJSON `json:"capabilities"`
}

type deviceJSON struct {
	Name              string       `json:"name"`
	Aliases           []string     `json:"aliases"`
	Memory            *units.Bytes `json:"memory"` // null: no limit
	MemoryFrom        string       `json:"memory_from"`
	ComputeCapability string       `json:"compute_capability"`
	SMs               int          `json:"sms"`
	Context           *units.Bytes `json:"context"` // null: not known
	// what public logs say of it, where it was not measured
	ContextRange   *report.Context `json:"context_range,omitempty"`
	Source         string          `json:"source"`
	Driver         string          `json:"driver"`
	L2             units.Bytes     `json:"l2"` // 0, like the three that follow: not known
	ClockKHz       int             `json:"clock_khz"`
	MemoryClockKHz int             `json:"memory_clock_khz"`
	MemoryBusBits  int             `json:"memory_bus_bits"`
	FiguresSource  string          `json:"figures_source"`
}

type limitsJSON struct {
	ComputeCapability string      `json:"compute_capability"`
	ThreadsPerSM      int         `json:"threads_per_sm"`
	BlocksPerSM       int         `json:"blocks_per_sm"`
	RegistersPerSM    int         `json:"registers_per_sm"`
	SharedPerSM       units.Bytes `json:"shared_per_sm"`
	SharedPerBlock    units.Bytes `json:"shared_per_block"`
	SharedOptIn       units.Bytes `json:"shared_optin"`
	SharedReserved    units.Bytes `json:"shared_reserved"`
}

func newDevices() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs memspec knows, each with its source",
		Long: `List the GPUs that memspec knows. Memory is what the driver or nvidia-smi reports in a public
log, and is marked nominal where none is known. A context cost is measured, or a range taken
from public logs. Other devices go under devices: in memspec.yaml.`,
		Example: `  memspec devices
  memspec devices --format json`,
		Args:              cli.WantArgs(0, 0, "none"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	format := cli.FormatFlag(cmd)
	verbose := cmd.Flags().BoolP("verbose", "v", false, "with other names that are understood")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if format.Value == "json" {
			return report.EncodeJSON(cmd.OutOrStdout(), devicesAsJSON())
		}
		return writeDevices(cmd, *verbose)
	}
	return cmd
}

func devicesAsJSON() devicesJSON {
	out := devicesJSON{Schema: 1, Devices: []deviceJSON{}, Capabilities: []limitsJSON{}}
	for _, l := range device.AllLimits() {
		out.Capabilities = append(out.Capabilities, limitsJSON{
			ComputeCapability: l.ComputeCapability.String(), ThreadsPerSM: l.ThreadsPerSM, BlocksPerSM: l.BlocksPerSM,
			RegistersPerSM: l.RegistersPerSM, SharedPerSM: l.SharedPerSM, SharedPerBlock: l.SharedPerBlock,
			SharedOptIn: l.SharedOptIn, SharedReserved: l.SharedReserved,
		})
	}
	for _, d := range device.All() {
		j := deviceJSON{
			Name: d.Name, Aliases: d.Aliases, MemoryFrom: d.MemoryFrom.String(),
			ComputeCapability: d.ComputeCapability.String(), SMs: d.SMs, Source: d.Source, Driver: d.Figures.Driver,
			L2: d.Figures.L2, ClockKHz: d.Figures.Clock, MemoryClockKHz: d.Figures.MemoryClock,
			MemoryBusBits: d.Figures.MemoryBus, FiguresSource: d.Figures.Source,
		}
		if j.Aliases == nil {
			j.Aliases = []string{}
		}
		if d.Kind != device.None {
			j.Memory = &d.Memory
		} else {
			j.MemoryFrom, j.ComputeCapability = "", ""
		}
		if d.ContextKnown {
			j.Context = &d.Context
		}
		if c := d.ContextRange; c != nil {
			j.ContextRange = &report.Context{Low: c.Low, High: c.High, Source: c.Source}
		}
		out.Devices = append(out.Devices, j)
	}
	return out
}

func writeDevices(cmd *cobra.Command, aliases bool) error {
	kinds, head := "lrllrr", []string{"name", "memory", "from", "capability", "sms", "context"}
	if aliases {
		kinds, head = kinds+"l", append(head, "also")
	}
	t := layout.NewTable(kinds)
	add := func(d *device.Device, cells ...string) {
		if aliases {
			cells = append(cells, strings.Join(d.Aliases, ", "))
		}
		t.Add(append([]string{d.Name}, cells...)...)
	}
	t.Add(head...)
	for _, d := range device.All() {
		if d.Kind == device.None {
			add(&d, "no limit", "", "", "", "none")
			continue
		}
		context := "not known"
		if d.ContextKnown {
			context = d.Context.String()
		} else if c := d.ContextRange; c != nil {
			context = fmt.Sprintf("%d to %d MiB", c.Low/units.MiB, c.High.RoundUp(units.MiB)/units.MiB)
		}
		add(&d, d.Memory.String(), d.MemoryFrom.String(), d.ComputeCapability.String(), strconv.Itoa(d.SMs), context)
	}
	p := layout.To(cmd.OutOrStdout())
	p.Table(0, t)
	return p.Err
}
