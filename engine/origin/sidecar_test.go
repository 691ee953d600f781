package origin_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// besides copies an exported model, and its sidecar as edit leaves it.
func besides(t *testing.T, model string, edit func(map[string]any)) string {
	from := filepath.Join("..", "..", "testdata", "artifacts", "exported", "models", model)
	to := filepath.Join(t.TempDir(), model)
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o644))
	data, err = os.ReadFile(from + ".inputs.json")
	require.NoError(t, err)
	sidecar := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &sidecar))
	edit(sidecar)
	data, err = json.Marshal(sidecar)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to+".inputs.json", data, 0o644))
	return to
}

// TestEagerProgram: eager runs are of the program in the sidecar, where it takes the inputs; else
// of the artifact's own, as far as that knows.
func TestEagerProgram(t *testing.T) {
	all := func(map[string]any) {}
	for _, tt := range []struct {
		why     string
		edit    func(map[string]any)
		input   string
		runtime spec.Runtime
		quality report.Quality
		notes   []note.ID
	}{
		{"the program that eager runs", all, "input_ids=int64[2,24]", spec.Eager, report.Exact,
			[]note.ID{note.DeviceRemapped}},
		{"at any size", all, "input_ids=int64[5,96]", spec.Eager, report.Exact, []note.ID{note.DeviceRemapped}},
		{"the exported one is run as it is", all, "input_ids=int64[2,24]", spec.Export, report.Exact,
			[]note.ID{note.DeviceRemapped}},
		{"not stated", func(s map[string]any) { delete(s, "eager") }, "input_ids=int64[2,24]", spec.Eager, report.Estimated,
			[]note.ID{note.DeviceRemapped, note.OperatorsDiffer}},
		{"nothing is stated of operators", func(s map[string]any) { delete(s, "eager"); delete(s, "operators") },
			"input_ids=int64[2,24]", spec.Eager, report.Estimated, []note.ID{note.DeviceRemapped, note.OperatorsDiffer}},
		{"of other inputs", func(s map[string]any) { // that of another model, which takes a mask too
			s["eager"] = sidecarOf(t, "bert.pt2")["eager"]
		}, "input_ids=int64[2,24]", spec.Eager, report.Estimated, []note.ID{note.DeviceRemapped, note.OperatorsDiffer}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			c := testcase.On(t, "t4", besides(t, "llama.pt2", tt.edit), tt.input)
			c.Runtime = tt.runtime
			r, err := engine.Estimate(context.Background(), c)
			require.NoError(t, err)
			assert.Equal(t, tt.quality, r.Quality)
			var got []note.ID
			for _, n := range r.Notes {
				got = append(got, n.ID)
			}
			assert.Equal(t, tt.notes, got)
		})
	}
}

func sidecarOf(t *testing.T, model string) map[string]any {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "artifacts", "exported", "models",
		model+".inputs.json"))
	require.NoError(t, err)
	sidecar := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &sidecar))
	return sidecar
}

// TestModulesOfTheLiveModel: in eager execution weights are moved in the order of its modules,
// where that is reported.
func TestModulesOfTheLiveModel(t *testing.T) {
	first := func(modules ...string) string {
		path := besides(t, "bert.pt2", func(s map[string]any) { s["modules"] = modules })
		m, err := engine.Open(path)
		require.NoError(t, err)
		c := testcase.On(t, "t4", path, "input_ids=int64[2,24]", "attention_mask=int64[2,24]")
		c.Runtime = spec.Eager
		r, err := m.Run(context.Background(), c)
		require.NoError(t, err)
		return r.Trace.Sites[r.Trace.Events[0].Site].Op
	}
	assert.Equal(t, "model.embeddings.word_embeddings.weight", first())
	assert.Equal(t, "model.encoder.layer.1.output.dense.weight", first("model.encoder.layer.1.output.dense",
		"model.embeddings.word_embeddings"))
	assert.Equal(t, "model.encoder.layer.0.attention.self.query.weight", first("model.encoder.layer.0", "gone"),
		"one of them has children alone, one is none of the program's")
}

