package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// cached judges a case as a new process would.
func cached(t *testing.T, folder, version string, c spec.Case) *engine.Result {
	t.Helper()
	cache, err := engine.OpenCache(folder, version)
	require.NoError(t, err)
	ms := engine.Models{Cache: cache}
	r := ms.Judge(context.Background(), c)
	require.NoError(t, cache.Err())
	return r
}

// The cases of the repository's own memspec.yaml are told from their accounts as they are told from their runs.
func TestCacheTellsTheSame(t *testing.T) {
	cases, err := spec.Load("../memspec.yaml")
	require.NoError(t, err)
	folder := t.TempDir()
	ran, kept := 0, 0
	for _, i := range []int{0, len(cases) / 2, len(cases) - 1} {
		c := cases[i]
		want := engine.Judge(context.Background(), c)
		first := cached(t, folder, "1", c)
		require.NotNil(t, first.Run, "nothing is kept yet")
		ran++
		again := cached(t, folder, "1", c)
		if want.Verdict.Outcome == verdict.Pass {
			require.Nil(t, again.Run, "%s: run again", c.Name)
			kept++
		}
		for _, got := range []*engine.Result{first, again} {
			assert.Equal(t, want.Verdict, got.Verdict, c.Name)
			assert.Equal(t, asJSONText(t, want.Report), asJSONText(t, got.Report), c.Name)
			assert.Equal(t, want.Message(engine.MessageOptions{}), got.Message(engine.MessageOptions{}), c.Name)
		}
	}
	assert.NotZero(t, ran)
	assert.NotZero(t, kept)
}

func asJSONText(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.WriteJSON(&b, r))
	return b.String()
}

// Budgets are judged anew, and what does not pass is run, for its message tells more than an account does.
func TestCacheJudgesAnew(t *testing.T) {
	folder := t.TempDir()
	c := caseOn(t, "t4", linears, "float32[2,32]")
	c.Budgets = atMost(report.Reserved, units.GiB)
	require.Equal(t, verdict.Pass, cached(t, folder, "1", c).Verdict.Outcome)
	c.Budgets = atMost(report.Reserved, units.GiB+1)
	assert.Nil(t, cached(t, folder, "1", c).Run, "another budget is no other run")
	c.Budgets = atMost(report.Reserved, units.KiB)
	r := cached(t, folder, "1", c)
	assert.Equal(t, verdict.Fail, r.Verdict.Outcome)
	assert.Equal(t, engine.Judge(context.Background(), c).Message(engine.MessageOptions{}), r.Message(engine.MessageOptions{}))
	assert.Contains(t, r.Message(engine.MessageOptions{}), "segments")
}

// An account of a bound is judged with that of its lower end.
func TestCacheKeepsTheLowerEnd(t *testing.T) {
	folder := t.TempDir()
	c := caseOn(t, "none", bad+"nonzero.pt", "float32[64,64]")
	c.Budgets = atMost(report.Reserved, units.GiB)
	if r := engine.Judge(context.Background(), c); r.Report.Quality != report.Bound {
		t.Fatalf("got quality %s, want a bound, or the test shows nothing", r.Report.Quality)
	}
	want := cached(t, folder, "1", c)
	c.Budgets = atMost(report.Allocated, want.Report.Peak.Allocated-1)
	want = engine.Judge(context.Background(), c)
	got := cached(t, folder, "1", c)
	assert.Equal(t, want.Verdict, got.Verdict)
}

// stage is a case with every file that it can depend on.
type stage struct {
	dir string
	c   spec.Case
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.path(name), []byte(text), 0o666))
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir()}
	data, err := os.ReadFile("../testdata/artifacts/small/conv_block.script.pt")
	require.NoError(t, err)
	s.write(t, "m.pt", string(data))
	s.write(t, "layers.py", "depth = 1\n")
	s.write(t, "zoo.py", "def m(): ...\n")
	s.sidecar(t)
	s.write(t, "p.json", profileText(4096))
	s.c = caseOn(t, "t4", s.path("m.pt"), "float32[2,3,32,32]")
	s.c.Dir, s.c.Source, s.c.Workspace = s.dir, "zoo.py:m", s.path("p.json")
	s.c.Budgets = atMost(report.Reserved, units.GiB)
	s.c.Allow = []string{"artifact-stale", "workspace-estimate"}
	return s
}

// sidecar says that the artifact was made from layers.py as it is.
func (s *stage) sidecar(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(s.path("layers.py"))
	require.NoError(t, err)
	s.write(t, "m.pt.inputs.json", fmt.Sprintf(`{"inputs": [], "made": {"files": [{"path": "layers.py", "sha256": "%x"}]}}`, sha256.Sum256(data)))
}

// profileText is a profile with the answer to one convolution.
func profileText(asked int) string {
	return fmt.Sprintf(`{"schema": 1, "groups": [{"library": "cudnn", "version": "9.10.2", "class": "sm86", "entries": [
{"op":"conv","direction":"forward","dtype":"float32","input":[1,8,14,14],"input_strides":[1568,196,14,1],"weight":[8,8,1,1],"weight_strides":[8,1,1,1],
"padding":[0,0],"stride":[1,1],"dilation":[1,1],"groups":1,"allow_tf32":true,"bytes":%d,"engine":1}]}]}`, asked)
}

