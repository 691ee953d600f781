package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

// TestHeldByLine: what is held at the peak, by line: what was there before and what was allocated
// before the first pass in one row, what has no line in another, the largest first.
func TestHeldByLine(t *testing.T) {
	tr := &trace.Trace{Passes: trace.FirstAndSteady()}
	alloc := func(size units.Bytes, pass int, site trace.Site) {
		id := trace.NoSite
		if site != (trace.Site{}) {
			id = trace.SiteID(len(tr.Sites))
			tr.Sites = append(tr.Sites, site)
		}
		tr.Events = append(tr.Events, trace.Event{Action: trace.Alloc, Storage: tensor.StorageID(len(tr.Events)), Bytes: size,
			Pass: pass, Site: id})
	}
	alloc(512, 0, trace.Site{Op: "w", File: "net.py", Line: 7})
	alloc(1024, 1, trace.Site{Op: "mm", File: "net.py", Line: 7})
	alloc(2048, 1, trace.Site{Op: "relu"})
	alloc(1024, 1, trace.Site{Op: "add", File: "net.py", Line: 7})
	alloc(512, 1, trace.Site{Op: "mm", File: "net.py", Line: 7})
	held := func(a allocator.Config) []string {
		a.Heap = tr.Heap
		model, err := allocator.New(a)
		require.NoError(t, err)
		tl, err := allocator.Replay(tr, model)
		require.NoError(t, err)
		var out []string
		for _, l := range heldByLine(tl) {
			out = append(out, fmt.Sprint(int64(l.mem), " ", l, " ", len(l.blocks)))
		}
		return out
	}
	assert.Equal(t, []string{"2560 net.py:7 (mm, add) 3", "2048 no line known (relu) 1", "512 untraced 1"},
		held(allocator.Config{}))
	tr.Heap = []trace.Segment{{Addr: 1 << 40, Size: 2 * units.MiB, Small: true, Blocks: []trace.Block{
		{Addr: 1 << 40, Size: units.MiB, Requested: units.MiB, State: trace.ActiveAllocated, Storage: trace.NoStorage},
		{Addr: 1<<40 + 1<<20, Size: units.MiB, State: trace.Inactive, Storage: trace.NoStorage}}}}
	assert.Equal(t, []string{"1049088 untraced 2", "2560 net.py:7 (mm, add) 3", "2048 no line known (relu) 1"},
		held(allocator.Config{}), "what was handed out before is untraced")
}

