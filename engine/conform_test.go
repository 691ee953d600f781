package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
)

// account is one prediction compared with one recording.
type account struct {
	model, kind, runtime string
	group                string // of the table: the artifact's folder, or "settings"
	artifact             string
	inputs               []string // as arguments of the command line
	exact                bool
	events, agree        int // recorded; of these, before the two part
	lines, linesAgree    int // births whose line in the user's code was recorded; of these, predicted alike
	peak, want           int64
	parted               string // where they part, "" where they do not
	err                  error
}

func (a account) name() string { return a.model + "/" + a.kind + "." + a.runtime }

// peakError is the difference of the peaks in percent.
func (a account) peakError() float64 {
	if a.want == 0 {
		return 0
	}
	return 100 * float64(a.peak-a.want) / float64(a.want)
}

// compareAll compares every archive with its recordings: torchscript for both kinds, and eager for
// both against the live module's run. It does so once for all tests.
func compareAll(t testing.TB) []account {
	t.Helper()
	compared.Do(func() {
		var jobs []func() account
		for _, r := range recordings(t) {
			live := r.Stream("live.eager")
			for _, kind := range []string{"script", "trace"} {
				s := r.Stream(kind + ".torchscript")
				if s == nil || s.Artifact == "" {
					continue
				}
				open := opener(s.Artifact)
				if s.Failed == "" {
					jobs = append(jobs, func() account { return compare(r, s, open, s.Artifact, kind, "torchscript") })
				}
				if live != nil && live.Failed == "" {
					jobs = append(jobs, func() account { return compare(r, live, open, s.Artifact, kind, "eager") })
				}
			}
		}
		compared.accounts = inParallel(jobs)
	})
	require.NotEmpty(t, compared.accounts)
	return slices.Clone(compared.accounts)
}

var compared struct {
	sync.Once
	accounts []account
}

// inParallel runs jobs on all processors and returns their results in order.
func inParallel[T any](jobs []func() T) []T {
	out := make([]T, len(jobs))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				out[i] = jobs[i]()
				jobs[i] = nil // what it shares with others goes with the last of them
			}
		})
	}
	wait.Wait()
	return out
}

// opener opens an archive of testdata once, for all the runs that are compared.
func opener(file string) func() (*engine.Model, error) {
	return sync.OnceValues(func() (*engine.Model, error) { return engine.Open(filepath.Join(testdataRoot(), file)) })
}

func compare(r *recording, s *stream, open func() (*engine.Model, error), file, kind, runtime string) account {
	a := account{model: r.Model, kind: kind, runtime: runtime, group: filepath.Base(filepath.Dir(file)), artifact: file,
		events: len(s.Events), want: s.Peak}
	for _, in := range r.Inputs {
		a.inputs = append(a.inputs, "--input '"+in+"'")
	}
	tr, err := runNone(r, open, runtime)
	a.follow(tr, err, r, s)
	return a
}

// follow goes through a trace and a recording side by side up to where they part.
func (a *account) follow(tr *trace.Trace, err error, r *recording, s *stream) {
	if err != nil {
		a.err = err
		return
	}
	if u := tr.Coverage.Unsupported; len(u) > 0 {
		names := make([]string, len(u))
		for i := range u {
			names[i] = u[i].Op
		}
		a.err = fmt.Errorf("no rule for %s", strings.Join(names, ", "))
		return
	}
	f := r.Follow(s, tr)
	a.peak, a.agree, a.parted, a.exact = f.Peak, f.Events, f.Parted, f.Parted == ""
	for _, l := range f.Lines {
		a.lines++
		if l.Agrees() {
			a.linesAgree++
		} else if os.Getenv("MEMSPEC_LINES") != "" {
			fmt.Printf("%s: %s %s: got %s:%d, want %s\n", a.name(), l.Got.Op, l.Got.Module, l.Got.File, l.Got.Line, l.Recorded)
		}
	}
}

// runNone runs an archive on the device none, under the settings of a recording.
func runNone(r *recording, open func() (*engine.Model, error), runtime string) (*trace.Trace, error) {
	m, c, err := caseNone(r, open, runtime)
	if err != nil {
		return nil, err
	}
	run, err := m.Run(context.Background(), c)
	if err != nil {
		return nil, err
	}
	return run.Trace, nil
}

