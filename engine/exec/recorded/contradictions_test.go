package recorded_test

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
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

// recordedKeys says of every key of a case what it does beside an artifact that is a recording of
// training with Adam: like is the value that was recorded, other is another one and refused is what
// comes of it. A key without them is not compared, for the reason given.
var recordedKeys = map[string]struct{ like, other, refused, why string }{
	"inputs": {"['float32[8,64]']", "['float32[4,64]']", "inputs float32[8,64], the case says float32[4,64]",
		""},
	"dims": {"", "{B: 4}", "inputs float32[8,64], the case has dims {B: 4} and no inputs: that names them",
		""},
	"source": {"models/zoo.py:Net.make", "zoo.py:Other", "source zoo.py:Net.make, the case says zoo.py:Other",
		""},
	"mode":             {"training", "inference", "got mode inference, want training: that is what was recorded", ""},
	"runtime":          {"eager", "torchscript", "got runtime torchscript, want eager: that is what was recorded", ""},
	"dtype":            {"bfloat16", "float16", "dtype bfloat16, the case says float16", ""},
	"autocast":         {"bfloat16", "float16", "autocast bfloat16, the case says float16", ""},
	"attention":        {"[flash_attention, math]", "math", "attention flash_attention, math, the case says math", ""},
	"cublas_workspace": {"':4096:8'", "':16:8'", "cublas_workspace :4096:8, the case says :16:8", ""},
	"cudnn":            {"9.24", "9.1.0", "cudnn 9.24.0, the case says 9.1", ""},
	"flags": {"{tf32: true, benchmark: true, deterministic: true, cudnn_v7: true}",
		"{tf32: false, benchmark: false, deterministic: false, cudnn_v7: false}",
		"tf32 of matmul on, the case says off; tf32 of cuDNN on, the case says off; benchmark on, the case says off; " +
			"deterministic on, the case says off; cudnn_v7 on, the case says off", ""},
	"optimizer":  {"{name: Adam, fused: true}", "SGD", `optimizer Adam {"fused":true}, the case says SGD`, ""},
	"loss":       {"mean", "sum", "loss mean, the case says sum", ""},
	"accumulate": {"4", "2", "accumulate 4, the case says 2", ""},
	"clip":       {"1.5", "2", "clip 1.5, the case says 2", ""},
	"checkpoint": {"['layers.*']", "['*']",
		`checkpoint {"modules":["layers.*"],"reentrant":false}, the case says {"modules":["*"],"reentrant":false}`, ""},
	"optimizer_in_backward": {"false", "true", "optimizer_in_backward false, the case says true", ""},
	"iterations":            {"3", "4", "iterations 3, the case says 4", ""},
	"assume": {"{'net.py:3': most}", "{'net.py:4': most, 'net.py:5': 2}",
		"net.py:4 as it was, the case says assume: {net.py:4: most}; net.py:5 as it was, the case says assume: {net.py:5: 2}",
		""},
	"grad": {why: "a training step records gradients; TestGradOfARecording has that of an inference"},

	"device": {why: "another compute capability, chip or release is a note that leaves the verdict undecided " +
		"(TestARecordingFromElsewhere)"},
	"torch":           {why: "as device"},
	"alloc_conf":      {why: "a replay's to choose"},
	"memory_fraction": {why: "a replay's to choose"},
	"nccl":            {why: "states what a recording has a range of (suite/nccl_test.go)"},
	"program":         {why: "beside artifact: it is refused (testdata/errors/spec_program.txtar)"},
	"module":          {why: "as program"}, "args": {why: "as program"}, "env": {why: "as program"},
	"cwd": {why: "as program"}, "steps": {why: "as program"}, "ranks": {why: "as program"},
	"serve": {why: "beside artifact: it is refused (testdata/errors/spec_serve.txtar)"}, "at_least": {why: "as serve"},
	"workspace": {why: "what libraries took was recorded"},
	"tolerance": {why: "of memspec verify"},
	"depends":   {why: "says what makes the recording stale"},
	"lengths":   {why: "of a source without an artifact: beside artifact: it is refused (TestLengths)"},
	"varies":    {why: "a note (TestFixedLengths)"},
	"fits":      {why: "runs the case with other dims, which then contradict the recording"},
	"allow":     {why: "judges"}, "judge": {why: "judges"}, "level": {why: "judges"}, "budget": {why: "judges"},
	"regression": {why: "judges"},
	"name":       {why: "names"}, "artifact": {why: "names the recording"}, "cases": {why: "holds cases"},
}