// TestWhatUpdateLeaves: which budgets are gathered, at what they have to be, and what is left as
// it is and why.
func TestWhatUpdateLeaves(t *testing.T) {
	at := func(line, col int) verdict.Pos { return verdict.Pos{File: "m.yaml", Line: line, Col: col} }
	budget := func(m report.Metric, text string, limit units.Bytes, pos verdict.Pos) verdict.Budget {
		return verdict.Budget{Metric: m, Text: text, Limit: limit, Pos: pos, Path: "p." + string(m)}
	}
	reserved, share := budget(report.Reserved, "4MiB", 4*units.MiB, at(3, 4)), budget(report.Allocated, "50%", 5, at(3, 9))
	tokens := budget(report.KVTokens, "9", 9, at(4, 4))
	of := func(name string, budgets []verdict.Budget, findings ...verdict.Finding) *suite.Result {
		return &suite.Result{Case: spec.Case{Name: name, Budgets: budgets}, Report: &report.Report{},
			Verdict: verdict.Verdict{Findings: findings}}
	}
	found := func(b verdict.Budget, outcome verdict.Outcome, predicted units.Bytes) verdict.Finding {
		return verdict.Finding{Budget: b, Outcome: outcome, Known: true, Predicted: predicted, Why: "why"}
	}
	u := &update{headroom: 0.5, of: map[verdict.Pos]int{}}
	all := []verdict.Budget{reserved, share, tokens}
	failed := of("erred", nil)
	failed.Err, failed.Verdict.Outcome = errors.New("a\nb"), verdict.Error
	u.add(failed)
	unfit := of("unfit", all, found(reserved, verdict.Fail, 9))
	unfit.Report.OOM, unfit.Report.Device = &report.OutOfMemory{}, "t4"
	u.add(unfit)
	partial := of("partial", all, found(reserved, verdict.Fail, 9))
	partial.Report.Quality, partial.Report.Coverage.Unsupported = report.Incomplete, []report.Unsupported{{Op: "my::op"}}
	u.add(partial)
	assert.Empty(t, u.budgets)
	unknown := found(reserved, verdict.Fail, 99)
	added, other := unknown, unknown
	unknown.Known, added.Pos.Line, other.Pos = false, 0, at(9, 9)
	u.add(of("nothing to change", all, unknown, added, other, found(tokens, verdict.Pass, 10)))
	assert.Empty(t, u.budgets)
	few := found(tokens, verdict.Fail, 3)
	u.add(of("few tokens", all, few))
	u.add(of("small", all, found(reserved, verdict.Pass, units.MiB), found(share, verdict.Pass, 3)))
	u.add(of("large", all, found(reserved, verdict.Fail, 5*units.MiB), found(share, verdict.Fail, 7)))
	open := found(reserved, verdict.Inconclusive, 3*units.MiB)
	open.Open = true
	u.add(of("open", all, open))
	up := of("upper", all, found(share, verdict.Pass, 2*units.MiB))
	up.Report.Upper = &report.Upper{Allocated: 4 * units.MiB}
	u.add(up)
	likely := of("likely", all, found(share, verdict.Pass, 2*units.MiB))
	likely.Report.Upper, likely.Case.Judge = &report.Upper{Allocated: 40 * units.MiB}, verdict.ByLikely
	u.add(likely)
	assert.Equal(t, []string{"erred: a; b", "unfit: does not fit t4, which no budget changes",
		"partial: " + report.Lacking(partial.Report.Coverage.Unsupported),
		"few tokens: " + few.String(),
		"p.allocated = 50%, which large breaks with 7 B", "p.reserved = 4MiB of open: why"}, u.left)
	assert.Equal(t, []verdict.Outcome{verdict.Error, verdict.Fail, verdict.Inconclusive, verdict.Fail, verdict.Fail,
		verdict.Inconclusive}, u.outcomes)
	require.Len(t, u.budgets, 2)
	assert.Equal(t, updated{reserved, 8 * units.MiB, 5 * units.MiB, true, 3}, *u.budgets[0],
		"half as much more than 5 MiB, in whole MiB")
	assert.Equal(t, updated{share, 6 * units.MiB, 2 * units.MiB, false, 4}, *u.budgets[1])
}

// TestWhichBudgetsChange: those that are broken, and with --tighten those that have more room than
// asked for in all of their cases; the last of the file first.
func TestWhichBudgetsChange(t *testing.T) {
	at := func(line, col int) verdict.Pos { return verdict.Pos{Line: line, Col: col} }
	of := func(pos verdict.Pos, limit, most, needs units.Bytes, fixed bool) *updated {
		return &updated{verdict.Budget{Limit: limit, Pos: pos}, needs, most, fixed, 1}
	}
	u := &update{of: map[verdict.Pos]int{at(5, 1): 1, at(6, 1): 2}, budgets: []*updated{
		of(at(2, 3), 10, 11, 12, true), of(at(2, 9), 10, 11, 12, true), of(at(1, 20), 10, 11, 12, true),
		of(at(3, 1), 10, 11, 12, false), of(at(4, 1), 10, 11, 10, true), of(at(5, 1), 10, 5, 6, true),
		of(at(6, 1), 10, 5, 6, true), of(at(7, 1), 10, 10, 12, true),
	}}
	places := func() (out []string) {
		for _, b := range u.changed() {
			out = append(out, fmt.Sprint(b.Pos.Line, ":", b.Pos.Col))
		}
		return out
	}
	assert.Equal(t, []string{"2:9", "2:3", "1:20"}, places())
	u.tighten = true
	assert.Equal(t, []string{"5:1", "2:9", "2:3", "1:20"}, places())
}

