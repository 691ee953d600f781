package recorded

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// contradictions are what a case states and the recording says otherwise. What the case does not
// state is as it was recorded. Settings that a replay can choose are the case's: the device's
// memory, the allocator's settings, the fraction. The device and the release of torch are
// elsewhere's, the runtime and the mode the artifact's (Answers).
func contradictions(h *recording.Header, c *spec.Case) []string {
	if h == nil {
		return ofSnapshot(c)
	}
	d := &differences{c: c, program: h.Built == "a program"}
	p := &c.Platform
	switch inputs := spec.InputTexts(c.Inputs); {
	case len(inputs) > 0 && !sameInputs(h.Inputs, c.Inputs):
		d.add("inputs", strings.Join(h.Inputs, "; "), strings.Join(inputs, "; "))
	case len(inputs) == 0 && len(c.Dims) > 0 && c.Captured() == "":
		d.parts = append(d.parts, fmt.Sprintf("inputs %s, the case has %s and no inputs: that names them",
			orNone(strings.Join(h.Inputs, "; ")), dimTexts(c.Dims)))
	}
	if c.Artifact != "" && c.Source != "" && !sameSource(h.Source, c.Source) {
		d.add("source", h.Source, c.Source)
	}
	d.ofModel("dtype", c.DType != "", h.DType, c.DType)
	d.ofModel("autocast", p.Autocast != "", h.Autocast, p.Autocast)
	if h.Mode != string(spec.Training) {
		d.ofModel("grad", c.Grad != "", h.Grad, string(c.Grad))
	}
	d.ofCase("attention", p.Attention != 0, namesText(h.Flags.Attention), namesText(p.Attention.Names()))
	d.ofCase("cublas_workspace", p.CublasWorkspace != "" || c.FromFile(), cublasOf(h), p.CublasConfig())
	d.ofCase("cudnn", h.CuDNN != "" && !sameCuDNN(p.CuDNN, h.CuDNN) &&
		(c.FromFile() || p.CuDNN != platform.DefaultCuDNN(p.Torch)), h.CuDNN, p.CuDNN.String())
	for _, f := range []struct {
		key, name string
		got, want bool
		usual     bool
	}{
		{"tf32", "tf32 of matmul", h.Flags.TF32Matmul, p.TF32Matmul, false},
		{"tf32", "tf32 of cuDNN", h.Flags.TF32CuDNN, p.TF32CuDNN, true},
		{"benchmark", "benchmark", h.Flags.Benchmark, p.Benchmark, false},
		{"deterministic", "deterministic", h.Flags.Deterministic, p.Deterministic, false},
		{"cudnn_v7", "cudnn_v7", h.Flags.CuDNNv7, p.CuDNNv7, false},
	} {
		if c.States("flags "+f.key) && (c.FromFile() || f.want != f.usual) {
			d.add(f.name, onOff(f.got), onOff(f.want))
		}
	}
	d.ofTraining(h.Training, c.Training)
	if len(c.Lengths) > 0 {
		d.add("lengths", jsonText(h.Lengths), jsonText(c.Lengths))
	}
	if c.Captured() == "" { // a case's own recording was made with what it assumes, and its name says so
		for i := range c.Assume {
			d.ofAssumption(h, &c.Assume[i])
		}
	}
	return d.parts
}

// ofSnapshot are what a case states and a memory snapshot cannot have: it records no more than the
// allocator's events.
func ofSnapshot(c *spec.Case) []string {
	switch inputs := spec.InputTexts(c.Inputs); {
	case len(inputs) > 0:
		return []string{"inputs that a memory snapshot does not record, the case says " + strings.Join(inputs, "; ")}
	case len(c.Dims) > 0:
		return []string{"inputs that a memory snapshot does not record, the case says " + dimTexts(c.Dims)}
	}
	return nil
}

// differences gathers what a case states and a recording says otherwise.
type differences struct {
	c       *spec.Case
	program bool // the run was of a program, which chooses for itself what a case says of a model
	parts   []string
}

func (d *differences) add(what, got, want string) {
	if got != want {
		d.parts = append(d.parts, fmt.Sprintf("%s %s, the case says %s", what, orNone(got), orNone(want)))
	}
}

// ofCase compares a key that the case states. given says whether the case's value could be
// compared.
func (d *differences) ofCase(key string, given bool, got, want string) {
	if given && d.c.States(key) {
		d.add(key, got, want)
	}
}

// ofModel is ofCase of a key that says how a model is run; the recording of a program does not have
// it.
func (d *differences) ofModel(key string, given bool, got, want string) {
	if d.program {
		got = "as the program chose"
	}
	d.ofCase(key, given, got, want)
}

