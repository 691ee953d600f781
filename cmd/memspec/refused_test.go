package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/internal/cli"
)

// Where there is no memspec.yaml, each command that takes its cases says so, and makes none.
func TestNoFileOfCases(t *testing.T) {
	badFolder(t)
	require.NoError(t, os.Mkdir("empty", 0o777))
	t.Chdir("empty")
	require.NoError(t, os.Mkdir(".git", 0o777)) // the repository ends here
	for _, args := range [][]string{
		{"check"}, {"baseline"}, {"update", "-n"}, {"cases"}, {"workspace"}, {"verify"}, {"explain", "--case", "m"},
		{"fit", "m", "--dim", "B"}, {"sweep", "m", "--dim", "B=1,2"},
	} {
		code, stdout, stderr := runInput(args...)
		assert.Equal(t, cli.ExitUsage, code, args)
		assert.Empty(t, stdout, args)
		oneClearLine(t, stderr, "memspec.yaml: no such file here or above in the repository; memspec init writes one")
	}
}

// A file that cannot be written ends every command that takes -o, before it prints anything.
func TestOutputsThatCannotBeOpened(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	badFolder(t)
	spec, err := os.ReadFile("good.yaml")
	require.NoError(t, err)
	for file, args := range map[string][]string{
		"small.json": {"estimate", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4", "--format", "json"},
		"check.json": {"check", "good.yaml", "--format", "json"},
	} {
		_, stdout, _ := runInput(args...)
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o666))
	}
	copyTo(t, filepath.Join(root, "engine/recording/testdata/records/small.json"), "record.json")
	copyTo(t, filepath.Join(root, "testdata/snapshots/good.pickle"), "good.pickle")
	require.NoError(t, os.Mkdir("model", 0o777))
	require.NoError(t, os.WriteFile("model/config.json", []byte(`{"model_type": "qwen3", "head_dim": 128,
		"hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960, "num_attention_heads": 32,
		"num_hidden_layers": 36, "num_key_value_heads": 8, "torch_dtype": "bfloat16", "vocab_size": 151936}`), 0o666))
	const missing = "-o none/a.json: no such file or directory"
	for _, args := range [][]string{
		{"check", "good.yaml"}, {"explain", "good.yaml", "--case", "m"}, {"sweep", "m", "good.yaml", "--dim", "B=1,2"},
		{"verify", "good.yaml", "--measured", "measured"}, {"replay", "good.pickle"}, {"replay", "record.json"},
		{"diff", "small.json", "small.json"}, {"diff", "check.json", "check.json"}, {"estimate", "model", "--device", "l4"},
		{"estimate", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4"},
	} {
		code, stdout, stderr := runInput(append(args, "-o", "kept.json", "-o", "none/a.json")...)
		assert.Equal(t, cli.ExitUsage, code, args)
		assert.Empty(t, stdout, args)
		oneClearLine(t, stderr, missing)
		assert.NoFileExists(t, "kept.json", args)
		left, err := os.ReadDir(".")
		require.NoError(t, err)
		for _, f := range left {
			assert.NotContains(t, f.Name(), ".tmp", args)
		}
	}
	for _, args := range [][]string{{"baseline", "good.yaml", "-o", "none/a.json"},
		{"init", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4", "-o", "none/a.json"},
		{"check", "good.yaml", "--answers", "none/a.json"}, {"check", "good.yaml", "--workspace", "none/a.json"},
		{"update", "good.yaml", "--case", "n"}, {"strip", "good.pt", "-o", "none/a.json"},
		{"check", "good.yaml", "--shard", "3/2"}, {"check", "good.yaml", "--set", "nothing: 2"},
		{"check", "good.yaml", "--device", "none/a"}, {"cases", "good.yaml", "--set", "nothing: 2"},
		{"cases", "good.yaml", "--device", "none/a"}, {"cases", "good.yaml", "--shard", ""},
		{"fit", "m", "good.yaml", "--dim", "B", "--workspace", "none/a.json"},
		{"explain", "good.yaml", "--case", "m", "--workspace", "none/a.json"},
		{"explain", "good.yaml", "--case", "m", "--device", "none/a"},
		{"verify", "good.yaml", "--measured", "measured", "--answers", "none/a.json"},
	} {
		code, stdout, stderr := runInput(args...)
		assert.Equal(t, cli.ExitUsage, code, args)
		assert.Empty(t, stdout, args)
		oneClearLine(t, stderr, "")
	}
	after, err := os.ReadFile("good.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(spec), string(after))
}

// Interrupted, commands that write one result write none.
func TestInterruptedResults(t *testing.T) {
	badFolder(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"baseline", "good.yaml", "-o", "b.json"}, "interrupted: 1 of 1 case done"},
		{[]string{"workspace", "good.yaml"}, "interrupted"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(c.args)
		require.EqualError(t, root.ExecuteContext(ctx), c.want)
		assert.Empty(t, out.String())
		assert.NoFileExists(t, "b.json")
	}
}

// What shells offer for a flag's value, or for an argument.
func TestCompletions(t *testing.T) {
	badFolder(t)
	copyTo(t, "good.yaml", "memspec.yaml")
	const noFile, fileExt = ":4\n", ":8\n"
	for _, c := range []struct {
		line, want string
	}{
		{"check --case ", "m\n" + noFile}, // of memspec.yaml
		{"check good.yaml --case ", "m\n" + noFile},
		{"check none.yaml --case ", "m\n" + noFile}, // its artifact is not looked at
		{"check bad.yaml --case ", noFile},
		{"check absent.yaml --case ", noFile},
		{"check ", "yaml\nyml\n" + fileExt},
		{"check --workspace ", "json\n" + fileExt},
		{"check --judge ", "upper\nlikely\n" + noFile},
		{"check --format ", "text\njson\njunit\nsarif\ngithub\nmarkdown\nhtml\nsnapshot\nperfetto\npprof\ncsv\n" + noFile},
		{"cases --format ", "text\njson\n" + noFile},
		{"fit --runtime ", "eager\ntorchscript\nexport\ncompiled\n" + noFile},
		{"fit --mode ", "inference\ntraining\n" + noFile},
		{"fit --input ", noFile}, {"fit --dim ", noFile}, {"fit --torch ", noFile}, {"fit --alloc-conf ", noFile},
		{"explain --by ", "op\nmodule\nline\ncategory\nsaver\n" + noFile},
		{"dump --stage ", "program\nlifetimes\ntrace\ntimeline\n" + noFile},
		{"verify --on ", "real\npretend\n" + noFile}, {"verify --timeout ", noFile},
		{"workspace --torch ", noFile}, {"workspace ", "yaml\nyml\n" + fileExt}, {"devices ", noFile},
		{"estimate --dtype ", "auto\nbfloat16\nfloat16\nfloat32\n" + noFile},
		{"estimate --kv-cache-dtype ", "auto\nbfloat16\nfloat16\nfloat32\nfp8\n" + noFile},
	} {
		args := append([]string{"__complete"}, strings.Split(c.line, " ")...)
		code, stdout, stderr := runInput(args...)
		assert.Equal(t, cli.ExitOK, code, stderr)
		assert.Equal(t, c.want, stdout, c.line)
	}
	for _, line := range []string{"check --device ", "cases --device ", "fit --device ", "workspace --device "} {
		code, stdout, stderr := runInput(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		assert.Equal(t, cli.ExitOK, code, stderr)
		assert.Contains(t, stdout, "\nt4\n", line)
		assert.True(t, strings.HasSuffix(stdout, "\n"+noFile), line)
	}
}

// Calls are read from the standard input that the command is given.
func TestFormulaReadsItsInput(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"workspace", "--formula"}, strings.NewReader("{}\n"), &out, &errs)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Empty(t, out.String())
	assert.Equal(t, "memspec: line 1: got compute_capability \"\", want one such as 8.6\n", errs.String())
	errs.Reset()
	code = run([]string{"workspace", "--formula"}, strings.NewReader(""), &out, &errs)
	assert.Equal(t, cli.ExitOK, code)
	assert.Empty(t, out.String()+errs.String())
	long := strings.Repeat(" ", mostAsked)
	code = run([]string{"workspace", "--formula"}, strings.NewReader(long), &out, &errs)
	assert.Equal(t, cli.ExitUsage, code)
	assert.Equal(t, "memspec: bufio.Scanner: token too long\n", errs.String())
}

