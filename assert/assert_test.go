package assert_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// recorder is the least that testify's TestingT asks for.
type recorder struct{ errors []string }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// named is a recorder with the name and the log of a test.
type named struct {
	recorder
	name string
	logs []string
}

func (n *named) Name() string { return n.name }
func (n *named) Helper()      {}
func (n *named) Logf(format string, args ...any) {
	n.logs = append(n.logs, fmt.Sprintf(format, args...))
}

func (n *named) Run(name string, f func(*named)) bool {
	sub := &named{name: n.name + "/" + name}
	f(sub)
	n.errors = append(n.errors, sub.errors...)
	n.logs = append(n.logs, sub.logs...)
	return len(sub.errors) == 0
}

const small = "../testdata/artifacts/small/module_list.script.pt"

// cases reads a memspec.yaml of one model of the small archive.
func cases(t *testing.T, text string) []spec.Case {
	t.Helper()
	out, err := spec.Parse("testdata/memspec.yaml", []byte(text))
	require.NoError(t, err)
	return out
}

func oneCase(t *testing.T, artifact, input, rest string) spec.Case {
	t.Helper()
	cs := cases(t, "version: 1\ndefaults: {device: t4, torch: 2.15, runtime: eager}\nmodels:\n  m:\n    artifact: "+
		artifact+
		"\n    inputs: [\""+input+"\"]\n    "+strings.ReplaceAll(strings.TrimSpace(rest), "\n", "\n    ")+"\n")
	require.Len(t, cs, 1)
	return cs[0]
}

// A messageCase is something that a test is reported, and why it is.
type messageCase struct {
	name, why string
	run       func(t *testing.T, n *named) verdict.Verdict
	want      verdict.Outcome
}

