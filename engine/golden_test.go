package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// One archive through every room. case.yaml is a model of a memspec.yaml, its paths relative to
// testdata.
func TestGolden(t *testing.T) {
	golden.Run(t, "../testdata/traces/*.txtar", func(a *golden.Archive) {
		t := a.T()
		c := goldenCase(t, a.Input("case.yaml"))
		m, err := engine.Open(c.Artifact)
		require.NoError(t, err)
		require.NoError(t, program.Check(m.Artifact.Program))
		var b bytes.Buffer
		require.NoError(t, program.Write(&b, m.Artifact.Program))
		a.Want("program", b.Bytes())

		run, err := m.Run(context.Background(), c)
		require.NoError(t, err)
		tr := run.Trace
		require.NoError(t, tr.Validate())
		a.Want("trace", []byte(tr.String()))

		a.Want("lifetimes", lifetimes(t, m, c, false))
		if run.Report.HasNote(note.LocalsUnknown) {
			a.Want("lifetimes.most", lifetimes(t, m, c, true))
		}

		r := suite.Judge(context.Background(), c)
		require.NoError(t, r.Err)
		b.Reset()
		require.NoError(t, report.WriteText(&b, r.Report))
		a.Want("report.text", b.Bytes())
		b.Reset()
		require.NoError(t, report.WriteJSON(&b, r.Report))
		a.Want("report.json", b.Bytes())
		a.Want("verdict", []byte(r.Message(suite.MessageOptions{Rows: report.ShortRows})))
		a.Want("cost", fmt.Appendf(nil, "nodes %d  events %d  sites %d\n", tr.Coverage.Nodes, len(tr.Events), len(tr.Sites)))
	})
}

// lifetimes writes the live ranges of a case, checked.
func lifetimes(t *testing.T, m *engine.Model, c spec.Case, most bool) []byte {
	t.Helper()
	funcs, err := m.Lifetimes(context.Background(), c, most)
	require.NoError(t, err)
	for i := range funcs {
		require.NoError(t, lifetime.Check(&funcs[i]))
	}
	var b bytes.Buffer
	require.NoError(t, lifetime.Write(&b, funcs))
	return b.Bytes()
}

func goldenCase(t *testing.T, model []byte) spec.Case {
	t.Helper()
	text := "version: 1\nmodels:\n  golden:\n    " + strings.ReplaceAll(strings.TrimRight(string(model), "\n"), "\n",
		"\n    ") + "\n"
	cases, err := spec.Parse("../testdata/case.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, cases, 1, "an archive is one case")
	return cases[0]
}
