package spec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/spec"
)

// TestErrors runs testdata/errors/spec_*.txtar: a line with ### "COL: regexp" must fail there with
// that, and no other may.
func TestErrors(t *testing.T) {
	golden.Run(t, "../../testdata/errors/spec_*.txtar", func(a *golden.Archive) {
		data := a.Input("memspec.yaml")
		cases, err := spec.Parse("memspec.yaml", data)
		require.Error(a.T(), err)
		assert.Nil(a.T(), cases)
		got, ok := errors.AsType[spec.Errors](err)
		require.True(a.T(), ok, "%T", err)
		a.Want("errors", []byte(err.Error()))
		for i, line := range strings.Split(string(data), "\n") {
			matchLine(a.T(), i+1, expectations(a.T(), line), got)
		}
	})
}

func expectations(t *testing.T, line string) []*regexp.Regexp {
	t.Helper()
	_, rest, ok := strings.Cut(line, "### ")
	if !ok {
		return nil
	}
	var out []*regexp.Regexp
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		quoted, err := strconv.QuotedPrefix(rest)
		require.NoError(t, err, "after ### stands \"COL: regexp\": %s", rest)
		rest = rest[len(quoted):]
		text, err := strconv.Unquote(quoted)
		require.NoError(t, err)
		out = append(out, regexp.MustCompile(text))
	}
	return out
}

func matchLine(t *testing.T, line int, want []*regexp.Regexp, got spec.Errors) {
	t.Helper()
	var left []string
	for _, e := range got {
		if e.Pos.Line == line {
			left = append(left, fmt.Sprintf("%d: %s", e.Pos.Col, e.Msg))
		}
	}
	for _, re := range want {
		found := false
		for i, text := range left {
			if re.MatchString(text) {
				left, found = append(left[:i:i], left[i+1:]...), true
				break
			}
		}
		assert.True(t, found, "line %d: got no error that matches %q", line, re)
	}
	assert.Empty(t, left, "line %d: got errors that nothing expects", line)
}

// TestSpecs runs testdata/spec/*.txtar: what a memspec.yaml comes to, as text.
func TestSpecs(t *testing.T) {
	golden.Run(t, "../../testdata/spec/*.txtar", func(a *golden.Archive) {
		cases, err := spec.Parse("dir/memspec.yaml", a.Input("memspec.yaml"))
		require.NoError(a.T(), err)
		var b strings.Builder
		for i := range cases {
			describe(&b, &cases[i])
		}
		a.Want("cases", []byte(b.String()))
	})
}

// describe writes all that a case says and that is not a default.
func describe(b *strings.Builder, c *spec.Case) {
	fmt.Fprintf(b, "%s  # %s\n", c.Name, c.Pos)
	line := func(key, format string, args ...any) {
		if v := fmt.Sprintf(format, args...); v != "" && v != "false" {
			fmt.Fprintf(b, "  %-16s %s\n", key, v)
		}
	}
	p := &c.Platform
	line("artifact", "%s", c.Artifact)
	line("source", "%s", c.Source)
	line("recording", "%s", filepath.ToSlash(c.Captured()))
	line("workspace", "%s", c.Workspace)
	line("device", "%s %s cc %s sms %d context %v,%v", p.Device.Name, p.Device.Memory, p.Device.ComputeCapability,
		p.Device.SMs, p.Device.Context, p.Device.ContextKnown)
	line("torch", "%s cudnn %s", p.Torch, p.CuDNN)
	line("flags", "tf32 matmul %v cudnn %v benchmark %v deterministic %v", p.TF32Matmul, p.TF32CuDNN, p.Benchmark,
		p.Deterministic)
	line("alloc_conf", "%s", p.AllocConf)
	line("cublas_workspace", "%s", p.CublasWorkspace)
	if p.MemoryFraction != 0 {
		line("memory_fraction", "%v", p.MemoryFraction)
	}
	line("run", "%s", strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Runtime, c.Mode, c.Grad)))
	if c.Training != nil {
		text, err := json.Marshal(c.JSON().Training)
		if err != nil {
			panic(err)
		}
		line("training", "%s", text)
	}
	line("dtype", "%s", c.DType)
	line("autocast", "%s", p.Autocast)
	if p.Attention != 0 {
		line("attention", "%s", strings.Join(p.Attention.Names(), ", "))
	}
	line("tolerance", "%v", c.Tolerance)
	for _, in := range c.Inputs {
		line("input", "%s", in)
	}
	for _, d := range c.Dims {
		line("dim", "%s=%d", d.Name, d.Value)
	}
	for _, a := range c.Assume {
		line("assume", "%s: %s  # %s", a.Line, a.Text(), a.Pos)
	}
	for _, id := range c.Allow {
		line("allow", "%s", id)
	}
	for _, g := range c.Budgets {
		line("budget", "%s <= %s (%d B) %s %q %s  # %s", g.Metric, g.Limit, int64(g.Limit), g.Level, g.Text, g.Path, g.Pos)
	}
	for _, g := range c.Regression {
		by := fmt.Sprintf("%d B", int64(g.Bytes))
		if g.Percent != nil {
			by = g.Percent.RatString() + " percent"
		}
		line("regression", "%s by %s %s %q %s  # %s", g.Metric, by, g.Level, g.Text, g.Path, g.Pos)
	}
	for _, f := range c.Fits {
		line("fits", "%s=%d  # %s", f.Name, f.Value, f.Pos)
	}
	for _, o := range c.Operators {
		line("operator", "%s gives %q, workspace %q", o.Schema, o.Results, o.Workspace)
	}
}
