package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// measuredPeaks are five torchvision models as measured by torch.cuda.max_memory_allocated and
// max_memory_reserved on a desktop GPU (eager, float32, batch 1, 224×224, torch 2.10.0 with cuDNN
// 9.10.2, first pass), in MiB to two decimals as they were published. The GPU is not named; by its
// convolutions' workspace it is of compute capability 8.9.
var measuredPeaks = []struct {
	model                         string
	baseline, allocated, reserved float64
	exact                         bool // no convolution's workspace lies at the peak
}{
	{"alexnet", 234.03, 242.22, 246, true},
	{"mobilenet_v3_small", 10.38, 18.51, 28, true},
	{"resnet50", 98.30, 109.37, 142, false},
	{"resnet101", 171.23, 181.98, 196, false},
	{"vgg16", 529.62, 566.51, 578, false},
}

// The tolerances of the rule that replaces a convolution's workspace (input + weight bytes).
const (
	allocatedTolerance = 0.7 // percent
	reservedTolerance  = 2.0
)

func measuredCase(t testing.TB, model string) *report.Report {
	t.Helper()
	m, err := engine.Open(filepath.Join("..", "testdata", "artifacts", "torchvision", model+".script.pt"))
	require.NoError(t, err)
	d, err := device.Lookup("rtx-4090")
	require.NoError(t, err)
	v, err := platform.ParseVersion("2.10")
	require.NoError(t, err)
	c := spec.Case{Runtime: spec.Eager}
	c.Platform, err = platform.New(d, v)
	require.NoError(t, err)
	in, err := spec.ParseInput("float32[1,3,224,224]")
	require.NoError(t, err)
	c.Inputs = []spec.Input{in}
	r, err := m.Run(context.Background(), c)
	require.NoError(t, err)
	return r.Report
}

func mib(b units.Bytes) float64 { return math.Round(float64(b)/float64(units.MiB)*100) / 100 }

func percent(got, want float64) float64 { return 100 * (got - want) / want }

// TestMeasuredPeaks compares five predictions with a real GPU.
func TestMeasuredPeaks(t *testing.T) {
	for _, want := range measuredPeaks {
		t.Run(want.model, func(t *testing.T) {
			r := measuredCase(t, want.model)
			first := r.Passes[0].Peak
			require.Equal(t, want.baseline, mib(r.Baseline.Allocated), "baseline")
			if want.exact {
				require.Equal(t, want.allocated, mib(first.Allocated), "allocated")
			}
			require.LessOrEqual(t, math.Abs(percent(mib(first.Allocated), want.allocated)), allocatedTolerance,
				"allocated: got %v, want %v", mib(first.Allocated), want.allocated)
			require.LessOrEqual(t, math.Abs(percent(mib(first.Reserved), want.reserved)), reservedTolerance,
				"reserved: got %v, want %v", mib(first.Reserved), want.reserved)
		})
	}
}

// TestTruthTables prints the tables of docs/accuracy.md: go test ./engine -run TestTruthTables -v
func TestTruthTables(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints tables: make truth")
	}
	printMeasuredPeaks(t)
	all := compareAll(t)
	if os.Getenv("MEMSPEC_CONFORMANCE") == "" {
		all = append(all, settingsAccounts(t)...)
	}
	printConformance(all)
}

// printConformance sums up event-for-event agreement by kind of archive and runtime.
func printConformance(all []account) {
	type row struct {
		cases, exact, events, agree, peaks int
		worst                              float64
	}
	rows := map[string]*row{}
	groups := []string{"torchvision", "settings", "small"}
	for _, a := range all {
		if !slices.Contains(groups, a.group) {
			groups = append(groups, a.group)
		}
		k := a.group + " " + a.kind + "." + a.runtime
		if rows[k] == nil {
			rows[k] = &row{}
		}
		r := rows[k]
		r.cases++
		r.events += a.events
		r.agree += a.agree
		if a.exact {
			r.exact++
		}
		if a.err == nil && a.peak == a.want {
			r.peaks++
		}
		r.worst = max(r.worst, math.Abs(a.peakError()))
	}
	fmt.Println("\n| archives, kind and runtime | cases | streams exact | events | peaks equal | worst peak error |\n" +
		"|---|---:|---:|---:|---:|---:|")
	for _, group := range groups {
		for _, k := range []string{"script.torchscript", "trace.torchscript", "script.eager", "trace.eager"} {
			if r := rows[group+" "+k]; r != nil {
				fmt.Printf("| %s %s | %d | %d | %d | %d | %.2f %% |\n", group, k, r.cases, r.exact, r.events, r.peaks, r.worst)
			}
		}
	}
	lines, alike := 0, 0
	for _, a := range all {
		if a.runtime == "eager" && a.exact {
			lines += a.lines
			alike += a.linesAgree
		}
	}
	fmt.Printf("\nallocations whose line of the user's code was recorded, in exact eager streams: %d; predicted at that "+
		"line: %d\n\n", lines, alike)
	for _, a := range all {
		if a.err != nil {
			fmt.Printf("%s: %v\n", a.name(), a.err)
		} else if !a.exact {
			fmt.Printf("%s: %s\n", a.name(), a.parted)
		}
	}
}

// TestUserLines holds the lines that eager predictions name for allocations against those that
// Python was at, outside PyTorch's own files.
func TestUserLines(t *testing.T) {
	differ := map[string]int{
		"several_lines/script.eager": 1, // of a method chain over several lines an archive names the first
		"number_first/script.eager":  5, // 1 - x and the like: scripting makes them of functions in a file <string>
		"swin_v2_t/script.eager":     12,
	}
	lines := 0
	for _, a := range compareAll(t) {
		if a.runtime != "eager" || !a.exact {
			continue
		}
		lines += a.lines
		assert.Equal(t, a.lines-differ[a.name()], a.linesAgree, "%s: MEMSPEC_LINES=1 go test ./engine -run TestUserLines "+
			"names them", a.name())
	}
	least := 10_000
	if !golden.Whole() {
		least = 3000
	}
	require.Greater(t, lines, least)
}
