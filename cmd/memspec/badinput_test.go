package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memspec/memspec/internal/cli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runInput runs the command in this process.
func runInput(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// badFolder holds each kind of invalid input, and cases that name them.
func badFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	good, err := os.ReadFile("../../testdata/artifacts/small/conv_block.script.pt")
	require.NoError(t, err)
	write("good.pt", good)
	write("short.pt", good[:len(good)/2])
	write("text.pt", []byte("not an artifact\n"))
	write("empty.pt", nil)
	copyTo(t, "../../testdata/artifacts/bad/custom.pt", filepath.Join(dir, "custom.pt"))
	cases := func(artifact, input string) []byte {
		return []byte("version: 1\ndefaults: {device: t4}\nmodels:\n  m: {artifact: " + artifact + ", inputs: [\"" + input +
			"\"], dims: {B: 2}, budget: {reserved: 1GiB}}\n")
	}
	const shape = "float32[B,3,32,32]"
	write("good.yaml", cases("good.pt", shape))
	write("short.yaml", cases("short.pt", shape))
	write("text.yaml", cases("text.pt", shape))
	write("empty.yaml", cases("empty.pt", shape))
	write("none.yaml", cases("none.pt", shape))
	write("shape.yaml", cases("good.pt", "float32[B,4,32,32]"))
	write("custom.yaml", cases("custom.pt", "float32[B,4]"))
	write("bad.yaml", []byte("version: 1\nmodels: {m: [\n"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "measured"), 0o777))
	write("bad.json", []byte(`{"schema": 9, "cases": []}`))
	t.Chdir(dir)
	return dir
}

// Every kind of invalid input, by every way that takes it: one clear line that names it,
// the exit code of the README, and nothing that could be taken for a result.
func TestBadInputByEveryWay(t *testing.T) {
	badFolder(t)
	onArtifact := map[string][]string{
		"estimate": {"estimate", "ARTIFACT", "--device", "t4", "--input", "INPUT"},
		"explain":  {"explain", "ARTIFACT", "--device", "t4", "--input", "INPUT"},
		"fit":      {"fit", "ARTIFACT", "--device", "t4", "--input", "INPUT", "--dim", "B"},
		"sweep":    {"sweep", "ARTIFACT", "--device", "t4", "--input", "INPUT", "--dim", "B=1..2"},
		"init":     {"init", "ARTIFACT", "--device", "t4", "--input", "INPUT", "--dim", "B=2"},
		"dump":     {"dump", "ARTIFACT", "--stage", "trace", "--device", "t4", "--input", "INPUT"},
	}
	for _, tt := range []struct {
		what, artifact, input string
		code                  int
		says                  string
		commands              []string // nil is all of them
	}{
		{"a file that is not there", "none.pt", "float32[B,3,32,32]", cli.ExitUsage, "none.pt: no such file or directory",
			nil},
		{"a truncated archive", "short.pt", "float32[B,3,32,32]", cli.ExitUsage, "short.pt: ", nil},
		{"a text", "text.pt", "float32[B,3,32,32]", cli.ExitUsage, "text.pt: got ", nil},
		{"an empty file", "empty.pt", "float32[B,3,32,32]", cli.ExitUsage, "empty.pt: got an empty file", nil},
		{"a wrong shape", "good.pt", "float32[B,4,32,32]", cli.ExitUsage, "got input of 4 channels", nil},
		{"a wrong rank", "good.pt", "float32[B]", cli.ExitUsage, "good.pt: ", nil},
		{"no shape", "good.pt", "float32[B", cli.ExitUsage, "input", nil},
		{"no dtype", "good.pt", "float33[B,3,32,32]", cli.ExitUsage, `got dtype "float33"`, nil},
	} {
		for command, args := range onArtifact {
			t.Run(tt.what+"/"+command, func(t *testing.T) {
				line := make([]string, 0, len(args)+2)
				for _, a := range args {
					a = strings.Replace(a, "ARTIFACT", tt.artifact, 1)
					line = append(line, strings.Replace(a, "INPUT", tt.input, 1))
				}
				if command == "estimate" || command == "explain" || command == "dump" {
					line = append(line, "--dim", "B=2")
				}
				code, stdout, stderr := runInput(line...)
				assert.Equal(t, tt.code, code, stderr)
				assert.Empty(t, stdout)
				oneClearLine(t, stderr, tt.says)
			})
		}
	}
	for _, command := range []string{"strip", "ops"} {
		for artifact, says := range map[string]string{"none.pt": "no such file or directory", "short.pt": "short.pt: ",
			"text.pt": "text.pt: got ", "empty.pt": "got an empty file"} {
			t.Run(command+"/"+artifact, func(t *testing.T) {
				args := []string{command, artifact}
				if command == "strip" {
					args = append(args, "-o", "stripped.pt")
				} else {
					args = []string{"ops", "--missing", artifact}
				}
				code, stdout, stderr := runInput(args...)
				assert.Equal(t, cli.ExitUsage, code)
				assert.Empty(t, stdout)
				oneClearLine(t, stderr, says)
				assert.NoFileExists(t, "stripped.pt")
			})
		}
	}
}

