package suite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

const batchSpec = `version: 1
models:
  train:
    program: train.py
    args: [--batch, "{N}"]
    dims: {N: 8}
    device: t4
    budget: {allocated: 64MiB}
`

// except is a function with another value at one place.
func except(f func(int64) units.Bytes, at int64, value units.Bytes) func(int64) units.Bytes {
	return func(n int64) units.Bytes {
		if n == at {
			return value
		}
		return f(n)
	}
}

// A search over recorded cases asks for few recordings, and its answer is that of trying every
// value.
func TestLargestOfRecordedCases(t *testing.T) {
	const most = 2000
	linear := func(n int64) units.Bytes { return units.Bytes(n) * 48 * units.KiB }
	for _, c := range []struct {
		name    string
		takes   func(n int64) units.Bytes // of parameters; the rest of the run takes 28 MiB
		largest int64
		holes   []int64
		runs    int // recordings that are asked for
	}{
		{"a line", linear, 768, nil, 16},
		{"a line with steps", func(n int64) units.Bytes { return (linear(n) + units.MiB).RoundUp(2 * units.MiB) }, 746, nil,
			17},
		{"nothing fits", func(int64) units.Bytes { return 63 * units.MiB }, 0, nil, 1},
		{"everything fits", func(n int64) units.Bytes { return units.Bytes(n) * units.KiB }, most, nil, 11},
		{"the value after the next one fits", except(linear, 770, 30*units.MiB), 770, []int64{769}, 38},
		{"a smaller value does not fit", except(linear, 766, 60*units.MiB), 768, []int64{766}, 27},
		{"two smaller values do not fit, one of them further off", except(except(linear, 766, 60*units.MiB), 754,
			60*units.MiB),
			768, []int64{754, 766}, 27},
		{"less fits than the line says, as with gaps between blocks", func(n int64) units.Bytes {
			return linear(n) + units.Bytes(n/741)*10*units.MiB
		}, 740, nil, 28},
		{"grows with the square", func(n int64) units.Bytes { return units.Bytes(n*n) * 48 }, 886, nil, 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, cases := testcase.Project(t, batchSpec, "run()\n")
			models := suite.New(nil)
			var wanted []spec.Case
			models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, *c) }
			bracket := ""
			models.Bracket = func(text string) { bracket = text }
			at := func(n int64) (spec.Case, error) { return cases[0].With(spec.Dim{Name: "N", Value: n}) }
			for runs := 0; runs < 100; {
				wanted = nil
				found, err := models.Largest(context.Background(), at, most)
				if err == nil {
					assert.Equal(t, c.runs, runs)
					assert.Equal(t, c.largest, found.Largest)
					assert.Equal(t, c.holes, found.Holes)
					if 0 < c.largest && c.largest < most {
						assert.Equal(t, fmt.Sprintf("N=%d fits, N=%d does not", c.largest, c.largest+1), bracket)
						require.NotNil(t, found.Next)
						assert.Equal(t, c.largest+1, found.Next.Value)
					}
					return
				}
				require.NotEmpty(t, wanted, "%v", err)
				for _, one := range wanted {
					rec := recordedProgram("run()\n")
					rec.Events[0].Size = c.takes(one.Dims[0].Value)
					testcase.Keep(t, rec, one.Captured())
				}
				runs += len(wanted)
			}
			t.Fatal("got no answer after 100 recordings")
		})
	}
}

// Where memory is lost between blocks at some values, every value that its requests let fit is run:
// a value above the first that does not fit is the answer, and all that do not fit below it are
// holes.
func TestLargestWhereGapsBetweenBlocksComeAndGo(t *testing.T) {
	_, cases := testcase.Project(t, strings.ReplaceAll(batchSpec, "allocated: 64MiB", "reserved: 80MiB"), "run()\n")
	fits := map[int64]bool{}
	for n := int64(1); n <= 1000; n++ {
		fits[n] = n < 700 || n == 709 || n == 720
	}
	models := suite.New(nil)
	var wanted []spec.Case
	models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, *c) }
	at := func(n int64) (spec.Case, error) { return cases[0].With(spec.Dim{Name: "N", Value: n}) }
	for range 100 {
		wanted = nil
		found, err := models.Largest(context.Background(), at, 1000)
		if err == nil {
			assert.Equal(t, int64(720), found.Largest)
			for n := int64(704); n < 720; n++ {
				assert.Equal(t, !fits[n], slices.Contains(found.Holes, n), n)
			}
			return
		}
		require.NotEmpty(t, wanted, "%v", err)
		for _, one := range wanted {
			n := one.Dims[0].Value
			rec := recordedProgram("run()\n")
			rec.Events[0].Size = units.Bytes(n) * 48 * units.KiB
			if !fits[n] {
				gap(rec)
			}
			testcase.Keep(t, rec, one.Captured())
		}
	}
	t.Fatal("got no answer after 100 rounds")
}

