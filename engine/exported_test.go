package engine_test

import (
	"context"
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
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// pretended is what PyTorch did with a model on a pretend GPU (python -m truth exported).
type pretended struct {
	model, device string
	attention     platform.SDPABackends // what sdpa_kernel was given
	runs          map[string]*pretendedRun
	models        *suite.Models // its archives, each read once
}

type pretendedRun struct {
	failed   string
	baseline [3]int64 // requested, allocated, reserved
	passes   [][3]int64
	events   []string // +bytes, -number of the birth
}

func readPretended(t testing.TB, path string) *pretended {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	p := &pretended{runs: map[string]*pretendedRun{}, models: &suite.Models{}}
	var r *pretendedRun
	three := func(text string) (n [3]int64) {
		_, err := fmt.Sscan(text, &n[0], &n[1], &n[2])
		require.NoError(t, err, path)
		return n
	}
	for line := range strings.Lines(string(data)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "model":
			p.model = rest
		case "device":
			p.device = rest
		case "attention":
			p.attention, err = platform.ParseSDPABackends(rest)
			require.NoError(t, err, path)
		case "runtime":
			r = &pretendedRun{}
			p.runs[rest] = r
		case "failed":
			r.failed = rest
		case "baseline":
			r.baseline = three(rest)
		case "pass":
			r.passes = append(r.passes, three(rest))
		case "events":
			r.events = strings.Fields(rest)
		}
	}
	return p
}