func oneClearLine(t *testing.T, stderr, says string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.True(t, strings.HasPrefix(stderr, "memspec: "), stderr)
	assert.Contains(t, stderr, says)
	assert.NotContains(t, stderr, "internal error")
}

// The same by a memspec.yaml: a file that cannot be read ends the command, an artifact that cannot
// is one case's error, and the others are still judged.
func TestBadSpecsByEveryWay(t *testing.T) {
	badFolder(t)
	commands := map[string][]string{
		"check": {"check", "FILE"}, "baseline": {"baseline", "FILE", "-o", "out.json"}, "update": {"update", "FILE"},
		"cases":  {"cases", "FILE"},
		"verify": {"verify", "FILE", "--measured", "measured"}, "explain": {"explain", "FILE", "--case", "m"},
		"fit": {"fit", "m", "FILE", "--dim", "B"}, "sweep": {"sweep", "m", "FILE", "--dim", "B=1..2"},
		"workspace": {"workspace", "--missing", "FILE"},
	}
	for _, tt := range []struct {
		file string
		code int
		says string
		not  []string // commands that look at no artifact, or say it elsewhere
	}{
		{"absent.yaml", cli.ExitUsage, "absent.yaml: no such file or directory", nil},
		{"bad.yaml", cli.ExitUsage, "bad.yaml:", nil},
		{"none.yaml", cli.ExitUsage, "none.pt: no such file or directory", []string{"cases"}},
		{"short.yaml", cli.ExitUsage, "short.pt: ", []string{"cases"}},
		{"text.yaml", cli.ExitUsage, "text.pt: got ", []string{"cases"}},
		{"shape.yaml", cli.ExitUsage, "got input of 4 channels", []string{"cases"}},
		{"custom.yaml", cli.ExitUnsure, "memspec_test::twice", []string{"cases", "workspace"}},
	} {
		for command, args := range commands {
			skip := false
			for _, not := range tt.not {
				skip = skip || not == command
			}
			if skip {
				continue
			}
			t.Run(tt.file+"/"+command, func(t *testing.T) {
				line := make([]string, len(args))
				for i, a := range args {
					line[i] = strings.Replace(a, "FILE", tt.file, 1)
				}
				code, stdout, stderr := runInput(line...)
				assert.Equal(t, tt.code, code, stdout+stderr)
				assert.Contains(t, stdout+stderr, tt.says)
				assert.NotContains(t, stdout+stderr, "internal error")
				assert.NotContains(t, stdout, "PASS")
				assert.NoFileExists(t, "out.json")
				for l := range strings.Lines(stderr) {
					assert.True(t, strings.HasPrefix(l, "memspec: "), l)
				}
			})
		}
	}
	t.Run("a baseline of another schema", func(t *testing.T) {
		code, stdout, stderr := runInput("check", "good.yaml", "--baseline", "bad.json")
		assert.Equal(t, cli.ExitUsage, code)
		assert.Empty(t, stdout)
		oneClearLine(t, stderr, "bad.json: got a baseline of schema 9, want 1")
		code, stdout, stderr = runInput("diff", "bad.json", "bad.json")
		assert.Equal(t, cli.ExitUsage, code)
		assert.Empty(t, stdout)
		oneClearLine(t, stderr, "bad.json: ")
		code, stdout, stderr = runInput("replay", "bad.json")
		assert.Equal(t, cli.ExitUsage, code)
		assert.Empty(t, stdout)
		oneClearLine(t, stderr, "bad.json: ")
	})
}
