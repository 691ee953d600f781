package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
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
	Source            string       `json:"source"`
	Driver            string       `json:"driver"`
	L2                units.Bytes  `json:"l2"` // 0, like the three that follow: not known
	ClockKHz          int          `json:"clock_khz"`
	MemoryClockKHz    int          `json:"memory_clock_khz"`
	MemoryBusBits     int          `json:"memory_bus_bits"`
	FiguresSource     string       `json:"figures_source"`
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
		Long: `List the GPUs memspec knows. Memory is what the driver or nvidia-smi reports where a public log tells, else marked nominal;
a context cost is given only where a source exists. Own devices go under devices: in memspec.yaml.`,
		Example: `  memspec devices
  memspec devices --format json`,
		Args:              wantArgs(0, 0, "none"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if format.value == "json" {
			return report.EncodeJSON(cmd.OutOrStdout(), devicesAsJSON())
		}
		return writeDevices(cmd)
	}
	return cmd
}

func devicesAsJSON() devicesJSON {
	out := devicesJSON{Schema: 1, Devices: []deviceJSON{}, Capabilities: []limitsJSON{}}
	for _, l := range device.AllLimits() {
		out.Capabilities = append(out.Capabilities, limitsJSON{ComputeCapability: l.ComputeCapability.String(), ThreadsPerSM: l.ThreadsPerSM,
			BlocksPerSM: l.BlocksPerSM, RegistersPerSM: l.RegistersPerSM, SharedPerSM: l.SharedPerSM, SharedPerBlock: l.SharedPerBlock,
			SharedOptIn: l.SharedOptIn, SharedReserved: l.SharedReserved})
	}
	for _, d := range device.All() {
		j := deviceJSON{Name: d.Name, Aliases: d.Aliases, MemoryFrom: d.MemoryFrom.String(), ComputeCapability: d.ComputeCapability.String(),
			SMs: d.SMs, Source: d.Source, Driver: d.Figures.Driver, L2: d.Figures.L2, ClockKHz: d.Figures.Clock, MemoryClockKHz: d.Figures.MemoryClock,
			MemoryBusBits: d.Figures.MemoryBus, FiguresSource: d.Figures.Source}
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
		out.Devices = append(out.Devices, j)
	}
	return out
}

func writeDevices(cmd *cobra.Command) error {
	t := layout.NewTable("lrllrrl")
	t.Add("name", "memory", "from", "capability", "sms", "context", "aliases")
	for _, d := range device.All() {
		if d.Kind == device.None {
			t.Add(d.Name, "no limit", "", "", "", "none", strings.Join(d.Aliases, ", "))
			continue
		}
		context := "not known"
		if d.ContextKnown {
			context = d.Context.String()
		}
		t.Add(d.Name, d.Memory.String(), d.MemoryFrom.String(), d.ComputeCapability.String(), strconv.Itoa(d.SMs), context, strings.Join(d.Aliases, ", "))
	}
	p := layout.To(cmd.OutOrStdout())
	p.Table(0, t)
	return p.Err
}