// TestAnswersOfFit: what fit prints of each dim: the largest value, what breaks next, the holes,
// how it was searched, and what the figures are worth.
func TestAnswersOfFit(t *testing.T) {
	s := &cli.Subject{Base: spec.Case{Dims: []spec.Dim{{Name: "B", Value: 3}, {Name: "H", Value: 5}}, Budgets: []verdict.Budget{
		{Metric: report.Reserved, Limit: units.GiB}, {Metric: report.Total, Text: "60%"}}}}
	written := func(j fitJSON, open ...string) string {
		var b strings.Builder
		s.Open, j.Case, j.Device = open, "m", "t4"
		require.NoError(t, j.write(&b, s))
		return b.String()
	}
	const budgets = "  budgets    reserved 1.00 GiB, total 60%\n"
	next := &nextJSON{Value: 9, Metric: report.Reserved, Predicted: 2 * units.GiB, Limit: units.GiB}
	assert.Equal(t, "m on t4: the largest B that fits is 8\n"+budgets+
		"  next       B=9: reserved 2.00 GiB of 1.00 GiB\n"+
		"  tried      7 values by halving, with values around the answer tried\n",
		written(fitJSON{Dims: []fitDimJSON{{Dim: "B", Largest: 8, Next: next, Tried: 7, Quality: report.Exact}}}, "B"))
	assert.Equal(t, "m on t4: every B up to 8 fits, which is the most that was tried (--most)\n"+budgets+
		"  holes      3 5: smaller values that do not fit\n"+
		"  tried      7 values each in a separate run, with values around the answer\n             tried\n",
		written(fitJSON{Dims: []fitDimJSON{{Dim: "B", Largest: 8, Tried: 7, recorded: true, Holes: []int64{3, 5}}}}, "B"))
	unsure := &nextJSON{Value: 1, Metric: report.Reserved, Predicted: 3, Why: "nobody knows", Unsure: true}
	assert.Equal(t, "m on t4: whether B=4 fits is unknown (H=5)\n"+budgets+
		"  next       B=1: reserved 3 B: nobody knows\n"+
		"  tried      1 values one after the other: fitting comes and goes with growing\n             values\n"+
		"  quality    incomplete: sizes are missing\n"+
		"m on t4: not even H=1 fits (B=3)\n"+budgets+
		"  tried      2 values by halving, with values around the answer tried\n"+
		"  together:\n    B  largest H\n    1          9\n    2          4\n",
		written(fitJSON{Dims: []fitDimJSON{{Dim: "B", Next: unsure, Tried: 1, Scanned: true, multiple: 4,
			Quality: report.Incomplete, recorded: true}, {Dim: "H", Tried: 2}}, Pairs: []fitPairJSON{{1, 9}, {2, 4}}}, "B", "H"))
	s.Base.Budgets, s.Base.Dims = nil, nil
	assert.Equal(t, "m on t4: not even B=1 fits (H=1)\n  budgets    none: what the device holds\n"+
		"  tried      0 values by halving, with values around the answer tried\n",
		written(fitJSON{Dims: []fitDimJSON{{Dim: "B"}}}, "B", "H"))
	world := &fitWorldJSON{Fewest: 8, Before: &nextJSON{Value: 4, Metric: report.Reserved, Predicted: 9, Limit: 5},
		Holes: []int64{16, 32}, Tried: 5, first: 1, last: 64, node: 8, Quality: report.Estimated}
	assert.Equal(t, "m on t4: the fewest GPUs on which it fits: 8\n  budgets    none: what the device holds\n"+
		"  before     4: reserved 9 B of 5 B\n  holes      16 32: larger worlds that do not fit\n"+
		"  tried      5 worlds from 1 to 64, each in separate runs: parts and multiples\n             of a node of 8\n"+
		"  quality    estimate: memspec estimate at one value says what was assumed, and\n             the upper figures\n",
		written(fitJSON{World: world}))
	world.Fewest, world.Holes, world.Quality = 0, nil, report.Exact
	assert.Contains(t, written(fitJSON{World: world}), "\n  at         4: reserved 9 B of 5 B\n  tried  ")
	assert.Equal(t, cli.ExitBroken, (&fitJSON{World: world}).exit())
	world.Before = nil
	assert.Contains(t, written(fitJSON{World: world}), "\n  before     nothing smaller was asked for (--world-size)\n")
}

// TestLargestOfMultiples: values are searched as multiples of a number and reported as they are.
func TestLargestOfMultiples(t *testing.T) {
	base := spec.Case{Name: "m", Artifact: "../../testdata/artifacts/small/module_list.script.pt"}
	d, err := device.Lookup("none")
	require.NoError(t, err)
	base.Platform, err = platform.New(d, platform.Newest())
	require.NoError(t, err)
	in, err := spec.ParseInput("float32[1,32]")
	require.NoError(t, err)
	base.Inputs = []spec.Input{in}
	var tried []int64
	found, err := largest(context.Background(), new(suite.Models), func(v int64) (spec.Case, error) {
		tried = append(tried, v)
		c := base
		c.Budgets = []verdict.Budget{{Metric: report.Weights, Limit: units.GiB}}
		if v > 20 {
			c.Budgets[0].Limit = 1
		}
		return c, nil
	}, 50, 8)
	require.NoError(t, err)
	assert.Equal(t, []int64{16, 24}, []int64{found.Largest, found.Next.Value})
	for _, v := range tried {
		assert.Zero(t, v%8)
		assert.LessOrEqual(t, v, int64(48))
	}
}