func recordedWithAll() *file.Recording {
	rec := testcase.Trained()
	norm := 1.5
	rec.Inputs, rec.Source, rec.DType, rec.Autocast, rec.CublasWorkspace, rec.CuDNN = []string{"float32[8,64]"},
		"zoo.py:Net.make", "bfloat16", "bfloat16", ":4096:8", "9.24.0"
	rec.Flags = file.Flags{TF32Matmul: true, TF32CuDNN: true, Benchmark: true, Deterministic: true, CuDNNv7: true,
		Attention: []string{"math", "flash_attention"}}
	rec.Training.Accumulate, rec.Training.Clip, rec.Training.Checkpoint = 4, &norm,
		&file.Checkpoint{Modules: []string{"layers.*"}}
	rec.Notes = []file.Note{{ID: string(note.BranchBoth), File: "src/net.py", Line: 4},
		{ID: string(note.ValueStated), Text: "aten::item read 1 value", File: "src/net.py", Line: 3}}
	return rec
}

// recordedCase is a case of a recording, with what a memspec.yaml says beside it.
func recordedCase(t *testing.T, rec *file.Recording, text string) spec.Case {
	t.Helper()
	dir := t.TempDir()
	testcase.Keep(t, rec, filepath.Join(dir, "a.rec"))
	cases, err := spec.LoadAs(filepath.Join(dir, "memspec.yaml"),
		[]byte("version: 1\nmodels:\n  m:\n    artifact: a.rec\n    device: t4\n"+
			"    budget: {allocated: 1GiB}\n"+text))
	require.NoError(t, err)
	return cases[0]
}

