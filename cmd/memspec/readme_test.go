package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memspec/memspec/internal/cli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readmeFolder is a folder with the README's net.pt, in which its commands are run: memspec is this
// program.
type readmeFolder struct {
	t   *testing.T
	dir string
	bin string
}

func newReadmeFolder(t *testing.T) *readmeFolder {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("got no sh, which the README's commands are written for")
	}
	own, err := os.Executable()
	require.NoError(t, err)
	f := &readmeFolder{t: t, dir: t.TempDir(), bin: t.TempDir()}
	require.NoError(t, os.Symlink(own, filepath.Join(f.bin, "memspec")))
	copyTo(t, "../../testdata/artifacts/torchvision/resnet50.script.pt", filepath.Join(f.dir, "net.pt"))
	return f
}

// run runs a line of the shell and returns its exit code and what it printed.
func (f *readmeFolder) run(line string) (int, string) {
	f.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "PATH="+f.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "COLUMNS=80",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(f.t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (f *readmeFolder) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o666))
}

// fenced is the README's block that begins with a line.
func fenced(t *testing.T, first string) string {
	t.Helper()
	_, after, ok := strings.Cut(published(t, "README.md"), "\n"+first+"\n")
	require.True(t, ok, first)
	block, _, ok := strings.Cut(after, "\n```\n")
	require.True(t, ok)
	return block
}

// The example is what the command prints; … stands for lines that are left out.
func TestReadmeFailure(t *testing.T) {
	f := newReadmeFolder(t)
	f.write("memspec.yaml", `version: 1
defaults: {device: t4}
models:
  net:
    artifact: net.pt
    inputs: {x: "float32[B,3,224,224]"}
    cases:
      - {dims: {B: 8}, budget: {reserved: 400MiB}}
      - {dims: {B: 32}, budget: {reserved: 500MiB}}
`)
	code, out := f.run("memspec check")
	assert.Equal(t, cli.ExitBroken, code)
	var want []string
	for line := range strings.Lines(fenced(t, "$ memspec check") + "\n") {
		if strings.TrimSpace(line) == "…" {
			want = append(want, `(?:.*\n)+`)
		} else {
			want = append(want, regexp.QuoteMeta(line))
		}
	}
	assert.Regexp(t, "^"+strings.Join(want, "")+"$", out)
}

// The README's memspec.yaml is one, its cases pass, and the commands of the guide's table run on
// them as they stand there.
func TestReadmeCommands(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, of which --against reads")
	}
	f := newReadmeFolder(t)
	f.write("memspec.yaml", fenced(t, "```yaml")+"\n")
	for _, line := range []string{"memspec baseline", "memspec check", "git init -q -b main .", "git add .",
		"git -c user.name=a -c user.email=a@example.invalid commit -q -m a",
		"memspec estimate net.pt --device t4 --input 'x=float32[8,3,224,224]' -o old.json",
		"memspec estimate net.pt --device t4 --input 'x=float32[8,3,224,224]' -o new.json"} {
		code, out := f.run(line)
		require.Zero(t, code, "%s\n%s", line, out)
	}
	rows := regexp.MustCompile("(?m)^\\| `(memspec [^`]*)`").FindAllStringSubmatch(
		published(t, "docs/guide/exported-model.md"), -1)
	ran := map[string]bool{}
	for _, row := range rows {
		words := strings.Fields(row[1])
		if words[1] == "verify" || words[1] == "devices" { // the first of several names in the row
			continue
		}
		ran[words[1]] = true
		code, out := f.run(row[1])
		assert.Zero(t, code, "%s\n%s", row[1], out)
	}
	for _, command := range []string{"estimate", "explain", "fit", "sweep", "check", "diff", "update"} {
		assert.True(t, ran[command], command)
	}
}
