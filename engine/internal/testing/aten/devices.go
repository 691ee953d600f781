package aten

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Devices runs the family's calls on each device of testdata/aten/<torch>/devices and compares
// births and deaths, workspaces among them. A workspace that the engine takes by formula may be any
// size up to its upper figure; what is estimated or noted is that of testdata/doubted.txt. Calls in
// testdata/devices.txt must differ on some device, for the reason given there.
func Devices(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	differ, doubted := runDevices(t, table, keys(family), exceptions(t, "testdata/devices.txt"))
	CompareList(t, "testdata/devices.txt", differ)
	doubted.compare(t, "testdata/doubted.txt", "What calls do on a device, as far as it is known, and what is noted. "+
		"MEMSPEC_UPDATE=1 go test -run TestDevices")
}

// runDevices returns the calls that differ on some device, where those that are not listed are
// errors, and what is reported of those that are not exact, by device and call.
func runDevices(
	t *testing.T, table *ops.Table, family map[string]bool, listed map[string]string,
) (differ []string, doubted reports) {
	doubted = reports{}
	tables, err := filepath.Glob(filepath.Join(dumps(t), "devices", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	for _, path := range tables {
		device := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(device, func(t *testing.T) {
			known := deviceTable(t, path)
			p := On(t, device, "2.15")
			visit := func(c *call) {
				want, ok := known[c.name]
				if !ok {
					want, ok = recordedEvents(c.Events), c.place != ""
				}
				if !ok || want == nil || c.Error || slices.Contains(want, "!") {
					return
				}
				r := newRun(table, p)
				r.bench = newLowerBench(table, p) // what a pretend GPU holds reads as zero
				got := r.onDevice(t, &c.sample)
				if notes := notesOf(r.bench); notes != "" || len(r.bench.Upper()) > 0 {
					doubted.add(device+":"+c.name, got.String()+notes)
				}
				same := got.agrees(want)
				if same || slices.Contains(differ, c.name) {
					return
				}
				differ = append(differ, c.name)
				if !r.bench.doubted() {
					t.Errorf("%s: differs and is called exact: want it in the family's lacks\nwant %s\ngot  %s\n%s",
						c.name, strings.Join(want, " "), got, again(t))
				}
				if listed[c.name] == "" && !golden.Updating() {
					t.Errorf("%s: %s\nwant %s\ngot  %s\n%s", c.name, c.place, strings.Join(want, " "), got, again(t))
				}
			}
			eachOnDevice(t, family, visit)
		})
	}
	return differ, doubted
}

// eachOnDevice visits a family's calls that the tables of devices have.
func eachOnDevice(t *testing.T, family map[string]bool, visit func(*call)) {
	t.Helper()
	onFakes := []string{"written.jsonl", "written_limits.jsonl", "written_ways.jsonl", "written_varied_host.jsonl"}
	calls{family: family, files: sampleFiles(t)}.each(t, func(c *call) {
		if file, _, _ := strings.Cut(filepath.Base(c.place), ":"); !slices.Contains(onFakes, file) {
			visit(c)
		}
	})
	calls{family: family, files: []string{filepath.Join(dumps(t), "devices", "calls.jsonl")}, plus: true}.each(t, visit)
}

// deviceTable reads the events of a device by call: "+512" a birth, "-0" the death of the first
// that was born, "-x" of a storage that was there before.
func deviceTable(t *testing.T, path string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, l := range lines(t, path) {
		f := strings.Fields(l)
		out[f[0]] = f[1:]
	}
	return out
}

// recordedEvents are a sample's events in the words of a device's table; nil where a storage
// changes its size, which a table reports otherwise.
func recordedEvents(events [][]any) []string {
	births, out := map[int]int{}, []string{}
	for _, e := range events {
		switch e[0] {
		case "a":
			births[intOf(e[2])] = len(births)
			out = append(out, fmt.Sprintf("+%v", e[1]))
		case "f":
			if n, ok := births[intOf(e[1])]; ok {
				out = append(out, "-"+strconv.Itoa(n))
			} else {
				out = append(out, "-x")
			}
		default:
			return nil
		}
	}
	return out
}

// others are releases and devices without a table of PyTorch's, each beside one that has a table.
var others = [][2]string{{"t4 2.2", "t4 2.15"}, {"a10g 2.10", "a10g 2.15"}, {"b200 2.15", "h100-sxm-80gb 2.15"}}

// Others runs the family's calls on other releases of PyTorch and another device: what is otherwise
// there than on those of the tables is that of testdata/others.txt.
func Others(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	golden.NeedsWhole(t, "the releases that models run on are few")
	got := reports{}
	for _, pair := range others {
		account := func(c *call, on string) string {
			device, torch, _ := strings.Cut(on, " ")
			r := newRun(table, On(t, device, torch))
			r.bench = newLowerBench(table, On(t, device, torch))
			return r.onDevice(t, &c.sample).String() + notesOf(r.bench)
		}
		eachOnDevice(t, keys(family), func(c *call) {
			if text := account(c, pair[0]); text != account(c, pair[1]) {
				got.add(strings.ReplaceAll(pair[0], " ", ":")+":"+c.name, text)
			}
		})
	}
	got.compare(t, "testdata/others.txt", "What calls do on a release or device otherwise than where PyTorch's own answer "+
		"is known. MEMSPEC_UPDATE=1 go test -run TestOthers")
}

// deviceEvent is a birth or a death in the engine's account.
type deviceEvent struct {
	birth   bool
	storage tensor.StorageID
	bytes   int64
	upper   int64 // of a birth whose size is an estimate, else 0
	before  bool  // the death of a storage that was there before
}

// deviceEvents is what a call did, or why it did not run.
type deviceEvents struct {
	events []deviceEvent
	err    string
}

// onDevice runs a call.
func (r *run) onDevice(t *testing.T, s *sample) deviceEvents {
	args, kw := r.arguments(t, s)
	_, happened, err := r.bench.Run(s.Op, args, kw)
	var missing *ops.MissingError
	switch {
	case errors.As(err, &missing):
		return deviceEvents{err: "no rule for " + missing.Op}
	case err != nil:
		return deviceEvents{err: err.Error()}
	case len(r.bench.Missing()) > 0:
		return deviceEvents{err: fmt.Sprintf("needs %v", r.bench.Missing()[0])}
	}
	upper := map[tensor.StorageID]int64{}
	for _, e := range r.bench.Upper() {
		upper[e.Storage] = int64(e.Bytes)
	}
	born := map[tensor.StorageID]bool{}
	out := deviceEvents{}
	for _, e := range happened {
		if e.Action != trace.EmptyCache {
			out.events = append(out.events, deviceEvent{e.Action == trace.Alloc, e.Storage, int64(e.Bytes),
				upper[e.Storage], e.Action != trace.Alloc && !born[e.Storage]})
			born[e.Storage] = true
		}
	}
	return out
}

// agrees says whether the account is that of a table, an estimate being any birth up to its upper
// figure, or none.
func (d deviceEvents) agrees(want []string) bool {
	return d.err == "" && agrees(d.events, want, map[tensor.StorageID]string{}, 0)
}

// agrees compares what is left of both; number is by which name the table calls a storage, "" where
// it has none; births counts its births so far.
func agrees(got []deviceEvent, want []string, number map[tensor.StorageID]string, births int) bool {
	if len(got) == 0 {
		return len(want) == 0
	}
	e := got[0]
	name, known := number[e.storage]
	switch {
	case !e.birth && known && name == "":
		return agrees(got[1:], want, number, births)
	case !e.birth:
		if e.before {
			name = "x"
		}
		return len(want) > 0 && want[0] == "-"+name && agrees(got[1:], want[1:], number, births)
	}
	if len(want) > 0 && want[0][0] == '+' {
		n, err := strconv.ParseInt(want[0][1:], 10, 64)
		if err == nil && (n == e.bytes || n <= e.upper) {
			number[e.storage] = strconv.Itoa(births)
			if agrees(got[1:], want[1:], number, births+1) {
				return true
			}
		}
	}
	if e.upper == 0 {
		return false
	}
	number[e.storage] = ""
	return agrees(got[1:], want, number, births)
}

func (d deviceEvents) String() string {
	if d.err != "" {
		return d.err
	}
	births := map[tensor.StorageID]int{}
	var out []string
	for _, e := range d.events {
		switch {
		case e.birth && e.upper > 0:
			births[e.storage] = len(births)
			out = append(out, fmt.Sprintf("+%d(≤%d)", e.bytes, e.upper))
		case e.birth:
			births[e.storage] = len(births)
			out = append(out, fmt.Sprintf("+%d", e.bytes))
		case e.before:
			out = append(out, "-x")
		default:
			out = append(out, fmt.Sprintf("-%d", births[e.storage]))
		}
	}
	return strings.Join(out, " ")
}
