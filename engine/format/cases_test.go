package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A caseInput is a case of a golden archive: a trace in its text form on a device, judged.
type caseInput struct {
	Name, File, Artifact, Device, AllocConf, Trace, Error string
	Line                                                  int
	Memory                                                string        // of the device, where it is less
	Budgets                                               []budgetInput // none: nothing is judged
	Before, Measured                                      map[report.Metric]units.Bytes
}

type budgetInput struct {
	Metric report.Metric
	Limit  string
	Warn   bool
	Line   int
}

// readCases makes the cases of an archive; traces are its sections.
func readCases(t testing.TB, text []byte, section func(string) []byte) []*format.Case {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var inputs []caseInput
	require.NoError(t, d.Decode(&inputs))
	var out []*format.Case
	for i := range inputs {
		in := &inputs[i]
		var tr *trace.Trace
		if in.Error == "" {
			var err error
			tr, err = tracetext.Parse(bytes.NewReader(section(in.Trace)))
			require.NoError(t, err)
			require.NoError(t, tr.Validate())
		}
		out = append(out, in.make(t, tr))
	}
	return out
}

// make is what a command makes of a case that it ran.
func (in *caseInput) make(t testing.TB, tr *trace.Trace) *format.Case {
	pos := verdict.Pos{File: in.File, Line: in.Line}
	if tr == nil {
		c := format.Failed(in.Name, pos, errors.New(in.Error), verdict.Error)
		c.Line = "ERROR " + in.Name + ": " + in.Error
		return c
	}
	d, err := device.Lookup(in.Device)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	p.AllocConf = in.AllocConf
	if in.Memory != "" {
		p.Device.Memory = parseSize(t, in.Memory)
	}
	limit := p.Limit() // of what is left beside the context
	if p.Device.ContextKnown && p.Device.Memory > 0 {
		limit = min(limit, p.Device.Memory-p.Device.Context)
	}
	settings, err := allocator.ParseSettings(in.AllocConf, p.Torch)
	require.NoError(t, err)
	a, err := allocator.New(allocator.Config{Limit: limit, Total: p.Device.Memory, Settings: settings})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, a)
	require.NoError(t, err)
	run := report.Run{Artifact: in.Artifact, Format: "torchscript", Producer: "torch 2.15.0", Runtime: "eager",
		Mode: "inference", Device: in.Device,
		Torch: p.Torch.String(), AllocConf: in.AllocConf, Inputs: []string{"x=float32[1,3]"}}
	rep := report.Build(report.Source{Run: run, Platform: &p, Timeline: tl})
	var budgets []verdict.Budget
	for _, b := range in.Budgets {
		v := verdict.Budget{Metric: b.Metric, Limit: parseSize(t, b.Limit), Text: b.Limit,
			Path: "models.m.budget." + string(b.Metric), Pos: verdict.Pos{File: in.File, Line: b.Line, Col: 5}}
		if b.Warn {
			v.Level = verdict.LevelWarn
		}
		budgets = append(budgets, v)
	}
	r := &suite.Result{Case: spec.Case{Name: in.Name, Platform: p, Pos: pos}, Report: rep,
		Verdict: verdict.Judge(rep, budgets, verdict.Options{})}
	c := format.Judged(in.Name, pos, rep, r.Verdict)
	c.Timeline, c.Limit = tl, limit
	c.Line = r.Line()
	c.Text = func(w io.Writer) error {
		_,
			err := io.WriteString(w,
			r.Message(suite.MessageOptions{Rows: 3, Reproduce: []string{"memspec explain --case " + layout.ShellQuote(in.Name) +
				" memspec.yaml"}}))
		return err
	}
	if len(in.Budgets) == 0 {
		c.Judged, c.Findings = false, nil
		c.Text = func(w io.Writer) error { return report.WriteText(w, rep) }
	}
	for i := range c.Figures {
		f := &c.Figures[i]
		f.Before, f.Measured = given(in.Before, f.Metric), given(in.Measured, f.Metric)
	}
	return c
}

func given(sizes map[report.Metric]units.Bytes, m report.Metric) *units.Bytes {
	if v, ok := sizes[m]; ok {
		return &v
	}
	return nil
}

func parseSize(t testing.TB, s string) units.Bytes {
	b, err := units.Parse(s)
	require.NoError(t, err)
	return b
}

// write is the document of cases in a format. It is written twice: the same cases give the same
// bytes.
func write(t testing.TB, f format.Format, o format.Options, cases ...*format.Case) []byte {
	t.Helper()
	if f.One {
		cases = cases[:1]
	}
	once := func() []byte {
		var b bytes.Buffer
		w := f.New(&b, o)
		for _, c := range cases {
			require.NoError(t, w.Case(c))
		}
		text := func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%d cases\n", len(cases))
			return err
		}
		require.NoError(t, w.End(&format.Summary{Text: text, JSON: map[string]int{"cases": len(cases)}}))
		return b.Bytes()
	}
	first := once()
	assert.True(t, bytes.Equal(first, once()), "%s: got other bytes the second time", f.Name)
	return first
}

func named(t testing.TB, name string) format.Format {
	t.Helper()
	f, ok := format.ByName(format.Formats(), name)
	require.True(t, ok, name)
	return f
}

// tree is a repository at /home/me/repo with those files, seen from its top.
func tree(files ...string) format.Paths {
	return format.Paths{Root: "/home/me/repo", Dir: ".", Exists: func(below string) bool {
		for _, f := range files {
			if path.Clean(below) == f {
				return true
			}
		}
		return false
	}}
}