// TestOtherDTypes: a program has the dtypes of its export. In others it is what the live model runs
// only where the sidecar says that this was compared.
func TestOtherDTypes(t *testing.T) {
	differs := func(key string) func(map[string]any) {
		return func(s map[string]any) {
			s["retyped"] = map[string]any{"autocast": "", "dtype": "", key: "eager runs\naten::_to_copy"}
		}
	}
	for _, tt := range []struct {
		why             string
		edit            func(map[string]any)
		autocast, dtype string
		want            string // the note's subject, "" for none
	}{
		{"as it was exported", func(map[string]any) {}, "", "", ""},
		{"not compared under autocast", func(map[string]any) {}, "float16", "", "under autocast: not compared: the program " +
			"was exported by an older memshim"},
		{"not compared in another dtype", func(map[string]any) {}, "", "float16", "in float16: not compared: the program " +
			"was exported by an older memshim"},
		{"one of two is compared", func(s map[string]any) { s["retyped"] = map[string]any{"autocast": ""} }, "", "float16",
			"in float16: not compared: the program was exported by an older memshim"},
		{"the same under autocast", func(s map[string]any) { s["retyped"] = map[string]any{"autocast": ""} }, "float16", "",
			""},
		{"others under autocast", differs("autocast"), "float16", "", "under autocast: eager runs aten::_to_copy"},
		{"others under autocast, of which there is none", differs("autocast"), "", "float16", ""},
		{"others in another dtype", differs("dtype"), "", "float16", "in float16: eager runs aten::_to_copy"},
		{"others in another dtype than the program's, which is the case's", differs("dtype"), "", "float32", ""},
		{"others in another dtype, under autocast", differs("dtype"), "float16", "", ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			c := testcase.On(t, "t4", besides(t, "convnext.pt2", tt.edit), "x=float32[1,3,224,224]")
			c.Runtime, c.DType, c.Platform.Autocast = spec.Eager, tt.dtype, tt.autocast
			r, err := engine.Estimate(context.Background(), c)
			require.NoError(t, err)
			var got string
			for _, n := range r.Notes {
				if n.ID == note.OperatorsDiffer {
					got = strings.TrimPrefix(n.Text, "the live model may run other operators than the program: ")
				}
			}
			assert.Equal(t, tt.want, got)
			if tt.want != "" {
				assert.Equal(t, report.Estimated, r.Quality)
			}
		})
	}
}

// TestAnotherDTypeThanTheExports: casts that the export left in or out may give operators tensors
// that they refuse.
func TestAnotherDTypeThanTheExports(t *testing.T) {
	c := testcase.On(t, "t4", filepath.Join("..", "..", "testdata", "artifacts", "exported", "models", "gpt2.pt2"),
		"input_ids=int64[2,24]")
	c.DType = "float16"
	_, err := engine.Estimate(context.Background(), c)
	assert.ErrorContains(t, err, "got input of float32 and weight of float16, want one dtype (the program's casts are "+
		"those of its export: export the model in float16)")
}

// TestBadSidecars: a sidecar that is not this artifact's is refused, and says why.
func TestBadSidecars(t *testing.T) {
	script, err := os.ReadFile("../../testdata/artifacts/small/views.trace.pt")
	require.NoError(t, err)
	eager := func(key string, v any) func(map[string]any) {
		return func(s map[string]any) { s["eager"].(map[string]any)[key] = v }
	}
	for _, tt := range []struct {
		why  string
		edit func(map[string]any)
		want string
	}{
		{"releases of another program", func(s map[string]any) { s["releases"] = [][2]string{{"q", "p"}} },
			"releases: got a release of q after p, want two results of the program"},
		{"a difference that is not stated", func(s map[string]any) { s["operators"] = map[string]any{"same": false} },
			"operators: got no first difference"},
		{"modules without end", func(s map[string]any) { s["modules"] = []string{"a", strings.Repeat("a.", 1000) + "a"} },
			"modules[1]: got a path of 1001 names, want at most 1000"},
		{"no archive", eager("program", base64.StdEncoding.EncodeToString([]byte("PK"))), "eager: not a zip archive"},
		{"no text of an archive", eager("program", "%"), "illegal base64 data"},
		{"a TorchScript archive", eager("program", base64.StdEncoding.EncodeToString(script)),
			"eager: got a torchscript artifact, want an exported program"},
		{"releases of another eager program", eager("releases", [][2]string{{"q", "p"}}),
			"eager: releases: got a release of q after p"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			path := besides(t, "llama.pt2", tt.edit)
			_, err := engine.Open(path)
			if err == nil { // of a program that eager alone runs an eager run reports
				c := testcase.On(t, "t4", path, "input_ids=int64[2,24]")
				c.Runtime = spec.Eager
				_, err = engine.Estimate(context.Background(), c)
			}
			assert.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "llama.pt2.inputs.json: ")
		})
	}
}
