package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/internal/cli"
)

// failing is a writer whose writes fail from one of them on.
type failing struct {
	from, writes int
}

func (f *failing) Write(b []byte) (int, error) {
	if f.writes++; f.writes >= f.from {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

// mostFailed is how many writes of a command fail in turn: some commands print a line an event.
const mostFailed = 16

// TestFailedWrites lets the writes of each command fail, one by one: the command ends with the
// error, and writes no more.
func TestFailedWrites(t *testing.T) {
	testdata, err := filepath.Abs("../../testdata")
	require.NoError(t, err)
	record, err := filepath.Abs("../../engine/recording/testdata/records/small.json")
	require.NoError(t, err)
	badFolder(t)
	folder := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.Mkdir(folder, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(`{"model_type": "qwen3", "head_dim": 128,
		"hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960, "num_attention_heads": 32,
		"num_hidden_layers": 36, "num_key_value_heads": 8, "torch_dtype": "bfloat16", "vocab_size": 151936}`), 0o666))
	over, err := os.ReadFile("good.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("over.yaml", bytes.ReplaceAll(over, []byte("1GiB"), []byte("1MiB")), 0o666))
	with := func(command string, rest ...string) []string {
		return append([]string{command, "good.pt", "--input", "float32[B,3,32,32]", "--device", "t4"}, rest...)
	}
	for file, args := range map[string][]string{
		"small.json": with("estimate", "--dim", "B=2", "--format", "json"),
		"large.json": with("estimate", "--dim", "B=64", "--format", "json"),
		"good.json":  {"check", "good.yaml", "--format", "json"}, "over.json": {"check", "over.yaml", "--format", "json"},
	} {
		_, stdout, _ := runInput(args...)
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o666))
	}
	for _, args := range [][]string{
		{"check", "good.yaml"}, {"check", "good.yaml", "over.yaml", "-v"}, {"check", "good.yaml", "over.yaml", "-q"},
		with("estimate", "--dim", "B=2"), {"estimate", folder, "--device", "l4"},
		with("explain", "--dim", "B=2", "--plot"), with("explain", "--dim", "B=2", "--by", "line"),
		{"explain", "over.yaml", "--case", "m"},
		{"explain", "good.pt", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4"},
		with("fit", "--dim", "B", "--most", "4"),
		{"fit", "m", "good.yaml", "--dim", "B", "--devices", "t4,l4", "--most", "4"}, with("sweep", "--dim", "B=1..4"),
		with("init", "--dim", "B=2"), with("dump", "--dim", "B=2", "--stage", "program"),
		with("dump", "--dim", "B=2", "--stage", "trace"), with("dump", "--dim", "B=2", "--stage", "timeline"),
		{"update", "-n", "good.yaml"}, {"cases", "good.yaml"}, {"workspace", "good.yaml"}, {"devices"}, {"ops"},
		{"ops", "--missing", "good.pt"}, {"schema", "spec"}, {"version"}, {"prune", "good.yaml"},
		{"replay", filepath.Join(testdata, "snapshots/good.pickle")},
		{"replay", filepath.Join(testdata, "snapshots/parted.pickle")}, {"replay", record},
		{"verify", "good.yaml", "--measured", "measured"}, {"diff", "small.json", "large.json", "--unlike"},
		{"diff", "small.json", "small.json"}, {"diff", "good.json", "over.json"},
	} {
		whole := &failing{from: math.MaxInt}
		var errs bytes.Buffer
		run(args, strings.NewReader(""), whole, &errs)
		require.Positive(t, whole.writes, "%v: %s", args, errs.String())
		for from := range min(whole.writes, mostFailed) {
			out := &failing{from: from + 1}
			errs.Reset()
			code := run(args, strings.NewReader(""), out, &errs)
			assert.Equal(t, cli.ExitUsage, code, "%d of %v", from, args)
			assert.Equal(t, "memspec: no space left\n", errs.String(), "%d of %v", from, args)
			assert.Equal(t, from+1, out.writes, "%v", args)
		}
	}
}
