package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// account is one prediction held against one recording.
type account struct {
	model, kind, runtime string
	artifact             string
	exact                bool
	events, agree        int // recorded; of these, before the two part
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

// compareAll holds every archive against its recordings: torchscript for both kinds, and eager for both against the live module's run.
func compareAll(t testing.TB) []account {
	t.Helper()
	var out []account
	for _, r := range recordings(t) {
		live := r.stream("live.eager")
		for _, kind := range []string{"script", "trace"} {
			s := r.stream(kind + ".torchscript")
			if s == nil || s.artifact == "" {
				continue
			}
			if s.failed == "" {
				out = append(out, compare(r, s, s.artifact, kind, "torchscript"))
			}
			if live != nil && live.failed == "" {
				out = append(out, compare(r, live, s.artifact, kind, "eager"))
			}
		}
	}
	return out
}

func compare(r *recording, s *stream, file, kind, runtime string) account {
	a := account{model: r.model, kind: kind, runtime: runtime, artifact: file, events: len(s.events), want: s.peak}
	tr, err := runNone(file, r.inputs, runtime)
	if err != nil {
		a.err = err
		return a
	}
	if u := tr.Coverage.Unsupported; len(u) > 0 {
		names := make([]string, len(u))
		for i := range u {
			names[i] = u[i].Op
		}
		a.err = fmt.Errorf("no rule for %s", strings.Join(names, ", "))
		return a
	}
	number := map[tensor.StorageID]int{}
	var live int64
	i := 0
	for _, e := range tr.Events {
		if e.Pass != 1 {
			continue
		}
		got := ""
		switch e.Action {
		case trace.Alloc:
			number[e.Storage] = len(number)
			live += int64(e.Bytes)
			a.peak = max(a.peak, live)
			got = fmt.Sprintf("+%d", e.Bytes)
		case trace.FreeRequested:
			k, own := number[e.Storage]
			if !own {
				k = -1
			}
			live -= int64(e.Bytes)
			got = fmt.Sprintf("-%d", k)
		default:
			continue
		}
		if a.parted != "" {
			continue
		}
		want := "the end"
		where := ""
		if i < len(s.events) {
			w := s.events[i]
			want = fmt.Sprintf("-%d", w.birth)
			if w.bytes > 0 {
				want = fmt.Sprintf("+%d", w.bytes)
				where = " (" + r.sites[w.site] + ")"
			}
		}
		if got != want {
			site := tr.Site(e.Site)
			a.parted = fmt.Sprintf("event %d: got %s (%s %s %s:%d), want %s%s", i, got, site.Op, site.Module, site.File, site.Line, want, where)
			continue
		}
		i++
	}
	a.agree = i
	if a.parted == "" && i < len(s.events) {
		a.parted = fmt.Sprintf("event %d: got the end, want %+v", i, s.events[i])
	}
	a.exact = a.parted == ""
	return a
}

// runNone runs an archive on the device none.
func runNone(file string, inputs []string, runtime string) (*trace.Trace, error) {
	m, err := engine.Open(filepath.Join(testdataRoot(), file))
	if err != nil {
		return nil, err
	}
	d, err := device.Lookup("none")
	if err != nil {
		return nil, err
	}
	v, err := platform.ParseVersion("2.15")
	if err != nil {
		return nil, err
	}
	c := spec.Case{Runtime: spec.Runtime(runtime)}
	if c.Platform, err = platform.New(d, v); err != nil {
		return nil, err
	}
	for _, s := range inputs {
		in, err := spec.ParseInput(s)
		if err == nil {
			in, err = in.Bind(nil)
		}
		if err != nil {
			return nil, err
		}
		c.Inputs = append(c.Inputs, in)
	}
	return m.Trace(context.Background(), c)
}

func TestConformance(t *testing.T) {
	for _, a := range compareAll(t) {
		t.Run(a.name(), func(t *testing.T) {
			require.NoError(t, a.err)
			if !a.exact {
				t.Errorf("%d of %d events agree, peak %d, want %d (%+.2f %%)\n%s\nreproduce: go run ./cmd/memspec dump testdata/%s --stage trace --runtime %s --device none",
					a.agree, a.events, a.peak, a.want, a.peakError(), a.parted, a.artifact, a.runtime)
			}
		})
	}
}
