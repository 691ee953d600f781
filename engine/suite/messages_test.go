package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// TestJudgeReports holds what is said of cases of every outcome, in full and with the first row of
// each table, and what would help: testdata/reported. Their baseline is what the same cases take
// without its section, written and read again, except the lines of before.json.
func TestJudgeReports(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "messages", "*.txtar"), func(a *golden.Archive) {
		t := a.T()
		cases, err := spec.LoadAs(filepath.Join("..", "..", "testdata", "artifacts", "memspec.yaml"), a.Input("memspec.yaml"))
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "baseline.json")
		require.NoError(t, os.WriteFile(path, a.Input("before.json"), 0o600))
		var ms suite.Models
		var out strings.Builder
		for i, c := range cases {
			if len(c.Regression) > 0 && !strings.Contains(c.Name, "without") {
				c.Baseline = path
			}
			r := ms.Judge(context.Background(), c)
			if i > 0 {
				out.WriteByte('\n')
			}
			fmt.Fprintln(&out, strings.ReplaceAll(r.Line(), path, "BASELINE"))
			out.WriteString(r.Message(suite.MessageOptions{Columns: 120, Reproduce: []string{"again", "and again"}}))
			if r.Err != nil {
				continue
			}
			r.Remedies = ms.Remedies(context.Background(), r)
			if len(r.Remedies) > 0 {
				out.WriteString("with remedies, a row of each table:\n")
				out.WriteString(r.Message(suite.MessageOptions{Rows: 1}))
			}
		}
		a.Want("printed", []byte(out.String()))

		for i := range cases {
			cases[i].Regression, cases[i].Fits = nil, nil
		}
		b := &suite.Baseline{}
		ms.JudgeAll(context.Background(), cases, nil, func(r *suite.Result) {
			if r.Report != nil && !strings.Contains(r.Case.Name, "resnet") {
				b.Cases = append(b.Cases, suite.BaselineOf(r.Case.Name, r.Report))
			}
		})
		var text strings.Builder
		require.NoError(t, b.Write(&text))
		a.Want("baseline", []byte(text.String()))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
		again, err := suite.ReadBaseline(path)
		require.NoError(t, err)
		require.Equal(t, b, again)
		for _, c := range b.Cases {
			require.Equal(t, c.Name, again.Case(c.Name).Name)
		}
	})
}

// An engine that starts is reported by its budgets, one that does not by what it lacks.
func TestLineOfAnEngine(t *testing.T) {
	r := &suite.Result{Case: spec.Case{Name: "chat"}, Report: &report.Report{Serving: &report.Serving{Fits: true}},
		Verdict: verdict.Verdict{Why: []string{"no budget"}}}
	assert.True(t, strings.HasSuffix(r.Line(), ": no budget"), r.Line())
	r.Report.Serving.Fits = false
	assert.True(t, strings.HasSuffix(r.Line(), ": "+report.Headline(r.Report)), r.Line())
}

// The upper figure is a caution where it leaves a passing case open, has no room or breaks the
// budget.
func TestCaution(t *testing.T) {
	for _, tt := range []struct {
		why  string
		f    verdict.Finding
		want string
	}{
		{"the upper figure breaks the budget", verdict.Finding{Outcome: verdict.Pass, Upper: 1}, "caution: reserved: why"},
		{"it does not fit the device", verdict.Finding{Outcome: verdict.Pass, NoRoom: true}, "caution: reserved: why"},
		{"there is none", verdict.Finding{Outcome: verdict.Pass, Open: true}, "caution: reserved: why"},
		{"nothing of it", verdict.Finding{Outcome: verdict.Pass}, ""},
		{"a case that fails says so itself", verdict.Finding{Outcome: verdict.Fail, Upper: 1, NoRoom: true, Open: true}, ""},
	} {
		tt.f.Metric, tt.f.Why = report.Reserved, "why"
		r := &suite.Result{Verdict: verdict.Verdict{Findings: []verdict.Finding{{Outcome: verdict.Pass}, tt.f}}}
		assert.Equal(t, tt.want, r.Caution(), tt.why)
	}
}