// ofTraining compares the training steps. got is nil of a run that made its own steps.
func (d *differences) ofTraining(got, want *recording.Training) {
	if want == nil {
		return
	}
	states := d.c.States
	own := func(value func(*recording.Training) string) string { return value(got) }
	if got == nil {
		states = d.c.StatesHere // defaults: may be for other cases
		own = func(func(*recording.Training) string) string { return "as the program chose" }
	}
	for _, k := range []struct {
		key   string
		given bool
		value func(*recording.Training) string
	}{
		{"optimizer", want.Optimizer != "", optimizerText},
		{"loss", want.Loss != "", func(t *recording.Training) string { return t.Loss }},
		{"accumulate", want.Accumulate > 0, func(t *recording.Training) string { return strconv.Itoa(t.Accumulate) }},
		{"clip", want.Clip != nil, func(t *recording.Training) string { return jsonText(t.Clip) }},
		{"checkpoint", want.Checkpoint != nil, func(t *recording.Training) string { return jsonText(t.Checkpoint) }},
		{"optimizer_in_backward", true, func(t *recording.Training) string {
			return strconv.FormatBool(t.OptimizerInBackward)
		}},
		{"iterations", want.Iterations > 0, func(t *recording.Training) string { return strconv.Itoa(t.Iterations) }},
	} {
		if k.given && states(k.key) {
			d.add(k.key, own(k.value), k.value(want))
		}
	}
}

// ofAssumption finds a value that the case states among those that the run was given.
func (d *differences) ofAssumption(h *recording.Header, a *spec.Assumption) {
	stated := slices.ContainsFunc(h.Notes, func(n recording.Note) bool {
		if n.ID != string(note.ValueStated) {
			return false
		}
		if a.Line == spec.Routing {
			return strings.Contains(n.Text, spec.Routing)
		}
		file, at, _ := strings.Cut(a.Line, ".py:")
		line, err := strconv.Atoi(at)
		return strings.HasSuffix("/"+n.File, "/"+path.Clean(file)+".py") && (err != nil || line == n.Line)
	})
	if !stated {
		d.parts = append(d.parts, fmt.Sprintf("%s as it was, the case says assume: {%s: %s}", a.Line, a.Line, a.Text()))
	}
}

// sameInputs says whether a case's inputs are those that a run was recorded with. One that was
// given by position is the case's at that place, whatever the case calls it; the other way round
// too.
func sameInputs(recorded []string, inputs []spec.Input) bool {
	return slices.EqualFunc(recorded, inputs, func(text string, in spec.Input) bool {
		if was, err := spec.ParseInput(text); err == nil && (was.Name == "") != (in.Name == "") {
			return was.Value.String() == in.Value.String()
		}
		return text == in.String()
	})
}

// sameSource says whether two texts may name the same source: how the path to its file is written
// counts for nothing.
func sameSource(a, b string) bool {
	split := func(s string) (file, name string) {
		at := strings.LastIndexByte(s, ':')
		file = strings.TrimSuffix(path.Base(strings.ReplaceAll(s[:max(at, 0)], `\`, "/")), ".py")
		return file[strings.LastIndexByte(file, '.')+1:], s[at+1:]
	}
	fileA, nameA := split(a)
	fileB, nameB := split(b)
	return nameA == nameB && fileA == fileB
}

// sameCuDNN says whether what PyTorch printed is a release of cuDNN. It prints three numbers of
// four.
func sameCuDNN(want platform.Version, printed string) bool {
	return want.Covers(printed) || strings.HasPrefix(want.String()+".", printed+".")
}

// cublasOf is CUBLAS_WORKSPACE_CONFIG as a recorded run had it.
func cublasOf(h *recording.Header) string {
	p := platform.Platform{CublasWorkspace: h.CublasWorkspace, Deterministic: h.Flags.Deterministic}
	return p.CublasConfig()
}

// optimizerText is "AdamW" or "AdamW {"fused":true}".
func optimizerText(t *recording.Training) string {
	if len(t.Arguments) == 0 {
		return t.Optimizer
	}
	return t.Optimizer + " " + jsonText(t.Arguments)
}

// jsonText writes what two sides can be compared by: keys are sorted.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" {
		return ""
	}
	return string(text)
}

// namesText writes a set of names.
func namesText(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// dimTexts is "dims {B: 8, T: 2}".
func dimTexts(dims []spec.Dim) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = fmt.Sprintf("%s: %d", d.Name, d.Value)
	}
	return "dims {" + strings.Join(parts, ", ") + "}"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