// What a failing test prints, text by text in testdata/messages.txtar; MEMSPEC_UPDATE=1 rewrites
// it.
func TestMessages(t *testing.T) {
	messages := []messageCase{
		{"fail", "one budget is broken: the whole account, and how to see it again",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 64KiB}"))
			}, verdict.Fail},
		{"fail-two", "every broken budget has its line, those that hold have none",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {weights: 1KiB, allocated: 64KiB, reserved: "+
					"1GiB, delta: 1KiB + 1KiB}"))
			}, verdict.Fail},
		{"warn", "level warn is reported and does not fail", func(t *testing.T, n *named) verdict.Verdict {
			return memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {reserved: 1MiB}\nlevel: warn"))
		}, verdict.Warn},
		{"inconclusive-operator", "an operator without a rule never passes", func(t *testing.T, n *named) verdict.Verdict {
			return memory.Case(n, oneCase(t, "../../testdata/artifacts/bad/custom.pt", "float32[4,4]",
				"budget: {allocated: 1GiB}"))
		}, verdict.Inconclusive},
		{"inconclusive-context", "a total without a known context cost cannot be judged",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.Case(n, oneCase(t, "../"+small, smallInput, "device: a10g\nbudget: {total: 262144000}"))
			}, verdict.Inconclusive},
		{"inconclusive-data", "data-dependent sizes: the budget lies between the two ends",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.Case(n, oneCase(t, "../../testdata/artifacts/bad/nonzero.pt", "float32[1024,1024]",
					"budget: {allocated: 8MiB}"))
			}, verdict.Inconclusive},
		{"fail-both-ends", "data-dependent sizes: over the budget whatever they are",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.Case(n, oneCase(t, "../../testdata/artifacts/bad/nonzero.pt", "float32[1024,1024]",
					"budget: {allocated: 1MiB}"))
			}, verdict.Fail},
		{"error-artifact", "an artifact that is not there", func(t *testing.T, n *named) verdict.Verdict {
			return memory.Case(n, oneCase(t, "absent.pt", smallInput, "budget: {allocated: 64KiB}"))
		}, verdict.Error},
		{"error-model", "the model raises: its own stack", func(t *testing.T, n *named) verdict.Verdict {
			return memory.Case(n, oneCase(t, "../../testdata/artifacts/bad/raises.pt", "float32[4,4]",
				"budget: {allocated: 64KiB}"))
		}, verdict.Error},
		{"out-of-memory", "a run that does not fit the device fails whatever the budget",
			func(t *testing.T, n *named) verdict.Verdict {
				c := oneCase(t, "../"+small, smallInput, "budget: {allocated: 64KiB}")
				c.Platform.Device.Memory, c.Platform.Device.ContextKnown = units.MiB, false
				return memory.Case(n, c)
			}, verdict.Fail},
		{"peak-at-most", "no spec behind it: the budget is the limit given, the command has the inputs",
			func(_ *testing.T, n *named) verdict.Verdict {
				return memory.PeakAtMost(n, small, 32*units.KiB, smallInput)
			}, verdict.Fail},
		{"peak-at-most-input", "an input that is none", func(_ *testing.T, n *named) verdict.Verdict {
			return memory.PeakAtMost(n, small, 64*units.KiB, "float32[2,")
		}, verdict.Error},
		{"peak-at-most-no-input", "no sidecar and no input", func(_ *testing.T, n *named) verdict.Verdict {
			return memory.PeakAtMost(n, small, 64*units.KiB)
		}, verdict.Error},
		{"at-most", "a card's own numbers without a spec: reserved and total", func(_ *testing.T, n *named) verdict.Verdict {
			return memory.AtMost(n, "t4", small, map[report.Metric]units.Bytes{report.Reserved: units.MiB,
				report.Total: units.GiB}, smallInput)
		}, verdict.Fail},
		{"at-most-metric", "a metric that is none", func(_ *testing.T, n *named) verdict.Verdict {
			return memory.AtMost(n, "t4", small, map[report.Metric]units.Bytes{"peak": units.MiB}, smallInput)
		}, verdict.Error},
		{"at-most-device", "a card that is none", func(_ *testing.T, n *named) verdict.Verdict {
			return memory.AtMost(n, "t5", small, map[report.Metric]units.Bytes{report.Reserved: units.MiB}, smallInput)
		}, verdict.Error},
		{"regression", "the difference of the two accounts", func(t *testing.T, n *named) verdict.Verdict {
			return memory.NoRegression(n, oneCase(t, "../"+small, biggerInput, "budget: {allocated: 1GiB}"),
				"testdata/before.json", 0.01)
		}, verdict.Fail},
		{"regression-unlike", "the committed account is of another run: what differs",
			func(t *testing.T, n *named) verdict.Verdict {
				return memory.NoRegression(n, oneCase(t, "../"+small, biggerInput, "device: l4\ntorch: 2.6\nruntime: torchscript\n"+
					"budget: {allocated: 1GiB}"), "testdata/small.json", 0.01)
			}, verdict.Error},
		{"regression-absent", "no committed report yet: how to make one", func(t *testing.T, n *named) verdict.Verdict {
			return memory.NoRegression(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 1GiB}"),
				"testdata/absent.json", 0.01)
		}, verdict.Error},
		{"regression-tolerance", "a tolerance that is none", func(t *testing.T, n *named) verdict.Verdict {
			return memory.NoRegression(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 1GiB}"),
				"testdata/small.json", -1)
		}, verdict.Error},
	}
	messages = append(messages, measuredMessages()...)
	got := &txtar.Archive{Comment: []byte("What assert prints, by case of TestMessages; MEMSPEC_UPDATE=1 rewrites it.\n")}
	for _, m := range messages {
		require.NotEmpty(t, m.why, m.name)
		n := &named{name: "TestMemory/" + m.name + "[B=1]"}
		v := m.run(t, n)
		assert.Equal(t, m.want, v.Outcome, "%s: %s", m.name, m.why)
		texts := n.errors
		if m.want == verdict.Warn {
			texts = n.logs
			assert.Empty(t, n.errors, m.why)
		}
		require.Len(t, texts, 1, "%s is reported once", m.name)
		// go-cmp mixes the two spaces so that nobody parses it
		text := "# " + m.why + "\n" + strings.ReplaceAll(texts[0], "\u00a0", " ") + "\n"
		got.Files = append(got.Files, txtar.File{Name: m.name, Data: []byte(text)})
	}
	path := filepath.Join("testdata", "messages.txtar")
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	diff := cmp.Diff(string(want), string(txtar.Format(got)))
	switch {
	case diff == "":
	case os.Getenv("MEMSPEC_UPDATE") == "1":
		require.NoError(t, os.WriteFile(path, txtar.Format(got), 0o644))
	default:
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

const (
	smallInput  = "float32[2,32]"
	biggerInput = "float32[64,32]"
)

func TestPassIsSilent(t *testing.T) {
	n := &named{name: t.Name()}
	v := memory.Case(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 1GiB, reserved: 2MiB}"))
	assert.Equal(t, verdict.Pass, v.Outcome, "2 MiB is exactly what is reserved")
	assert.Empty(t, n.errors)
	assert.Empty(t, n.logs)
	v = memory.NoRegression(n, oneCase(t, "../"+small, smallInput, "budget: {allocated: 1}"), "testdata/small.json", 0)
	assert.Equal(t, verdict.Pass, v.Outcome, "the case's own budget is not judged")
	assert.Empty(t, n.errors)
}

// Errorf is all that is needed; the test goes on after a failure.
func TestBareTB(t *testing.T) {
	r := &recorder{}
	var _ assert.TestingT = r
	v := memory.PeakAtMost(r, small, 1, smallInput)
	assert.Equal(t, verdict.Fail, v.Outcome)
	require.Len(t, r.errors, 1)
	assert.NotContains(t, r.errors[0], "go test", "a test without a name has no command")
}

func TestPeakAtMostReadsTheSidecar(t *testing.T) {
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	artifact := filepath.Join(t.TempDir(), "m.pt")
	require.NoError(t, os.WriteFile(artifact, data, 0o644))
	require.NoError(t, os.WriteFile(artifact+".inputs.json", []byte(`{"inputs": ["`+smallInput+`"]}`), 0o644))
	assert.Equal(t, verdict.Pass, memory.PeakAtMost(t, artifact, units.GiB).Outcome)

	require.NoError(t, os.WriteFile(artifact+".inputs.json", []byte(`{"inputs": ["float32["]}`), 0o644))
	r := &recorder{}
	assert.Equal(t, verdict.Error, memory.PeakAtMost(r, artifact, units.GiB).Outcome)
	require.Len(t, r.errors, 1)
	assert.Contains(t, strings.Join(strings.Fields(r.errors[0]), " "), "m.pt.inputs.json: inputs[0]",
		"on as many lines as the folder's name needs")
}

func TestFile(t *testing.T) {
	n := &named{name: "TestMemory"}
	memory.File(n, "testdata/memspec.yaml")
	require.Len(t, n.errors, 1, "one case of three is over")
	assert.Contains(t, n.errors[0], "FAIL m[B=64] on t4, eager: peak allocated")
	assert.Contains(t, n.errors[0], "reproduce  go test github.com/memspec/memspec/assert -run \\\n               "+
		"'^TestMemory$/^m\\[B=64\\]$'")
	require.Len(t, n.logs, 1, "one warns")
	assert.Contains(t, n.logs[0], "WARN m[B=128]")

	n = &named{name: "TestMemory"}
	memory.File(n, "testdata/absent.yaml")
	require.Len(t, n.errors, 1)
	assert.Contains(t, n.errors[0], "absent.yaml: no such file or directory")

	memory.File(t, "testdata/good.yaml")
}

func TestCaseOf(t *testing.T) {
	c := memory.CaseOf(t, "testdata/memspec.yaml", "m[B=2]")
	assert.Equal(t, "m[B=2]", c.Name)
	n := &named{name: "TestMemory"}
	assert.Empty(t, memory.CaseOf(n, "testdata/memspec.yaml", "absent").Name)
	require.Len(t, n.errors, 1)
	assert.Contains(t, n.errors[0], `memspec: testdata/memspec.yaml: got no case "absent", want one of m[B=2], `)
	assert.True(t, verdict.Verdict{Outcome: verdict.Warn}.OK())
	assert.False(t, verdict.Verdict{}.OK(), "the zero outcome is inconclusive")
}

// Each metric that the committed report has is limited, also behind those that it does not have: of
// an a10g the total is not known. An estimate's upper figure has a separate limit.
func TestEveryKnownMetricIsLimited(t *testing.T) {
	c := oneCase(t, "../../testdata/artifacts/torchvision/resnet18.script.pt", "float32[1,3,224,224]",
		"device: a10g\nbudget: {}")
	r := suite.Judge(t.Context(), c)
	require.NoError(t, r.Err)
	r.Report.Normalize()
	var b bytes.Buffer
	require.NoError(t, report.EncodeJSON(&b, r.Report))
	committed := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(committed, b.Bytes(), 0o600))
	n := &named{name: "TestMemory"}
	v := memory.NoRegression(n, c, committed, 0.25)
	assert.Equal(t, verdict.Pass, v.Outcome, "%s", n.errors)
	got := map[report.Metric]string{}
	for _, f := range v.Findings {
		got[f.Metric] = f.Text
		was, _ := r.Report.Value(f.Metric)
		assert.Equal(t, was+was/4, f.Limit, f.Metric)
		assert.True(t, f.Regression, f.Metric)
		assert.Equal(t, string(f.Metric)+" of "+committed, f.Path)
		if up, ok := r.Report.UpperValue(f.Metric); ok {
			require.NotNil(t, f.UpperLimit, f.Metric)
			assert.Equal(t, up+up/4, *f.UpperLimit, f.Metric)
			assert.Greater(t, *f.UpperLimit, f.Limit, f.Metric)
		}
	}
	assert.Equal(t, map[report.Metric]string{report.Allocated: "55.0 MiB + 25%", report.Delta: "9.7 MiB + 25%",
		report.Reserved: "70.0 MiB + 25%", report.Weights: "44.7 MiB + 25%"}, got)
}

