package engine_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// doc.go lists the notes as the table has them.
func TestNotesAreListed(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(doc), "// # Notes\n")
	require.True(t, ok)
	var got, want [][2]string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z-]+)  +(.*)$`).FindAllStringSubmatch(list, -1) {
		got = append(got, [2]string{m[1], m[2]})
	}
	for _, k := range note.Kinds() {
		want = append(want, [2]string{string(k.ID), k.Meaning})
	}
	assert.Equal(t, want, got)
}

// Every note is written by some run: a row here is its test.
func TestEveryNoteIsWritten(t *testing.T) {
	small := "../testdata/artifacts/small/"
	unwritten := map[note.ID]bool{}
	for _, k := range note.Kinds() {
		unwritten[k.ID] = true
	}
	for _, tt := range []struct {
		id       note.ID
		artifact string
		inputs   []string
		edit     func(*spec.Case)
	}{
		{note.BranchBoth, bad + "branch.pt", []string{"float32[8,8]"}, nil},
		{note.DeviceRemapped, small + "constants.trace.pt", []string{"float32[64,32]"}, nil},
		{note.IndexAssumed, bad + "numbers.pt", []string{"float32[8,8]", "4"}, nil},
		{note.LaterGraph, small + "list_read.script.pt", []string{"float32[64,32]"}, func(c *spec.Case) {
			c.Runtime = spec.TorchScript
		}},
		{note.LocalsUnknown, small + "views.trace.pt", []string{"float32[64,32]"}, func(c *spec.Case) {
			c.Runtime = spec.Eager
		}},
		{note.LoopBound, bad + "loops.pt", []string{"float32[8,8]", "0"}, nil},
		{note.LoopOpen, bad + "loops.pt", []string{"float32[8,8]", "2"}, nil},
		{note.OpAssumed, "../testdata/artifacts/exported/custom.pt2", []string{"float32[8,16]"}, nil},
		{note.OpMissing, bad + "custom.pt", []string{"float32[4,4]"}, nil},
		{note.OperatorsDiffer, "../testdata/artifacts/exported/models/llama_static.pt2",
			[]string{"input_ids=int64[1,1]", "cache_position=int64[1]"}, func(c *spec.Case) { c.Runtime = spec.Eager }},
		{note.OtherDevice, "../testdata/snapshots/good.pickle", nil, nil},
		{note.WorkspaceBenchmark, small + "conv_block.script.pt", []string{"float32[2,3,32,32]"}, func(c *spec.Case) {
			c.Platform.Benchmark = true
		}},
		{note.WorkspaceEstimate, small + "conv_block.script.pt", []string{"float32[2,3,32,32]"}, nil},
		{note.WorkspaceStandIn, "../testdata/artifacts/torchvision/resnet50.script.pt", []string{"float32[1,3,224,224]"},
			func(c *spec.Case) {
				c.Workspace = "../memspec.workspace.json"
				c.Platform.Torch = platform.Version{Major: 2, Minor: 6}
				c.Platform.CuDNN = platform.DefaultCuDNN(c.Platform.Torch)
			}},
		{note.WorkspaceUnknown, small + "random_order.script.pt", []string{"float32[64,32]"}, nil},
		{note.ShapeBound, bad + "nonzero.pt", []string{"float32[64,64]"}, nil},
		{note.ValueAssumed, bad + "numbers.pt", []string{"float32[8,8]", "0"}, nil},
		{note.ArtifactStale, "", nil, func(c *spec.Case) {
			rec := testcase.Trained()
			rec.Made = testcase.MadeFrom("gone.py", "")
			c.Artifact = filepath.Join(t.TempDir(), "a.rec")
			testcase.Keep(t, rec, c.Artifact)
		}},
		{note.DependsUnchecked, "", nil, func(c *spec.Case) {
			rec := testcase.Trained()
			rec.Made.Packages = map[string]string{"transformers": "5.22.0"}
			c.Artifact = filepath.Join(t.TempDir(), "a.rec")
			testcase.Keep(t, rec, c.Artifact)
		}},
		{note.TimingDecides, "", nil, func(c *spec.Case) {
			rec := testcase.Trained()
			rec.Compiled, rec.Notes = true,
				[]file.Note{{ID: string(note.TimingDecides), Text: "on a card a measured time decides whether operands are padded"}}
			c.Artifact = filepath.Join(t.TempDir(), "a.rec")
			testcase.Keep(t, rec, c.Artifact)
		}},
		{note.ValueRead, "", nil, func(c *spec.Case) {
			rec := testcase.Trained()
			rec.Notes = []file.Note{{ID: string(note.ValueRead), Text: "aten::item read 1 value that no kernel computed"}}
			c.Artifact = filepath.Join(t.TempDir(), "a.rec")
			testcase.Keep(t, rec, c.Artifact)
		}},
		{note.FixedLengths, "", nil, func(c *spec.Case) {
			c.Artifact, c.Varies = filepath.Join(t.TempDir(), "a.rec"), []string{"T"}
			testcase.Keep(t, testcase.Trained(), c.Artifact)
		}},
		{note.DriverEstimate, "", nil, serving(t, `"logged": true`)},
		{note.DriverUnlogged, "", nil, serving(t, `"logged": false`)},
		{note.OutsideUnknown, "", nil, noting(t, note.OutsideUnknown)},
		{note.ValueDecides, "", nil, testcase.WithValues(t, testcase.More("most", 512*units.MiB))},
		{note.ValueOpen, "", nil,
			testcase.WithValues(t, file.Values{Runs: []file.ValueRun{{Values: "most", Failed: "IndexError"}}})},
		{note.GradientMissing, "", nil, noting(t, note.GradientMissing)},
		{note.ValueCompared, "", nil, noting(t, note.ValueCompared)},
		{note.ValueStated, "", nil, noting(t, note.ValueStated)},
	} {
		t.Run(string(tt.id), func(t *testing.T) {
			c := testcase.On(t, "a10g", tt.artifact, tt.inputs...)
			if tt.edit != nil {
				tt.edit(&c)
			}
			r, err := engine.Estimate(context.Background(), c)
			require.NoError(t, err)
			assert.True(t, r.HasNote(tt.id), "got %v", r.Notes)
			for _, n := range r.Notes {
				assert.NotEmpty(t, n.Text)
			}
			delete(unwritten, tt.id)
		})
	}
	delete(unwritten, note.RanksNotRun) // of a case of several ranks: suite.TestRanksThatDidNotRun
	assert.Empty(t, unwritten, "no run here writes them")
}

// serving makes a case of the recorded start of an engine, whose driver is in logs or not.
func serving(t *testing.T, logged string) func(*spec.Case) {
	return func(c *spec.Case) {
		data, err := os.ReadFile("../testdata/serving/tiny.rec")
		require.NoError(t, err)
		d, err := device.Lookup("h100-sxm-80gb")
		require.NoError(t, err)
		c.Artifact, c.Platform.Device = filepath.Join(t.TempDir(), "a.rec"), d
		testcase.Write(t, c.Artifact, []byte(strings.Replace(string(data), `"logged": true`, logged, 1)))
	}
}

// noting makes a case of a recording that has a note.
func noting(t *testing.T, id note.ID) func(*spec.Case) {
	return func(c *spec.Case) {
		rec := testcase.Trained()
		rec.Notes = []file.Note{{ID: string(id), Text: "aten::item read 1 value"}}
		c.Artifact = filepath.Join(t.TempDir(), "a.rec")
		testcase.Keep(t, rec, c.Artifact)
	}
}

// A note is written once at each of its places, so that whoever reads the account learns all that
// assume: may speak of.
func TestNotesOfEveryPlace(t *testing.T) {
	r, err := engine.Estimate(context.Background(), testcase.On(t, "none", bad+"loops.pt", "float32[8,8]", "12"))
	require.NoError(t, err)
	places := map[report.Site]bool{}
	for _, n := range r.Notes {
		if n.ID == note.BranchBoth {
			assert.False(t, places[n.First], "%s twice at %s", n.ID, n.First)
			places[n.First] = true
		}
	}
	assert.Len(t, places, 9, "the nine ifs of the model")
}

// Product code names a note by its constant: an ID that is quoted could be misspelt.
func TestNoteIDsAreNotQuoted(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			filepath.Base(filepath.Dir(path)) == "note" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, id := range note.IDs() {
			assert.False(t, strings.Contains(string(text), strconv.Quote(id)), "%s: got %q, want the constant of package note",
				path, id)
		}
		return err
	}))
}
