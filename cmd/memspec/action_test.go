package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// A step is one of an action's or a workflow's.
type step struct {
	ID    string            `yaml:"id"`
	Uses  string            `yaml:"uses"`
	Shell string            `yaml:"shell"`
	Run   string            `yaml:"run"`
	Dir   string            `yaml:"working-directory"`
	Env   map[string]string `yaml:"env"`
	With  map[string]string `yaml:"with"`
}

type actionFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct{ Steps []step }
}

// A runner runs steps as GitHub's does: each script in a separate shell, with what expressions
// give.
type runner struct {
	t       *testing.T
	temp    string            // RUNNER_TEMP
	context map[string]string // what expressions name
	dir     string            // the checkout
}

var expression = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)

func (r *runner) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		value, ok := r.context[name]
		require.True(r.t, ok, "got the expression %s, which this test gives no value", name)
		return value
	})
}

// run runs a step's script and returns its exit code, what it printed, and its outputs.
func (r *runner) run(s *step) (code int, out string, outputs map[string]string) {
	r.t.Helper()
	require.Equal(r.t, "bash", s.Shell)
	script, output := filepath.Join(r.t.TempDir(), "step.sh"), filepath.Join(r.t.TempDir(), "output")
	require.NoError(r.t, os.WriteFile(script, []byte(r.expand(s.Run)), 0o666))
	require.NoError(r.t, os.WriteFile(output, nil, 0o666))
	// as GitHub's documentation says of `shell: bash`
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = filepath.Join(r.dir, r.expand(s.Dir))
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+r.temp, "GITHUB_OUTPUT="+output,
		"GITHUB_STEP_SUMMARY="+filepath.Join(r.temp, "summary.md"))
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+r.expand(value))
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(r.t, err)
	}
	outputs = map[string]string{}
	data, err := os.ReadFile(output)
	require.NoError(r.t, err)
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		require.True(r.t, ok, line)
		outputs[name] = value
	}
	return cmd.ProcessState.ExitCode(), string(text), outputs
}

func readAction(t *testing.T) *actionFile {
	t.Helper()
	var a actionFile
	require.NoError(t, yaml.Unmarshal([]byte(published(t, "action.yml")), &a))
	return &a
}

// newRunner has a repository of one case, and this program as the one that the action built.
func newRunner(t *testing.T, budget string) *runner {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("got no bash, which the action's steps are written for")
	}
	own, err := os.Executable()
	require.NoError(t, err)
	r := &runner{t: t, temp: t.TempDir(), dir: t.TempDir(), context: map[string]string{}}
	// the tests' binary is the command where it is called so
	require.NoError(t, os.Symlink(own, filepath.Join(r.temp, "memspec")))
	model, err := os.ReadFile("../../testdata/artifacts/small/conv_block.script.pt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "m.pt"), model, 0o666))
	r.write("memspec.yaml", budget)
	for name, in := range readAction(t).Inputs {
		r.context["inputs."+name] = in.Default
	}
	return r
}

func (r *runner) write(name, budget string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name),
		[]byte("version: 1\ndefaults: {device: t4}\nmodels:\n  m:\n    artifact: m.pt\n    inputs: "+
			"[\"float32[2,3,32,32]\"]\n    budget: {reserved: "+budget+"}\n"), 0o666))
}

// The step of action.yml that checks, run as it is written.
func TestActionChecks(t *testing.T) {
	steps := readAction(t).Runs.Steps
	check := &steps[len(steps)-1]
	for _, tt := range []struct {
		name, budget  string
		inputs        map[string]string
		code          int
		say, notSay   string
		files, noFile []string
	}{
		{name: "within the budget", budget: "1GiB", say: "1 case: 1 pass", notSay: "::error"},
		{name: "over it", budget: "1MiB", code: 1, say: "::error file=memspec.yaml,line=7,"},
		{name: "files", budget: "1MiB", code: 1, inputs: map[string]string{"output": "memory.xml  memory.html memory.md"},
			say: "::error", files: []string{"memory.xml", "memory.html", "memory.md"}},
		{name: "named files of cases", budget: "1GiB", inputs: map[string]string{"specs": "memspec.yaml *.yml"},
			say: "2 cases: 2 pass"},
		{name: "one that is not there", budget: "1GiB", inputs: map[string]string{"specs": "none.yaml"}, code: 2,
			say: "none.yaml: no such file"},
		{name: "against no commit", budget: "1GiB", inputs: map[string]string{"against": "origin/main"}, code: 2,
			say: "--against"},
		{name: "no script", budget: "1GiB", inputs: map[string]string{"specs": "$(touch${IFS}ran)",
			"against": `"; touch ran; "`, "output": "`touch ran`"}, code: 2, noFile: []string{"ran"}},
		{name: "no flag", budget: "1GiB", inputs: map[string]string{"specs": "--format json"}, code: 2, say: "--format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t, tt.budget)
			r.write("other.yml", tt.budget)
			for name, value := range tt.inputs {
				require.Contains(t, r.context, "inputs."+name)
				r.context["inputs."+name] = value
			}
			code, out, outputs := r.run(check)
			assert.Equal(t, tt.code, code, out)
			assert.Contains(t, out, tt.say)
			if tt.notSay != "" {
				assert.NotContains(t, out, tt.notSay)
			}
			assert.Equal(t, map[string]string{"exit": string(rune('0' + tt.code))}, outputs, "also where it fails")
			for _, f := range tt.files {
				assert.FileExists(t, filepath.Join(r.dir, f))
			}
			for _, f := range tt.noFile {
				assert.NoFileExists(t, filepath.Join(r.dir, f))
			}
			if code < 2 {
				assert.FileExists(t, filepath.Join(r.temp, "summary.md"))
			}
		})
	}
}