// A committed report that cannot be read is an error with its name.
func TestUnreadableReports(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	for path, want := range map[string]string{bad: "memspec: " + bad + ": ", filepath.Dir(bad): "memspec: "} {
		n := &named{name: "TestMemory"}
		v := memory.NoRegression(n, oneCase(t, "../"+small, smallInput, "budget: {}"), path, 0)
		assert.Equal(t, verdict.Error, v.Outcome)
		require.Len(t, n.errors, 1)
		assert.Contains(t, n.errors[0], want)
		assert.Contains(t, n.errors[0], "; `memspec estimate --format json` writes one")
	}
}

// Outside a module, or in one without a name, the command that repeats a test names no package.
func TestCommandOutsideAModule(t *testing.T) {
	artifact, err := filepath.Abs(small)
	require.NoError(t, err)
	folder := t.TempDir()
	t.Chdir(folder)
	command := func() string {
		n := &named{name: "TestMemory"}
		memory.PeakAtMost(n, artifact, 1, smallInput)
		require.Len(t, n.errors, 1)
		for line := range strings.Lines(n.errors[0]) {
			if _, after, ok := strings.Cut(line, "reproduce  "); ok {
				return strings.TrimSpace(after)
			}
		}
		return ""
	}
	assert.Equal(t, "go test -run '^TestMemory$'", command())
	require.NoError(t, os.WriteFile("go.mod", []byte("go 1.26\n"), 0o600))
	assert.Equal(t, "go test -run '^TestMemory$'", command())
	require.NoError(t, os.WriteFile("go.mod", []byte("// of us\nmodule example.org/m // a name\n"), 0o600))
	assert.Equal(t, "go test example.org/m -run '^TestMemory$'", command())
	require.NoError(t, os.Mkdir("in side", 0o700))
	t.Chdir("in side")
	assert.Equal(t, "go test 'example.org/m/in side' -run '^TestMemory$'", command())
}