// TestNamedDevices: the cards of --devices, the least memory first, with equal ones in their
// order.
func TestNamedDevices(t *testing.T) {
	names := func(text string) (out []string) {
		devices, err := devicesNamed(text)
		require.NoError(t, err, text)
		for _, d := range devices {
			out = append(out, d.Name)
		}
		return out
	}
	assert.Equal(t, []string{"t4", "a10g", "a100-sxm-80gb"}, names("a100-sxm-80gb, t4 ,a10g"))
	all := names("all")
	assert.NotContains(t, all, "none")
	assert.Len(t, all, len(device.All())-1)
	_, err := devicesNamed("t4,t5")
	assert.ErrorContains(t, err, `--devices: got device "t5"`)
}

// TestDeviceOfASnapshot: how far a simulated device agrees with the recorded one, and where it
// first did not.
func TestDeviceOfASnapshot(t *testing.T) {
	d := &allocator.DeviceReplay{Device: 1, Events: 9, Allocs: 4, AddressMatch: 4, Peaks: allocator.DevicePeaks{
		Simulated: allocator.PeakSizes{Requested: 1, Allocated: 2, Active: 3, Reserved: 4},
		Recorded:  allocator.PeakSizes{Requested: 1, Allocated: 2, Active: 3, Reserved: 4}}}
	written := func() string {
		var b strings.Builder
		require.NoError(t, writeDevice(&b, "s.pickle", d))
		return b.String()
	}
	assert.Equal(t, "s.pickle, device 1: simulation and recording agree\n"+
		"  9 events, 4 of 4 allocations at their recorded address\n"+
		"      peaks  requested  allocated  active  reserved\n"+
		"  simulated        1 B        2 B     3 B       4 B\n"+
		"   recorded        1 B        2 B     3 B       4 B\n", written())
	d.AddressMatch, d.Skipped, d.Peaks.Simulated.Reserved = 3, 2, 5
	d.FirstMismatch = &allocator.Mismatch{Event: 7, Bytes: units.KiB, Recorded: "0x1", Simulated: "0x2"}
	head, _, _ := strings.Cut(written(), "      peaks")
	assert.Equal(t, "s.pickle, device 1: simulation and recording part\n"+
		"  9 events, 3 of 4 allocations at their recorded address, 2 events skipped:\n"+
		"    unknown, or contradicted by the recording itself\n"+
		"  first elsewhere: event 7, 1.0 KiB (1024 B): recorded at 0x1, simulated at 0x2\n", head)
	c, err := deviceCase("s.pickle", d, &cli.Outputs{})
	require.NoError(t, err)
	var said []string
	for _, f := range c.Findings {
		said = append(said, fmt.Sprint(f.Metric, "; ", f.Text))
	}
	assert.Equal(t, []string{"reserved; reserved: simulated 5 B, recorded 4 B",
		"; 3 of 4 allocations at their recorded address"}, said)
	assert.Equal(t, verdict.Fail, c.Outcome)
	assert.Len(t, c.Figures, 4)
}

// TestFormulaOfACall: a call that the formula does not know, and one on no card, are errors of
// their lines.
func TestFormulaOfACall(t *testing.T) {
	for line, want := range map[string]string{
		`{"compute_capability":"8.6","sms":1,"op":"lstm"}`: "line 1: ",
		`{"compute_capability":"8","sms":1}`:               `line 1: got compute_capability "8", want one such as 8.6`,
		`{"compute_capability":"8.6","sms":0}`:             "line 1: got no sms, want the card's number of multiprocessors",
		strings.Repeat(" ", mostAsked) + "{}":              "bufio.Scanner: token too long",
	} {
		var out strings.Builder
		assert.ErrorContains(t, answerByFormula(strings.NewReader(line+"\n"), &out), want)
		assert.Empty(t, out.String())
	}
}