// Each thing that an account depends on, changed alone, makes the case run again; put back, it is found again.
func TestCacheSeesEveryChange(t *testing.T) {
	rewrite := func(name string, edit func(string) string) func(*testing.T, *stage) {
		return func(t *testing.T, s *stage) {
			data, err := os.ReadFile(s.path(name))
			require.NoError(t, err)
			s.write(t, name, edit(string(data)))
		}
	}
	remove := func(name string) func(*testing.T, *stage) {
		return func(t *testing.T, s *stage) { require.NoError(t, os.Remove(s.path(name))) }
	}
	added := func(text string) string { return text + "# more\n" }
	for name, change := range map[string]func(*testing.T, *stage){
		"another artifact": func(t *testing.T, s *stage) {
			data, err := os.ReadFile("../testdata/artifacts/small/conv_block.trace.pt")
			require.NoError(t, err)
			s.write(t, "m.pt", string(data))
		},
		"a byte of the artifact's directory": rewrite("m.pt", func(text string) string {
			at := strings.Index(text, "PK\x01\x02") // the directory's first entry: the time a record was written
			require.Positive(t, at)
			return text[:at+12] + string(text[at+12]^1) + text[at+13:]
		}),
		"the sidecar":                   rewrite("m.pt.inputs.json", func(text string) string { return strings.Replace(text, "{", "{ ", 1) }),
		"no sidecar":                    remove("m.pt.inputs.json"),
		"a file that it was made from":  rewrite("layers.py", added),
		"no file that it was made from": remove("layers.py"),
		"the source":                    rewrite("zoo.py", added),
		"no source":                     remove("zoo.py"),
		"the profile":                   func(t *testing.T, s *stage) { s.write(t, "p.json", profileText(8192)) },
		"no profile":                    func(_ *testing.T, s *stage) { s.c.Workspace = "" },
		"the input":                     func(t *testing.T, s *stage) { s.c.Inputs = parseInputs(t, []string{"float32[3,3,32,32]"}) },
		"the runtime":                   func(_ *testing.T, s *stage) { s.c.Runtime = spec.TorchScript },
		"the device":                    func(t *testing.T, s *stage) { s.c.Platform.Device = caseOn(t, "l4", linears).Platform.Device },
		"its memory":                    func(_ *testing.T, s *stage) { s.c.Platform.Device.Memory-- },
		"a setting":                     func(_ *testing.T, s *stage) { s.c.Platform.AllocConf = "expandable_segments:True" },
		"the name":                      func(_ *testing.T, s *stage) { s.c.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			s, folder := newStage(t), t.TempDir()
			first := cached(t, folder, "1", s.c)
			require.Equal(t, verdict.Pass, first.Verdict.Outcome, first.Message(engine.MessageOptions{}))
			require.Nil(t, cached(t, folder, "1", s.c).Run, "kept")
			kept := s.c
			saved := map[string][]byte{}
			for _, f := range []string{"m.pt", "m.pt.inputs.json", "layers.py", "zoo.py", "p.json"} {
				data, err := os.ReadFile(s.path(f))
				require.NoError(t, err)
				saved[f] = data
			}
			change(t, s)
			changed := cached(t, folder, "1", s.c)
			require.NotNil(t, changed.Run, "run again")
			want := engine.Judge(context.Background(), s.c)
			assert.Equal(t, asJSONText(t, want.Report), asJSONText(t, changed.Report))
			for f, data := range saved {
				s.write(t, f, string(data))
			}
			_ = cached(t, folder, "1", kept) // a source that went there and back is looked at once more
			assert.Nil(t, cached(t, folder, "1", kept).Run, "as it was")
		})
	}
	t.Run("the engine", func(t *testing.T) {
		s, folder := newStage(t), t.TempDir()
		cached(t, folder, "1", s.c)
		require.Nil(t, cached(t, folder, "1", s.c).Run)
		assert.NotNil(t, cached(t, folder, "2", s.c).Run)
	})
	t.Run("nothing", func(t *testing.T) {
		s, folder := newStage(t), t.TempDir()
		cached(t, folder, "1", s.c)
		s.c.Budgets, s.c.Pos.Line = atMost(report.Allocated, units.GiB), 99
		s.write(t, "other.py", "not of this case\n")
		assert.Nil(t, cached(t, folder, "1", s.c).Run, "a budget, a line and a stranger's file are nothing to the run")
	})
}

// An entry that is damaged is no entry.
func TestCacheDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":       func([]byte) []byte { return nil },
		"truncated":   func(b []byte) []byte { return b[:len(b)/2] },
		"no gzip":     func(b []byte) []byte { return []byte("{}") },
		"another bit": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			c := caseOn(t, "none", linears, "float32[2,32]")
			c.Budgets = atMost(report.Reserved, units.GiB)
			cached(t, folder, "1", c)
			files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			data, err := os.ReadFile(files[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(files[0], damage(data), 0o666))
			r := cached(t, folder, "1", c)
			assert.NotNil(t, r.Run)
			assert.Equal(t, verdict.Pass, r.Verdict.Outcome)
			assert.Nil(t, cached(t, folder, "1", c).Run, "mended")
		})
	}
}

// A folder that cannot be written is told before anything is run, one that fills up once all has been.
func TestCacheUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err := engine.OpenCache(file, "1")
	assert.EqualError(t, err, file+": not a directory")
	_, err = engine.OpenCache(t.TempDir(), "")
	assert.Error(t, err)

	folder := t.TempDir()
	cache, err := engine.OpenCache(folder, "1")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.WriteFile(folder, nil, 0o666)) // in its place
	ms := engine.Models{Cache: cache}
	c := caseOn(t, "none", linears, "float32[2,32]")
	c.Budgets = atMost(report.Reserved, units.GiB)
	assert.Equal(t, verdict.Pass, ms.Judge(context.Background(), c).Verdict.Outcome)
	assert.ErrorContains(t, cache.Err(), folder)
}