// Every key of a case that changes a run is compared with what a recording says, where the case
// states it; what it does not state is as it was recorded.
func TestEveryKeyBesideARecording(t *testing.T) {
	var schema struct {
		Defs struct {
			Model struct{ Properties map[string]any } `json:"model"`
			Case  struct{ Properties map[string]any } `json:"case"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(spec.Schema, &schema))
	keys := maps.Clone(schema.Defs.Model.Properties)
	maps.Copy(keys, schema.Defs.Case.Properties)
	require.Equal(t, slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(recordedKeys)),
		"a new key says here what it does beside a recording")
	training := []string{"optimizer", "loss", "accumulate", "clip", "checkpoint", "optimizer_in_backward", "iterations"}
	for key, k := range recordedKeys {
		t.Run(key, func(t *testing.T) {
			if k.other == "" {
				assert.NotEmpty(t, k.why)
				return
			}
			beside := ""
			if slices.Contains(training, key) {
				beside = "    mode: training\n"
			}
			result := suite.Judge(context.Background(), recordedCase(t, recordedWithAll(), beside+"    "+key+": "+k.other+"\n"))
			assert.ErrorContains(t, result.Err, k.refused)
			assert.Equal(t, verdict.Error, result.Verdict.Outcome)
			if k.like != "" {
				result = suite.Judge(context.Background(), recordedCase(t, recordedWithAll(), beside+"    "+key+": "+k.like+"\n"))
				assert.NoError(t, result.Err)
			}
			result = suite.Judge(context.Background(), recordedCase(t, recordedWithAll(), beside))
			assert.NoError(t, result.Err, "what is not stated is as it was recorded")
		})
	}
}

// A case of a recorded training step needs no mode:. What defaults: say of training steps counts
// then, and the account is one of training.
func TestARecordedTrainingStepNeedsNoMode(t *testing.T) {
	result := suite.Judge(context.Background(), recordedCase(t, testcase.Trained(), ""))
	require.NoError(t, result.Err)
	assert.Equal(t, verdict.Pass, result.Verdict.Outcome, "%v", result.Report.Notes)
	assert.Equal(t, "training", result.Report.Mode)

	for text, refused := range map[string]string{"SGD": "the run was recorded with optimizer Adam",
		"{name: Adam, fused: true}": ""} {
		dir := t.TempDir()
		testcase.Keep(t, testcase.Trained(), filepath.Join(dir, "a.rec"))
		cases, err := spec.LoadAs(filepath.Join(dir, "memspec.yaml"),
			[]byte("version: 1\ndefaults: {device: t4, grad: inference_mode, optimizer: "+text+"}\n"+
				"models:\n  m: {artifact: a.rec, budget: {allocated: 1GiB}}\n"))
		require.NoError(t, err)
		if _, err := engine.Estimate(context.Background(), cases[0]); refused == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, refused)
		}
	}
}

// The recording of an inference says in which context it ran.
func TestGradOfARecording(t *testing.T) {
	rec := testcase.Trained()
	rec.Mode, rec.Training, rec.Grad = "inference", nil, "no_grad"
	for i := range rec.Passes {
		rec.Passes[i].Phases = nil
	}
	for grad, refused := range map[string]bool{"": false, "    grad: no_grad\n": false,
		"    grad: inference_mode\n": true} {
		_, err := engine.Estimate(context.Background(), recordedCase(t, rec, grad))
		if refused {
			assert.ErrorContains(t, err, "the run was recorded with grad no_grad, the case says inference_mode")
		} else {
			assert.NoError(t, err)
		}
	}
}

// What a program chose for itself is not in its recording, so a case that states it is refused.
func TestTheRecordingOfAProgramBesideKeysOfAModel(t *testing.T) {
	rec := testcase.Trained()
	rec.Built, rec.Weights, rec.Training = "a program", 0, nil
	for text, refused := range map[string]string{
		"": "", "    mode: training\n": "",
		"    dtype: float16\n":                              "dtype as the program chose, the case says float16",
		"    mode: training\n    optimizer: AdamW\n":        "optimizer as the program chose, the case says AdamW",
		"    mode: training\n    accumulate: 4\n":           "accumulate as the program chose, the case says 4",
		"    inputs: ['float32[4]']\n":                      "inputs none, the case says float32[4]",
		"    source: zoo.py:Net\n":                          "source none, the case says zoo.py:Net",
		"    mode: training\n    checkpoint: ['block.*']\n": "checkpoint as the program chose",
	} {
		r, err := engine.Estimate(context.Background(), recordedCase(t, rec, text))
		if refused != "" {
			assert.ErrorContains(t, err, refused)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, report.Exact, r.Quality, "%v", r.Notes)
	}
}

// TestRoutingBesideARecording: routing that a case states is what a recording's notes say of it.
func TestRoutingBesideARecording(t *testing.T) {
	for text, want := range map[string]string{
		"aten::topk read 8 values of routing": "",
		"aten::item read 1 value":             "routing as it was, the case says assume: {routing: balanced}",
	} {
		rec := recordedWithAll()
		rec.Notes = []file.Note{{ID: string(note.ValueStated), Text: text, File: "src/net.py", Line: 3}}
		result := suite.Judge(context.Background(), recordedCase(t, rec, "    assume: {routing: balanced}\n"))
		if want == "" {
			assert.NoError(t, result.Err)
		} else {
			assert.ErrorContains(t, result.Err, want)
		}
	}
}

// TestDefaultsBesideTheRecordingOfAProgram: what defaults: say of training steps may be for other
// cases, so it contradicts no program that made its own.
func TestDefaultsBesideTheRecordingOfAProgram(t *testing.T) {
	rec := testcase.Trained()
	rec.Built, rec.Weights, rec.Training = "a program", 0, nil
	dir := t.TempDir()
	testcase.Keep(t, rec, filepath.Join(dir, "a.rec"))
	cases, err := spec.LoadAs(filepath.Join(dir, "memspec.yaml"),
		[]byte("version: 1\ndefaults: {device: t4, optimizer: AdamW, accumulate: 4}\n"+
			"models:\n  m: {artifact: a.rec, mode: training, budget: {allocated: 1GiB}}\n"))
	require.NoError(t, err)
	_, err = engine.Estimate(context.Background(), cases[0])
	require.NoError(t, err)
}
