package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

type devicesJSON struct {
	Schema  int          `json:"schema"`
	Devices []deviceJSON `json:"devices"`
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
	out := devicesJSON{Schema: 1, Devices: []deviceJSON{}}
	for _, d := range device.All() {
		j := deviceJSON{Name: d.Name, Aliases: d.Aliases, MemoryFrom: d.MemoryFrom.String(), ComputeCapability: d.ComputeCapability.String(),
			SMs: d.SMs, Source: d.Source}
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
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tmemory\tfrom\tcapability\tsms\tcontext\taliases")
	for _, d := range device.All() {
		if d.Kind == device.None {
			fmt.Fprintf(w, "%s\tno limit\t\t\t\tnone\t%s\n", d.Name, strings.Join(d.Aliases, ", "))
			continue
		}
		context := "not known"
		if d.ContextKnown {
			context = d.Context.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Name, d.Memory, d.MemoryFrom, d.ComputeCapability, strconv.Itoa(d.SMs), context,
			strings.Join(d.Aliases, ", "))
	}
	return w.Flush()
}
