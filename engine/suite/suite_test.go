package suite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// JudgeAll hands results over in order, whatever the order they end in, and reads an artifact once.
func TestJudgeAll(t *testing.T) {
	var cases []spec.Case
	for range 20 {
		for _, artifact := range []string{"../../testdata/artifacts/torchvision/alexnet.script.pt", "absent.pt",
			"../../testdata/artifacts/torchvision/resnet18.trace.pt"} {
			c := testcase.On(t, "t4", artifact, "float32[1,3,224,224]")
			c.Budgets = testcase.AtMost(report.Allocated, units.GiB)
			cases = append(cases, c)
		}
	}
	var models suite.Models
	i := 0
	models.JudgeAll(context.Background(), cases, nil, func(r *suite.Result) {
		assert.Equal(t, cases[i].Artifact, r.Case.Artifact)
		want := verdict.Pass
		if i%3 == 1 {
			want = verdict.Error
		}
		assert.Equal(t, want, r.Verdict.Outcome)
		i++
	})
	assert.Equal(t, len(cases), i)
	models.JudgeAll(context.Background(), nil, nil, func(*suite.Result) { t.Error("got a result of no case") })
}

func TestExplainCommand(t *testing.T) {
	c := testcase.On(t, "t4", "my model.pt", "x=float32[2,32]")
	assert.Equal(t, "memspec explain 'my model.pt' --input 'x=float32[2,32]' --device t4 --torch 2.15",
		suite.ExplainCommand(c))
	c.Runtime, c.Platform.AllocConf = spec.Eager, "expandable_segments:True"
	assert.Equal(t, "memspec explain 'my model.pt' --input 'x=float32[2,32]' --device t4 --torch 2.15 --runtime eager "+
		"--alloc-conf expandable_segments:True",
		suite.ExplainCommand(c))
	c.Name, c.Pos.File = "m[B=8]", "memspec.yaml"
	assert.Equal(t, "memspec explain --case 'm[B=8]' memspec.yaml", suite.ExplainCommand(c))
}

// A run makes each value once: what judges it, and what a door shows of it, are the same.
func TestARunIsMadeOnce(t *testing.T) {
	c := testcase.On(t, "a10g", "../../testdata/artifacts/small/module_list.script.pt", "float32[2,32]")
	c.Budgets = testcase.AtMost(report.Allocated, units.GiB)
	var models suite.Models
	r := models.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Same(t, r.Run.Report, r.Report)
	assert.Same(t, r.Run.Trace, r.Run.Timeline.Trace)
	assert.Equal(t, r.Report.Peak.Allocated, r.Run.Timeline.Peaks.Allocated.Bytes)
	m, err := models.Open(c.Artifact)
	require.NoError(t, err)
	assert.Same(t, m, r.Run.Model)
}

// What several cases name is read once: the files may be gone by the second.
func TestFilesAreReadOnce(t *testing.T) {
	folder := t.TempDir()
	keep := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	archive, err := os.ReadFile("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	c := testcase.On(t, "t4", keep("m.pt", archive), "float32[2,32]")
	c.Workspace = keep("profile.json", []byte(`{"schema":1,"groups":[]}`))
	c.Baseline = keep("baseline.json", []byte(`{"schema":1,"cases":[]}`))
	var models suite.Models
	first := models.Judge(context.Background(), c)
	require.NoError(t, first.Err)
	require.NoError(t, os.RemoveAll(folder))
	second := models.Judge(context.Background(), c)
	require.NoError(t, second.Err)
	assert.Same(t, first.Run.Model, second.Run.Model)
	assert.Same(t, first.Run.Case.Platform.Workspace, second.Run.Case.Platform.Workspace)
}