// caseNone is that run's model and case.
func caseNone(r *recording, open func() (*engine.Model, error), runtime string) (m *engine.Model, c spec.Case,
	err error) {
	if m, err = open(); err != nil {
		return nil, c, err
	}
	d, err := device.Lookup("none")
	if err != nil {
		return nil, c, err
	}
	v, err := platform.ParseVersion("2.15")
	if err != nil {
		return nil, c, err
	}
	c.Runtime = spec.Runtime(runtime)
	if c.Platform, err = platform.New(d, v); err != nil {
		return nil, c, err
	}
	applySettings(r, &c, m)
	for _, s := range r.Inputs {
		in, err := spec.ParseInput(s)
		if err == nil {
			in, err = in.Bind(nil)
		}
		if err != nil {
			return nil, c, err
		}
		c.Inputs = append(c.Inputs, formatInput(r, in))
	}
	return m, c, nil
}

// exception is a stream that is known to part from its recording: how many events agree before it
// does, and why.
type exception struct {
	agree int
	cause string
}

// exceptionsFile lists them; MEMSPEC_UPDATE=1 rewrites the counts and adds new ones without a
// cause, which the test refuses.
const exceptionsFile = "../testdata/conformance/exceptions.txt"

func readExceptions(t testing.TB) map[string]exception {
	t.Helper()
	data, err := os.ReadFile(exceptionsFile)
	if os.IsNotExist(err) {
		return map[string]exception{}
	}
	require.NoError(t, err)
	out := map[string]exception{}
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		count, cause, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		require.NoError(t, err, line)
		out[name] = exception{n, cause}
	}
	return out
}

func writeExceptions(t testing.TB, all []account, old map[string]exception) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Streams that part from their recording: case, events that agree before they part, cause. See " +
		"README.md.\n")
	for _, a := range all {
		if !a.exact {
			fmt.Fprintf(&b, "%s %d %s\n", a.name(), a.agree, old[a.name()].cause)
		}
	}
	golden.Write(t, exceptionsFile, []byte(b.String()))
}

// TestConformance compares every predicted stream with its recording, event for event. A stream may
// part only where exceptions.txt says why, and not earlier than it says.
func TestConformance(t *testing.T) {
	all := compareAll(t)
	known := readExceptions(t)
	if golden.Updating() {
		writeExceptions(t, all, known)
		known = readExceptions(t)
	}
	for _, a := range all {
		t.Run(a.name(), func(t *testing.T) {
			require.NoError(t, a.err)
			e, listed := known[a.name()]
			delete(known, a.name())
			reproduce := fmt.Sprintf("\n%s\nreproduce: go run ./cmd/memspec dump testdata/%s %s --stage trace --runtime %s "+
				"--device none", a.parted, a.artifact,
				strings.Join(a.inputs, " "), a.runtime)
			switch {
			case a.exact && listed:
				t.Errorf("the stream is exact now: take it out of %s", exceptionsFile)
			case a.exact:
			case !listed:
				t.Errorf("%d of %d events agree, peak %d, want %d (%+.2f %%)%s", a.agree, a.events, a.peak, a.want, a.peakError(),
					reproduce)
			case e.cause == "":
				t.Errorf("got no cause in %s, want one%s", exceptionsFile, reproduce)
			case a.agree < e.agree:
				t.Errorf("%d events agree, before it were %d%s", a.agree, e.agree, reproduce)
			}
		})
	}
	for name := range known {
		if !golden.Whole() { // its recording may be outside the share
			break
		}
		t.Errorf("%s lists %s, which no recording has", exceptionsFile, name)
	}
}

// TestConformanceShare holds how much of torchvision is exact, as docs/accuracy.md says.
func TestConformanceShare(t *testing.T) {
	golden.NeedsWhole(t, "the shares are of all models")
	type share struct{ cases, exact int }
	got := map[string]*share{}
	worst := 0.0
	for _, a := range compareAll(t) {
		if !strings.Contains(a.artifact, "/torchvision/") {
			continue
		}
		k := a.kind + "." + a.runtime
		if got[k] == nil {
			got[k] = &share{}
		}
		got[k].cases++
		if a.exact {
			got[k].exact++
		}
		if k == "trace.eager" {
			worst = max(worst, math.Abs(a.peakError()))
		}
	}
	for k, least := range map[string]float64{"script.torchscript": 0.95, "trace.torchscript": 0.95, "script.eager": 0.95,
		"trace.eager": 0.93} {
		require.NotNil(t, got[k], k)
		require.GreaterOrEqual(t, got[k].cases, 40, k)
		require.GreaterOrEqual(t, float64(got[k].exact), least*float64(got[k].cases), "%s: %d of %d exact", k, got[k].exact,
			got[k].cases)
	}
	require.Zero(t, worst, "worst error of a peak of traced archives run eagerly, in percent")
}
