package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// pairValues are a value for every key of a case, another one than its default and than the value
// that the model has.
var pairValues = map[string]string{
	"accumulate": "2", "alloc_conf": "'expandable_segments:True'", "allow": "[other-device]", "args": "[--batch, 2]",
	"assume": "{'net.py:3': 4}", "at_least": "{kv_tokens: 4}",
	"attention": "math", "autocast": "bfloat16", "budget": "{reserved: 1GiB}", "checkpoint": "['*']", "clip": "1.5",
	"cublas_workspace": "':4096:8'", "cudnn": "9.1.0", "cwd": "scripts", "depends": "{ignore: [data/**]}", "device": "l4",
	"dims":  "{B: 4}",
	"dtype": "float16", "env": "{WIDTH: 2}", "fits": "{B: 8}", "flags": "{tf32: true}", "grad": "inference_mode",
	"inputs":     `["float32[2*B,32]"]`,
	"iterations": "4", "lengths": "{B: [2, 1]}", "varies": "[B]", "judge": "likely", "level": "warn", "loss": "sum",
	"memory_fraction": "0.5", "mode": "training, or inference", "name": "other", "nccl": "1GiB",
	"optimizer": "AdamW", "optimizer_in_backward": "true", "ranks": "{world_size: 8}", "regression": "{allocated: 1%}",
	"runtime": "torchscript", "steps": "2",
	"tolerance": "5%", "torch": "2.10", "workspace": "../../../memspec.workspace.json",
}

// A pairBase is a model for whose case pairs are written.
type pairBase struct {
	name, text string
	mode       string // the value of mode: that the model does not have
	of         string // keys of the model, two lines
}

const pairInputs = "    inputs: [\"float32[B,32]\"]\n    dims: {B: 2}\n"

var pairBases = []pairBase{
	{"a case of an archive", "    artifact: module_list.script.pt\n", "training", pairInputs},
	{"a training step of a source without a recording", "    source: net.py:net\n    mode: training\n", "inference",
		pairInputs},
	{"a program without a recording", "    program: train.py\n", "training", "    args: [--depth, 3]\n    env: {DEPTH: " +
		"3}\n"},
}

const pairFile = "../../testdata/artifacts/small/memspec.yaml"

// pairCase is the case with the keys, each on its line; a key that is left out is an empty line.
func pairCase(base pairBase, keys ...string) (spec.Case, error) {
	var b strings.Builder
	b.WriteString("version: 1\nmodels:\n  m:\n" + base.text +
		"    device: t4\n    torch: 2.15\n" + base.of + "    budget: {allocated: 1GiB}\n    cases:\n    -\n")
	for _, k := range keys {
		switch k {
		case "":
		case "mode":
			b.WriteString("      mode: " + base.mode)
		default:
			b.WriteString("      " + k + ": " + pairValues[k])
		}
		b.WriteString("\n")
	}
	if !slices.ContainsFunc(keys, func(k string) bool { return k != "" }) {
		b.WriteString("      {}\n")
	}
	cases, err := spec.LoadAs(pairFile, []byte(b.String()))
	if err != nil {
		return spec.Case{}, errors.New(strings.ReplaceAll(err.Error(), pairFile, "memspec.yaml"))
	}
	return cases[0], nil
}

// saidOf is everything that a case holds, without where it is written.
func saidOf(t *testing.T, c spec.Case) string {
	t.Helper()
	j := c.JSON()
	for i := range j.Budgets {
		j.Budgets[i].Spec = ""
	}
	for i := range c.Fits {
		c.Fits[i].Pos = spec.Pos{}
	}
	var regressions []string
	for _, r := range c.Regression {
		regressions = append(regressions, fmt.Sprint(r.Metric, r.Text, r.Level))
	}
	text, err := json.Marshal([]any{j, c.Allow, c.Judge, c.Workspace, c.Fits, regressions, c.Platform.NCCL, c.Varies})
	require.NoError(t, err)
	return string(text)
}

