package origin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// A recording that read a configuration and a variable, with two distributions, is stale where one
// of them is another one now. Its verdict is then inconclusive and names it.
func TestWhatARunReadMakesItStale(t *testing.T) {
	const lock = "[[package]]\nname = \"transformers\"\nversion = \"5.22.0\"\n\n[[package]]\nname = \"torch\"\nversion " +
		"= \"2.15.0\"\n"
	environ := []string{"WIDTH=256"}
	for _, tt := range []struct {
		why       string
		edit      func(dir string, ms *suite.Models, c *spec.Case)
		want      string // in the verdict's reason; "" where it passes
		unchecked string // in the note; "" for none
	}{
		{"as it was", func(string, *suite.Models, *spec.Case) {}, "", ""},
		{"a configuration", func(dir string, _ *suite.Models, _ *spec.Case) {
			testcase.Write(t, filepath.Join(dir, "config.json"), []byte(`{"hidden_size": 25600}`))
		},
			"config.json has changed since the artifact was made; to make it again: python -m memshim capture ", ""},
		{"a configuration that does not count", func(dir string, _ *suite.Models, c *spec.Case) {
			testcase.Write(t, filepath.Join(dir, "config.json"), []byte(`{}`))
			c.Depends.Ignore = []string{"*.json"}
		}, "", ""},
		{"a variable", func(_ string, ms *suite.Models, _ *spec.Case) { ms.Environ = []string{"WIDTH=25600"} },
			"variable WIDTH has changed since", ""},
		{"an environment that is not given", func(_ string, ms *suite.Models, _ *spec.Case) {
			ms.Environ = nil
		}, "", "variables of the environment, which the caller did not give"},
		{"a newer release", func(dir string, _ *suite.Models, _ *spec.Case) {
			testcase.Write(t, filepath.Join(dir, "uv.lock"), []byte(strings.ReplaceAll(lock, "5.22.0", "5.23.0")))
		}, "transformers 5.22.0 → 5.23.0 (uv.lock) since", ""},
		{"a release that is not pinned", func(dir string, _ *suite.Models, _ *spec.Case) {
			require.NoError(t, os.Remove(filepath.Join(dir, "uv.lock")))
			testcase.Write(t, filepath.Join(dir, "requirements.txt"), []byte("torch==2.15.0\n"))
		}, "", "not compared: releases of transformers, which requirements.txt does not pin"},
		{"no lock file", func(dir string, _ *suite.Models, _ *spec.Case) {
			require.NoError(t, os.Remove(filepath.Join(dir, "uv.lock")))
		},
			"", "not compared: releases of torch, transformers: the repository has no uv.lock, no poetry.lock and no " +
				"requirements.txt with =="},
		{"all of it", func(dir string, ms *suite.Models, _ *spec.Case) {
			testcase.Write(t, filepath.Join(dir, "config.json"), []byte(`{}`))
			testcase.Write(t, filepath.Join(dir, "zoo.py"), []byte(`# another`))
			testcase.Write(t, filepath.Join(dir, "uv.lock"), []byte(strings.ReplaceAll(lock, "5.22.0", "5.23.0")))
			ms.Environ = []string{}
		}, "config.json has changed, variable WIDTH has changed and 1 more since", ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			dir, cases := testcase.Project(t, testcase.SourceOnly, "")
			testcase.Write(t, filepath.Join(dir, "config.json"), []byte(`{"hidden_size": 256}`))
			testcase.Write(t, filepath.Join(dir, "uv.lock"), []byte(lock))
			c, ms := cases[0], suite.New(environ)
			rec := testcase.Trained()
			rec.Made = testcase.MadeFrom("../zoo.py", "")
			rec.Made.Read = []file.Data{{Path: "../config.json",
				SHA256: testcase.MadeFrom("", `{"hidden_size": 256}`).Files[0].SHA256}}
			rec.Made.Variables = map[string]string{"WIDTH": file.HashVariable("WIDTH", "256")}
			rec.Made.Packages = map[string]string{"transformers": "5.22.0", "torch": "2.15.0+cu132"}
			testcase.Keep(t, rec, c.Captured())
			tt.edit(dir, ms, &c)
			r := ms.Judge(context.Background(), c)
			require.NoError(t, r.Err)
			assert.Equal(t, tt.unchecked != "", r.Report.HasNote(note.DependsUnchecked), "%v", r.Report.Notes)
			for _, n := range r.Report.Notes {
				if n.ID == note.DependsUnchecked {
					assert.Contains(t, n.Text, tt.unchecked)
				}
			}
			if tt.want == "" {
				assert.Equal(t, verdict.Pass, r.Verdict.Outcome, r.Line())
				assert.Equal(t, report.Exact, r.Report.Quality, "what was not compared makes no figure an estimate")
				return
			}
			assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
			assert.Contains(t, r.Line(), tt.want)
		})
	}
}

// The repository's lock file is that of the nearest folder above memspec.yaml, and none above the
// repository.
func TestTheNearestLockFileCounts(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "repository", "team", "models")
	rec := testcase.Trained()
	rec.Made.Packages = map[string]string{"transformers": "5.22.0"}
	testcase.Keep(t, rec, filepath.Join(dir, "a.rec"))
	c := testcase.On(t, "t4", filepath.Join(dir, "a.rec"))
	c.Dir = dir
	unchecked := func() bool {
		r, err := engine.Estimate(context.Background(), c)
		require.NoError(t, err)
		return r.HasNote(note.DependsUnchecked)
	}
	testcase.Write(t, filepath.Join(top, "requirements.txt"), []byte("transformers==5.22.0\n"))
	assert.True(t, unchecked(), "without a repository the folder itself counts")
	testcase.Write(t, filepath.Join(top, "repository", ".git"), []byte("gitdir: elsewhere\n"))
	assert.True(t, unchecked())
	testcase.Write(t, filepath.Join(top, "repository", "requirements.txt"), []byte("transformers==5.22.0\n"))
	assert.False(t, unchecked())
	testcase.Write(t, filepath.Join(top, "repository", "team", "requirements.txt"), []byte("transformers==5.21.0\n"))
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.True(t, r.HasNote(note.ArtifactStale), "the nearer one is of another release")
}
