package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Choice says which recordings a test holds a driver to.
type Choice struct {
	Testdata string                              // its path
	Kinds    []string                            // of archives: script, trace
	Runtimes []string                            // eager, torchscript
	Models   func(model, artifact string) bool   // nil takes the small ones
	Start    func(p *program.Program) exec.Start // what drives a program
	Seen     func(name string, r *exec.Result)   // is shown every run, if not nil
}

// linesApart is how many births of a stream have another line than the recorded one, and why.
var linesApart = map[string]int{
	"number_first/script.eager":  5, // scripting makes 1 - x and the like of functions in a file <string>
	"several_lines/script.eager": 1, // a call on a separate line, in an expression over several
}

// Hold runs archives on the device none and holds each run to its recording, event for event and
// line for line; a stream of exceptions.txt agrees as far as that says.
func Hold(t *testing.T, c Choice) {
	known := exceptions(t, filepath.Join(c.Testdata, "conformance", "exceptions.txt"))
	if c.Models == nil {
		c.Models = func(_, artifact string) bool { return strings.Contains(artifact, "/small/") }
	}
	runs := 0
	for _, r := range Read(t, filepath.Join(c.Testdata, "conformance", "2.15-fake-cuda")) {
		for _, kind := range c.Kinds {
			scripted := r.Stream(kind + ".torchscript")
			if scripted == nil || scripted.Artifact == "" || !c.Models(r.Model, scripted.Artifact) {
				continue
			}
			for _, runtime := range c.Runtimes {
				s := scripted
				if runtime == "eager" {
					s = r.Stream("live.eager")
				}
				if s == nil || s.Failed != "" {
					continue
				}
				name := fmt.Sprintf("%s/%s.%s", r.Model, kind, runtime)
				got := runOn(t, c.Start, r, filepath.Join(c.Testdata, scripted.Artifact), runtime)
				if c.Seen != nil {
					c.Seen(name, got)
				}
				a := r.Follow(s, got.Trace)
				if agree, listed := known[name]; listed {
					assert.Equal(t, agree, a.Events, "%s: %s", name, a.Parted)
				} else {
					assert.Empty(t, a.Parted, name)
					apart := 0
					for _, l := range a.Lines {
						if !l.Agrees() {
							apart++
							t.Logf("%s: got %s at %s:%d, want %s", name, l.Got.Op, l.Got.File, l.Got.Line, l.Recorded)
						}
					}
					assert.Equal(t, linesApart[name], apart, "%s: lines that are not the recorded ones", name)
				}
				runs++
			}
		}
	}
	require.Greater(t, runs, 20)
}

func runOn(t *testing.T, start func(p *program.Program) exec.Start, r *Recording, file, runtime string) *exec.Result {
	t.Helper()
	a, err := artifact.Open(file)
	require.NoError(t, err)
	d, err := device.Lookup("none")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	o := exec.Options{Inputs: r.ExecInputs(t), Platform: &p, DType: tensor.Undefined}
	if runtime == "eager" {
		o.Liveness = exec.PythonFrame
	}
	got, err := exec.Run(context.Background(), start(a.Program), builtin.Table(), o)
	require.NoError(t, err, file)
	return got
}

// exceptions are the streams that part from their recording, by name: how many events agree before
// they do.
func exceptions(t *testing.T, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	out := map[string]int{}
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		count, _, _ := strings.Cut(rest, " ")
		out[name], err = strconv.Atoi(count)
		require.NoError(t, err, line)
	}
	return out
}