// exampleTexts are the inputs that a program was exported with, as a case gives them.
func exampleTexts(t testing.TB, p *program.Program) []string {
	values := map[string]int64{}
	for _, s := range p.Symbols {
		values[s.Name] = s.Example
	}
	f := p.Entry
	next := 0
	var text func(*program.Tree) string
	text = func(tree *program.Tree) string {
		if tree.Kind == program.LeafTree {
			q := &f.Params[next]
			next++
			switch {
			case q.Meta != nil:
				m, err := q.Meta.Bind(values)
				require.NoError(t, err)
				return m.DType.String() + strings.ReplaceAll(fmt.Sprint(m.Sizes), " ", ",")
			case q.Size != nil:
				n, err := q.Size.Eval(values)
				require.NoError(t, err)
				return fmt.Sprint(n)
			case q.Default == nil:
				return "null"
			}
			return fmt.Sprint(q.Default)
		}
		var parts []string
		for i, item := range tree.Items {
			s := text(item)
			if tree.Kind == program.DictTree {
				s = tree.Names[i] + ": " + s
			}
			parts = append(parts, s)
		}
		if tree.Kind == program.DictTree {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var out []string
	for _, in := range f.Inputs {
		out = append(out, in.Name+"="+text(in.Tree))
	}
	return out
}

// streamOf are the first pass's events as the recordings record them.
func streamOf(tr *trace.Trace) []string {
	var out []string
	number := map[int64]int{}
	for i := range tr.Events {
		e := &tr.Events[i]
		if e.Pass != 1 || e.Bytes == 0 { // what never reaches the allocator
			continue
		}
		switch e.Action {
		case trace.Alloc:
			number[int64(e.Storage)] = len(number)
			out = append(out, fmt.Sprintf("+%d", e.Bytes))
		case trace.FreeRequested:
			if n, ok := number[int64(e.Storage)]; ok {
				out = append(out, fmt.Sprintf("-%d", n))
			} else {
				out = append(out, "-old")
			}
		}
	}
	return out
}

// TestExportedAgainstPretended holds what is predicted of exported programs against what PyTorch
// did with them, and with the live modules, on pretend GPUs: agree.txt says of each how far it
// agrees, for eager runs with what was seen at export (the sidecar) and alone. Whatever it says,
// what is called exact is what PyTorch did: baseline, peaks and every event; and nothing takes more
// than the upper figure of an estimate.
func TestExportedAgainstPretended(t *testing.T) {
	dir := filepath.Join("..", "testdata", "conformance", "2.15-exported")
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	byModel := slices.Clone(paths) // a model's archives are read once for all devices
	slices.SortStableFunc(byModel, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	if !golden.Whole() {
		byModel = oneOfEachModel(byModel)
	}
	lines := map[string]string{} // by path
	var models *suite.Models
	alone, last := "", "" // the archive without its sidecar
	for _, path := range byModel {
		want := readPretended(t, path)
		file := exportedFile(want.model)
		if want.model != last {
			models, alone, last = want.models, filepath.Join(t.TempDir(), want.model+".pt2"), want.model
			absolute, err := filepath.Abs(file)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(absolute, alone))
		}
		want.models = models
		for _, runtime := range []string{"export", "eager"} {
			w := want.runs[runtime]
			if w != nil && strings.Contains(w.failed, "No available kernel") { // what sdpa_kernel allows cannot run it
				lines[path] += refusal(t, want, runtime, file)
			}
			if w == nil || w.failed != "" {
				continue
			}
			lines[path] += agreement(t, want, runtime, file)
			if _, err := os.Stat(file + ".inputs.json"); err == nil && runtime == "eager" && want.attention == 0 {
				lines[path] += "  alone " + agreement(t, want, runtime, alone)
			}
		}
	}
	if !golden.Whole() {
		committed, err := os.ReadFile(filepath.Join(dir, "agree.txt"))
		require.NoError(t, err)
		for _, path := range byModel {
			if !strings.Contains(string(committed), lines[path]) {
				t.Errorf("%s: got lines that agree.txt has not:\n%s", path, lines[path])
			}
		}
		return
	}
	var table strings.Builder
	table.WriteString("# model device runtime: events that agree of those recorded (of those predicted), peak allocated " +
		"and reserved less the recorded ones, the same of the upper figures, quality\n")
	for _, path := range paths {
		table.WriteString(lines[path])
	}
	golden.File(t, filepath.Join(dir, "agree.txt"), table.String())
	if golden.Updating() {
		golden.Write(t, filepath.Join(dir, "memspec.yaml"), []byte(convolved(t, paths)))
	}
}

// oneOfEachModel is a recording of each model and attention, with the devices in turn.
func oneOfEachModel(byModel []string) []string {
	var out []string
	for from, models := 0, 0; from < len(byModel); models++ {
		to := from + 1
		for to < len(byModel) && filepath.Base(byModel[to]) == filepath.Base(byModel[from]) {
			to++
		}
		out = append(out, byModel[from+models%(to-from)])
		from = to
	}
	return out
}

// convolved is a memspec.yaml of the recorded runs that ask cuDNN for a convolution's workspace:
// the profile beside it is made from that.
func convolved(t *testing.T, paths []string) string {
	models := map[string]string{}
	for _, path := range paths {
		want := readPretended(t, path)
		for _, runtime := range []string{"export", "eager"} {
			if w := want.runs[runtime]; w == nil || w.failed != "" {
				continue
			}
			c := pretendedCase(t, want, runtime, exportedFile(want.model))
			r, err := want.models.Run(context.Background(), c)
			require.NoError(t, err)
			if len(r.Calls) == 0 {
				continue
			}
			if models[want.model] == "" {
				var inputs []string
				for _, text := range exampleTexts(t, r.Model.Artifact.Program) {
					name, value, _ := strings.Cut(text, "=")
					inputs = append(inputs, fmt.Sprintf("%s: %q", name, value))
				}
				relative, err := filepath.Rel(filepath.Join("..", "testdata", "conformance", "2.15-exported"), c.Artifact)
				require.NoError(t, err)
				models[want.model] = fmt.Sprintf("  %s:\n    artifact: %s\n    inputs: {%s}\n    cases:\n", want.model,
					filepath.ToSlash(relative), strings.Join(inputs, ", "))
			}
			if line := fmt.Sprintf("      - {name: %s %s %s, device: %s, runtime: %s}\n", want.model, want.device, runtime,
				want.device, runtime); !strings.Contains(models[want.model], line) {
				models[want.model] += line
			}
		}
	}
	var b strings.Builder
	b.WriteString("# The recorded runs that ask cuDNN: memspec.workspace.json is what it answered (python -m memshim " +
		"workspace --prune). Written by\n" +
		"# MEMSPEC_UPDATE=1 go test ./engine -run TestExportedAgainstPretended.\nversion: 1\ndefaults: {torch: 2.15, " +
		"budget: {reserved: 100%}}\nmodels:\n")
	for _, name := range slices.Sorted(maps.Keys(models)) {
		b.WriteString(models[name])
	}
	return b.String()
}

// exportedFile is a model's archive.
func exportedFile(model string) string {
	file := filepath.Join("..", "testdata", "artifacts", "exported", "models", model+".pt2")
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join("..", "testdata", "artifacts", "exported", model+".pt2")
	}
	return file
}

// refusal says that memspec refuses what PyTorch refused.
func refusal(t *testing.T, want *pretended, runtime, file string) string {
	c := pretendedCase(t, want, runtime, file)
	_, err := want.models.Run(context.Background(), c)
	require.ErrorContains(t, err, "PyTorch refuses to run it", "%s on %s", want.model, want.device)
	return fmt.Sprintf("%s %s %s %s: refused\n", want.model, want.device, runtime,
		strings.Join(want.attention.Names(), " "))
}

func pretendedCase(t *testing.T, want *pretended, runtime, file string) spec.Case {
	m, err := want.models.Open(file)
	require.NoError(t, err)
	c := testcase.On(t, want.device, file, exampleTexts(t, m.Artifact.Program)...)
	c.Runtime, c.Platform.Attention = spec.Runtime(runtime), want.attention
	c.Workspace = filepath.Join("..", "testdata", "conformance", "2.15-exported", "memspec.workspace.json")
	return c
}

// agreement runs a model as it was recorded and says how far the two agree.
func agreement(t *testing.T, want *pretended, runtime, file string) string {
	w := want.runs[runtime]
	c := pretendedCase(t, want, runtime, file)
	r, err := want.models.Run(context.Background(), c)
	require.NoError(t, err)
	got := streamOf(r.Trace)
	same := 0
	for same < min(len(got), len(w.events)) && got[same] == w.events[same] {
		same++
	}
	name := strings.Join(append([]string{want.model, want.device, runtime}, want.attention.Names()...), " ")
	b := r.Report.Baseline
	line := fmt.Sprintf("%s: %d/%d (%d)", name, same, len(w.events), len(got))
	if got := [3]int64{int64(b.Requested), int64(b.Allocated), int64(b.Reserved)}; got != w.baseline {
		line += fmt.Sprintf(", baseline %v, recorded %v", got, w.baseline)
	}
	first := w.passes[0]
	difference := func(allocated, reserved units.Bytes) string {
		return fmt.Sprintf(" %+d %+d", int64(allocated)-first[1], int64(reserved)-first[2])
	}
	p := r.Report.Peak
	line += ", peak" + difference(p.Allocated, p.Reserved)
	most := [2]units.Bytes{p.Allocated, p.Reserved}
	if r.Upper != nil {
		most = [2]units.Bytes{r.Upper.Allocated.Bytes, r.Upper.Reserved.Bytes}
		line += ", upper" + difference(most[0], most[1])
	}
	line += ", " + string(r.Report.Quality)
	if r.Report.Quality == report.Exact {
		assert.Equal(t, w.baseline, [3]int64{int64(b.Requested), int64(b.Allocated), int64(b.Reserved)}, name)
		assert.Equal(t, first, [3]int64{int64(p.Requested), int64(p.Allocated), int64(p.Reserved)}, name)
		assert.Equal(t, w.events, got, name)
	} else if !r.Report.HasNote(note.OpAssumed) { // what an operator without a rule takes beside its results nobody knows
		assert.GreaterOrEqual(t, int64(most[0]), first[1], "%s allocated", name)
		// more workspace may end in less reserved memory
		if !r.Report.HasNote(note.WorkspaceEstimate) && !r.Report.HasNote(note.WorkspaceStandIn) {
			assert.GreaterOrEqual(t, int64(most[1]), first[2], "%s reserved", name)
		}
	}
	return line + "\n"
}