// gap adds a block to the begin of the last step that no cached one can hold. It is released at
// once, and its memory stays reserved.
func gap(rec *recording.Recording) {
	last := &rec.Passes[len(rec.Passes)-1]
	at := rec.Passes[len(rec.Passes)-2].Events
	e := recording.Event{Action: trace.Alloc, Key: 1 << 40, Size: 20*units.MiB + 512*units.KiB}
	block := []recording.Event{e, e, e}
	block[1].Action, block[2].Action = trace.FreeRequested, trace.FreeCompleted
	rec.Events = slices.Insert(rec.Events, at, block...)
	last.Events += len(block)
	for i := range last.Phases[1:] {
		last.Phases[1+i].Events += len(block)
	}
}

// A recording that is stale is asked for again, as a missing one is.
func TestAStaleRecordingIsUnrecorded(t *testing.T) {
	_, cases := testcase.Project(t, batchSpec, "run()\n")
	testcase.Keep(t, recordedProgram("run(2)\n"), cases[0].Captured())
	models := suite.New(nil)
	var wanted []string
	models.Unrecorded = func(c *spec.Case, stale string) { wanted = append(wanted, c.Name, filepath.Base(stale)) }
	_, err := models.Run(context.Background(), cases[0])
	require.Error(t, err)
	assert.Equal(t, []string{"train", "zoo.py has changed"}, wanted)
}

// A recording of a module that ends where memory ran out counts on a device where it does not fit.
// Where it does, more has to be known, and the recording counts as missing; of a program, what it
// says is all.
func TestARecordingThatEndsWhereMemoryRanOutIsUnrecordedWithMoreMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory units.Bytes
		built  string
		wanted []string
	}{
		{"the same memory", 24 * units.MiB, recording.OfModule, nil},
		{"more memory", 128 * units.MiB, recording.OfModule, []string{suite.CutShort}},
		{"a callable", 128 * units.MiB, "source, its own iteration", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, cases := testcase.Project(t, testcase.SourceOnly, "run()\n")
			cases[0].Platform.Device.Memory = c.memory
			rec := testcase.Trained()
			rec.Made, rec.Built = testcase.MadeFrom("../zoo.py", "run()\n"), c.built
			last := len(rec.Passes) - 1
			rec.OOM = &recording.OutOfMemory{Pass: rec.Passes[last].Name, Text: "Tried to allocate 32.00 MiB"}
			rec.Events = append(rec.Events, recording.Event{Action: trace.OOM, Key: 1 << 20, Size: 32 * units.MiB})
			rec.Passes[last].Events = len(rec.Events)
			testcase.Keep(t, rec, cases[0].Captured())
			models := suite.New(nil)
			var wanted []string
			models.Unrecorded = func(_ *spec.Case, stale string) { wanted = append(wanted, stale) }
			_, err := models.Run(context.Background(), cases[0])
			assert.Equal(t, c.wanted, wanted)
			assert.Equal(t, len(c.wanted) > 0, err != nil, "%v", err)
		})
	}
}

// A recorded case that breaks its budget names the command that runs what could make it pass.
func TestAFailingRecordedCaseNamesAdvise(t *testing.T) {
	_, cases := testcase.Project(t, batchSpec, "run()\n")
	for size, want := range map[units.Bytes]string{units.MiB: "", 63 * units.MiB: "  advise     python -m memshim " +
		"advise train "} {
		rec := recordedProgram("run()\n")
		rec.Events[0].Size = size
		testcase.Keep(t, rec, cases[0].Captured())
		r := suite.New(nil).Judge(context.Background(), cases[0])
		require.NoError(t, r.Err)
		if want == "" {
			assert.NotContains(t, r.Message(suite.MessageOptions{}), "advise")
		} else {
			assert.Contains(t, r.Message(suite.MessageOptions{Columns: 1000}), want+cases[0].Pos.File)
		}
	}
}