// pairOutcome is what a pair of keys makes of a case: an error with its line, or its verdict. A key
// that is accepted and changes nothing of the case fails the test: it would be ignored in silence.
func pairOutcome(t *testing.T, models *suite.Models, base pairBase, first, second string) string {
	t.Helper()
	c, err := pairCase(base, first, second)
	if err != nil {
		var said []string
		for _, line := range strings.Split(err.Error(), "\n") {
			assert.Regexp(t, `^memspec\.yaml:1[234]:[0-9]+: got `, line, "%s and %s: an error names its line", first, second)
			line = strings.SplitN(line, ": ", 2)[1]
			for _, key := range []string{first, second} {
				line = strings.Replace(line, "got "+key+":", "got KEY:", 1)
			}
			said = append(said, line)
		}
		slices.Sort(said)
		return "refused: " + strings.Join(slices.Compact(said), "; ")
	}
	for _, other := range [][]string{{first, ""}, {"", second}} {
		if without, err := pairCase(base, other...); err == nil {
			assert.NotEqual(t, saidOf(t, without), saidOf(t, c), "of %s and %s one is ignored", first, second)
		}
	}
	r := models.Judge(context.Background(), c)
	if missing := (*origin.Uncaptured)(nil); errors.As(r.Err, &missing) {
		own, err := pairCase(base)
		require.NoError(t, err)
		if own.Captured() == c.Captured() {
			return r.Verdict.Outcome.String() + ": no recording: the model's serves"
		}
		return r.Verdict.Outcome.String() + ": no recording: it has its own"
	}
	if r.Err != nil {
		return r.Verdict.Outcome.String() + ": " + strings.ReplaceAll(r.Err.Error(), filepath.Dir(pairFile)+"/", "")
	}
	return strings.Join(append([]string{r.Verdict.Outcome.String()}, r.Verdict.Why...), ": ")
}

// TestPairsOfKeys writes every two keys of a case together and compares what comes of it with
// testdata/pairs.txt; MEMSPEC_UPDATE=1 rewrites it. A new key of the schema must have a value in
// pairValues.
func TestPairsOfKeys(t *testing.T) {
	golden.NeedsWhole(t, "every two keys of a case")
	var schema struct {
		Defs struct {
			Case struct{ Properties map[string]any } `json:"case"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(spec.Schema, &schema))
	keys := slices.Sorted(maps.Keys(schema.Defs.Case.Properties))
	require.Equal(t, keys, slices.Sorted(maps.Keys(pairValues)), "every key of a case has a value here")
	var models suite.Models
	var out strings.Builder
	out.WriteString("Every two keys of a case written together, and what comes of it: go test ./engine/suite -run " +
		"PairsOfKeys.\n")
	for _, base := range pairBases {
		writePairs(&out, base, keys, func(first, second string) string {
			return pairOutcome(t, &models, base, first, second)
		})
	}
	path := filepath.Join("testdata", "pairs.txt")
	if os.Getenv("MEMSPEC_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
}

// writePairs writes a table with a letter for each pair of keys, and below it what each letter
// stands for. The columns are the keys in the order of the rows.
func writePairs(out *strings.Builder, base pairBase, keys []string, outcome func(first, second string) string) {
	const letters = ".abcdefghijklmnopqrstuvwxyz"
	legend := []string{"pass"}
	fmt.Fprintf(out, "\n%s:\n%s", base.name, strings.Repeat(" ", 24))
	for i := range keys {
		fmt.Fprintf(out, "%3d", i+1)
	}
	for i, row := range keys {
		fmt.Fprintf(out, "\n%2d %-21s", i+1, row)
		for k := range keys {
			if k == i {
				out.WriteString("  -")
				continue
			}
			said := outcome(keys[min(i, k)], keys[max(i, k)])
			at := slices.Index(legend, said)
			if at < 0 {
				at = len(legend)
				legend = append(legend, said)
			}
			fmt.Fprintf(out, "  %c", letters[at])
		}
	}
	out.WriteString("\n")
	for i, said := range legend {
		fmt.Fprintf(out, "  %c  %s\n", letters[i], said)
	}
}
