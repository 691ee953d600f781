package device_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/units"
)

func TestRows(t *testing.T) {
	golden.Run(t, "testdata/rows.txtar", func(a *golden.Archive) {
		var rows, limits strings.Builder
		for _, d := range device.All() {
			f := d.Figures
			fmt.Fprintf(&rows, "%s: %s %d B %s, %s, %d SMs", d.Name, d.Kind, d.Memory, d.MemoryFrom, d.ComputeCapability, d.SMs)
			if d.ContextKnown {
				fmt.Fprintf(&rows, ", context %d B", d.Context)
			}
			if c := d.ContextRange; c != nil {
				fmt.Fprintf(&rows, ", context %d to %d B (%s)", c.Low, c.High, c.Source)
			}
			fmt.Fprintf(&rows, "; %s", f.Driver)
			if f.L2 > 0 {
				fmt.Fprintf(&rows, ", L2 %d B", f.L2)
			}
			if f.Clock > 0 {
				fmt.Fprintf(&rows, ", %d and %d kHz, %d bits", f.Clock, f.MemoryClock, f.MemoryBus)
			}
			fmt.Fprintf(&rows, "; also %s\n", strings.Join(d.Aliases, ", "))
		}
		for _, l := range device.AllLimits() {
			fmt.Fprintf(&limits, "%s: %d threads, %d blocks, %d registers; shared %d B, %d B a block, %d B at most, %d B kept\n",
				l.ComputeCapability, l.ThreadsPerSM, l.BlocksPerSM,
				l.RegistersPerSM, l.SharedPerSM, l.SharedPerBlock, l.SharedOptIn, l.SharedReserved)
		}
		var logs strings.Builder
		for _, l := range device.Logs() {
			fmt.Fprintln(&logs, l)
		}
		a.Want("logs", []byte(logs.String()))
		a.Want("rows", []byte(rows.String()))
		a.Want("limits", []byte(limits.String()))
	})
}

// Every card has a context cost, or a range of it that logs report: its own where there are any.
// The T4's was measured, and its logs agree.
func TestContexts(t *testing.T) {
	for _, d := range device.All() {
		assert.Equal(t, !d.ContextKnown, d.ContextRange != nil, d.Name)
		if c := d.ContextRange; c != nil {
			assert.Greater(t, c.Low, 64*units.MiB, d.Name)
			assert.Less(t, c.Low, c.High, d.Name)
			assert.Less(t, c.High, units.GiB, d.Name)
			assert.Regexp(t, `^[0-9]+ public logs of (the card|cards of [0-9]+\.[0-9]|other cards), such as `, c.Source, d.Name)
		}
	}
	t4, err := device.Lookup("t4")
	require.NoError(t, err)
	low, high := device.LogsOf("t4")
	assert.Less(t, low, t4.Context)
	assert.Greater(t, high, t4.Context, "what two logs report has room for what torch-preflight measured")
}

// What libraries load after the context is part of the range. Nobody's figure of a whole process
// lies outside of it.
func TestContextsHoldWhatLoadsLater(t *testing.T) {
	const hundredth = units.GiB / 100
	for _, tt := range []struct {
		device       string
		start, whole units.Bytes // published figures; 0 where there is none
	}{
		// vLLM 0.19: 0.51 GiB at its start, 0.24 to 0.27 GiB more over the profile run
		{"h100-sxm-80gb", 51 * hundredth, (51 + 27) * hundredth},
		{"h100-sxm-80gb", 51 * hundredth, (51 + 24) * hundredth},
		{"h100-pcie-80gb", 51 * hundredth, (51 + 27) * hundredth},
		// the most of the logs of 8.6, and what language models of xMem took beside reserved
		{"rtx-3060", 0, 325*units.MiB + 34*units.MiB},
	} {
		d, err := device.Lookup(tt.device)
		require.NoError(t, err)
		c := d.ContextRange
		require.NotNil(t, c, tt.device)
		assert.GreaterOrEqual(t, c.High, tt.whole, tt.device)
		if tt.start > 0 {
			assert.LessOrEqual(t, c.Low, tt.start, tt.device)
			assert.Greater(t, c.Low, tt.start-2*hundredth, "%s: two logs agree", tt.device)
		}
		assert.Contains(t, c.Source, "for what libraries load later (", tt.device)
	}
}

// Where a source quotes bytes, the row has them.
func TestMemoryIsWhatTheSourceQuotes(t *testing.T) {
	quoted := regexp.MustCompile(`\((\d{10,}) bytes\)`)
	n := 0
	for _, d := range device.All() {
		m := quoted.FindStringSubmatch(d.Source)
		if m == nil || d.MemoryFrom != device.Runtime {
			continue
		}
		n++
		assert.Equal(t, m[1], strconv.FormatInt(int64(d.Memory), 10), d.Name)
	}
	assert.Greater(t, n, 10)
}

func TestWords(t *testing.T) {
	assert.Equal(t, "cuda none", device.CUDA.String()+" "+device.None.String())
	for from, want := range map[device.MemoryFrom]string{device.Nominal: "nominal", device.Runtime: "cuda",
		device.SMI: "nvidia-smi", device.Given: "given"} {
		assert.Equal(t, want, from.String())
	}
}