// The whole action and the container file build the command as they say. It compiles everything
// again, with their flags: make examples runs it.
func TestPublishedBuilds(t *testing.T) {
	if os.Getenv("MEMSPEC_BUILD_TESTS") != "1" {
		t.Skip("MEMSPEC_BUILD_TESTS=1 runs it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Run("action.yml", func(t *testing.T) {
		r := newRunner(t, "1GiB")
		require.NoError(t, os.Remove(filepath.Join(r.temp, "memspec")))
		r.context["github.action_path"] = root
		steps := readAction(t).Runs.Steps
		for i := range steps {
			if steps[i].Run == "" {
				assert.Contains(t, steps[i].Uses, "actions/setup-go@")
				assert.FileExists(t, r.expand(steps[i].With["go-version-file"]))
				assert.FileExists(t, r.expand(steps[i].With["cache-dependency-path"]))
				continue
			}
			code, out, _ := r.run(&steps[i])
			require.Zero(t, code, out)
			if i == len(steps)-1 {
				assert.Contains(t, out, "1 case: 1 pass")
			}
		}
	})
	t.Run("Containerfile", func(t *testing.T) { buildContainer(t, root) })
}

// buildContainer does what the lines of the Containerfile say, in folders: no container is needed
// for it. The result is run in a separate root folder where that can be had.
func buildContainer(t *testing.T, root string) {
	source, image := t.TempDir(), t.TempDir()
	stage, command, entry := 0, "", ""
	for line := range strings.Lines(published(t, "Containerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "FROM":
			stage++
		case "COPY":
			fields := strings.Fields(rest)
			switch {
			case stage == 1 && rest == ". .":
				copyContext(t, root, source)
			case stage == 1:
				for _, f := range fields[:len(fields)-1] {
					copyTo(t, filepath.Join(root, f), filepath.Join(source, f))
				}
			case strings.HasPrefix(rest, "--from=build "):
				copyTo(t, filepath.Join(source, "image", fields[1]), filepath.Join(image, fields[2]))
			default:
				copyTo(t, filepath.Join(root, fields[0]), filepath.Join(image, fields[1]))
			}
		case "RUN":
			require.Equal(t, 1, stage, "an empty image runs nothing")
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(rest, "-o /memspec", "-o image/memspec"))
			cmd.Dir = source
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", line, out)
		case "ENTRYPOINT", "CMD":
			var words []string
			require.NoError(t, json.Unmarshal([]byte(rest), &words))
			if word == "CMD" {
				command = strings.Join(words, " ")
			} else {
				entry = strings.Join(words, " ")
			}
		}
	}
	require.Equal(t, 2, stage)
	require.Equal(t, "/memspec", entry)
	require.Equal(t, "check", command)
	binary, err := os.ReadFile(filepath.Join(image, "memspec"))
	require.NoError(t, err)
	assert.NotContains(t, string(binary[:4096]), "ld-linux", "an empty image has no loader")

	work := filepath.Join(image, "work")
	require.NoError(t, os.Mkdir(work, 0o777))
	r := newRunner(t, "1GiB")
	copyTo(t, filepath.Join(r.dir, "m.pt"), filepath.Join(work, "m.pt"))
	copyTo(t, filepath.Join(r.dir, "memspec.yaml"), filepath.Join(work, "memspec.yaml"))
	out, err := exec.Command("unshare", "-r", "chroot", image, entry, command, "/work/memspec.yaml").CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("unshare")) {
		t.Skipf("got no namespace of its own: %s", out)
	}
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "1 case: 1 pass")
}

// copyContext copies what git knows of the tree but what .containerignore leaves out.
func copyContext(t *testing.T, root, to string) {
	t.Helper()
	listed, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z").Output()
	require.NoError(t, err)
	ignored := strings.Fields(published(t, ".containerignore"))
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		top, _, _ := strings.Cut(name, "/")
		out := false
		for _, pattern := range ignored { // of the top folder alone, as the file has them
			match, err := filepath.Match(pattern, top)
			require.NoError(t, err)
			out = out || match
		}
		if !out {
			copyTo(t, filepath.Join(root, name), filepath.Join(to, name))
		}
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	info, err := os.Stat(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
	require.NoError(t, os.WriteFile(to, data, info.Mode().Perm()))
}