// Each command takes so many arguments, and says how many it was given where they are others.
func TestNumbersOfArguments(t *testing.T) {
	badFolder(t)
	for _, c := range []struct {
		command     string
		least, most int
	}{
		{"estimate", 1, 1}, {"explain", 0, mostArtifacts}, {"replay", 1, 1}, {"diff", 2, 2}, {"ops", 0, 0}, {"dump", 1, 1},
		{"strip", 1, 1}, {"devices", 0, 0}, {"cases", 0, 1}, {"workspace", 0, 1}, {"verify", 0, 1}, {"schema", 1, 1},
		{"version", 0, 0}, {"fit", 1, 2}, {"sweep", 1, 2}, {"update", 0, 1},
	} {
		refused := func(n int) bool {
			code, _, stderr := runInput(append([]string{c.command}, make([]string, n)...)...)
			is := strings.HasPrefix(stderr, "memspec: "+c.command+": got ") && strings.Contains(stderr, " arguments, want ")
			assert.True(t, !is || code == cli.ExitUsage, stderr)
			return is
		}
		assert.False(t, refused(c.least), "%s %d", c.command, c.least)
		assert.False(t, c.least > 0 && !refused(c.least-1), "%s %d", c.command, c.least-1)
		if c.most < mostArtifacts {
			assert.False(t, refused(c.most), "%s %d", c.command, c.most)
			assert.True(t, refused(c.most+1), "%s %d", c.command, c.most+1)
		}
	}
}

// Devices are listed in the order of the table, with the limits of their capabilities.
func TestOrderOfDevices(t *testing.T) {
	out := devicesAsJSON()
	assert.Equal(t, 1, out.Schema)
	require.Len(t, out.Devices, len(device.All()))
	for i, d := range device.All() {
		assert.Equal(t, d.Name, out.Devices[i].Name)
	}
	require.Len(t, out.Capabilities, len(device.AllLimits()))
	for i, l := range device.AllLimits() {
		assert.Equal(t, l.ComputeCapability.String(), out.Capabilities[i].ComputeCapability)
	}
	code, stdout, _ := runInput("devices")
	assert.Equal(t, cli.ExitOK, code)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")[1:]
	require.Len(t, lines, len(device.All()))
	for i, d := range device.All() {
		assert.True(t, strings.HasPrefix(lines[i], d.Name+" "), lines[i])
	}
}
