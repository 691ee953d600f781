package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/recording"
)

// DefaultIterations are those of a training run where nothing else is said: the first, which makes
// the optimizer's state, and two steady ones.
const DefaultIterations = 3

// DefaultLoss is that of a step whose optimizer is stated.
const DefaultLoss = "mean"

// maxIterations is what a recording has place for, with its baseline.
const maxIterations = 999

// trainingKeys are the keys of mode: training alone. Beside mode: inference they may only stand in
// defaults:.
var trainingKeys = []string{"optimizer", "loss", "accumulate", "clip", "checkpoint", "optimizer_in_backward",
	"iterations"}

// trainingRules are the keys of mode: training, in the order the errors list them.
func trainingRules() []keyRule {
	return []keyRule{
		{"optimizer", everywhere, inTraining((*reader).optimizer, func(t *recording.Training, o optimizer) {
			t.Optimizer, t.Arguments = o.name, o.arguments
		})},
		{"loss", everywhere, inTraining((*reader).loss, func(t *recording.Training, loss string) { t.Loss = loss })},
		{"accumulate", everywhere, inTraining(count(1, 1<<20), func(t *recording.Training, n int) { t.Accumulate = n })},
		{"clip", everywhere, inTraining((*reader).norm, func(t *recording.Training, norm float64) { t.Clip = &norm })},
		{"checkpoint", everywhere, inTraining((*reader).checkpoint, func(t *recording.Training, c recording.Checkpoint) {
			t.Checkpoint = &c
		})},
		{"optimizer_in_backward", everywhere, inTraining((*reader).truth, func(t *recording.Training, on bool) {
			t.OptimizerInBackward = on
		})},
		{"iterations", everywhere, inTraining(count(2, maxIterations), func(t *recording.Training, n int) {
			t.Iterations = n
		})},
	}
}

// inTraining is a key that sets something of the training step.
func inTraining[T any](read func(*reader, entry) *T, set func(*recording.Training, T)) func(*reader, *settings, entry,
	string) {
	return func(r *reader, s *settings, e entry, _ string) {
		if v := read(r, e); v != nil {
			s.set(e.name, func(c *Case) {
				if c.Training != nil {
					set(c.Training, *v)
				}
			})
		}
	}
}

// train gives a case of mode: training its step.
func (d *document) train(c *Case, s settings) {
	for _, e := range s.written {
		switch {
		case c.Mode == Inference && slices.Contains(trainingKeys, e.name):
			d.errorf(e.key, "got %s: in a case of mode: %s, want mode: training", e.name, c.Mode)
		case c.Mode == Training && e.name == "grad":
			d.errorf(e.key, "got %s: in a case of mode: %s, want mode: %s", e.name, c.Mode, Inference)
		}
	}
	if c.Mode != Training {
		return
	}
	c.Training = &recording.Training{Accumulate: 1, Iterations: DefaultIterations}
}

// checkInBackward refuses what an optimizer that steps inside the backward cannot do: it never sees
// the gradients of all parameters, nor those of several passes.
func (d *document) checkInBackward(c *Case, s settings) {
	t := c.Training
	if !t.OptimizerInBackward {
		return
	}
	other := ""
	switch {
	case t.Accumulate > 1:
		other = "accumulate"
	case t.Clip != nil:
		other = "clip"
	case c.Platform.Autocast == "float16":
		other = "autocast"
	default:
		return
	}
	for _, e := range s.written {
		if e.name == "optimizer_in_backward" || e.name == other {
			d.errorf(e.key, "got optimizer_in_backward: beside %s:, want one of them", other)
			return
		}
	}
	d.errorAt(c.Pos, "got optimizer_in_backward: beside %s:, want one of them", other)
}

// optimizer is a class with its keyword arguments.
type optimizer struct {
	name      string
	arguments map[string]any
}

const optimizerWant = "a class of torch.optim such as AdamW, FILE.py:NAME, none, or a mapping with name: and the " +
	"arguments"

func (r *reader) optimizer(e entry) *optimizer {
	if e.val.Kind != yaml.MappingNode {
		name, ok := r.text(e.val, optimizerWant)
		if !ok || !r.isClass(e.val, name, optimizerWant) {
			return nil
		}
		return &optimizer{name: name}
	}
	o := &optimizer{arguments: map[string]any{}}
	for _, a := range r.mapping(e.val, optimizerWant) {
		if a.name == "name" {
			if name, ok := r.text(a.val, optimizerWant); ok && r.isClass(a.val, name, optimizerWant) {
				o.name = name
			}
			continue
		}
		if v, ok := r.argument(a.val, 0); ok {
			o.arguments[a.name] = v
		}
	}
	if o.name == "" && !hasKey(r.mapping(e.val, optimizerWant), "name") {
		r.errorf(e.val, "got an optimizer without name:, want %s", optimizerWant)
	}
	return o
}

// isClass says whether a text names something of Python's: a dotted name, or FILE.py:NAME.
func (r *reader) isClass(n *yaml.Node, s, want string) bool {
	file, name, split := strings.Cut(s, ":")
	if !split {
		name = s
	}
	if split && (!strings.HasSuffix(file, ".py") || file == ".py") || !isDotted(name) {
		r.errorf(n, "got %q, want %s", shorten(s), want)
		return false
	}
	return true
}

// isDotted says whether a text is a name of Python's, or several with dots between them.
func isDotted(s string) bool {
	for _, part := range strings.Split(s, ".") {
		ok := part != ""
		for i, c := range part {
			ok = ok && (c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
		}
		if !ok {
			return false
		}
	}
	return true
}

// argument is a number, a boolean, null, a word, or a list of them.
func (r *reader) argument(n *yaml.Node, depth int) (any, bool) {
	const want = "a number, true, false, null, a word or a list of them"
	if n.Kind == yaml.SequenceNode && depth == 0 {
		out := []any{}
		for _, item := range r.list(n, want) {
			if v, ok := r.argument(item, depth+1); ok {
				out = append(out, v)
			}
		}
		return out, true
	}
	if n.Kind != yaml.ScalarNode {
		r.errorf(n, "got %s, want %s", kindName(n), want)
		return nil, false
	}
	switch n.Tag {
	case "!!null":
		return nil, true
	case "!!bool":
		return r.boolean(n)
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			r.errorf(n, "got %s, want a finite decimal number", kindName(n))
			return nil, false
		}
		return f, true
	}
	return n.Value, true
}

func (r *reader) loss(e entry) *string {
	const want = "mean, sum, output, a function of torch.nn.functional or FILE.py:NAME"
	s, ok := r.text(e.val, want)
	if !ok || !r.isClass(e.val, s, want) {
		return nil
	}
	return &s
}

// count reads a whole number between two.
func count(least, most int64) func(*reader, entry) *int {
	return func(r *reader, e entry) *int {
		v, ok := r.whole(e.val, least)
		if ok && v > most {
			r.errorf(e.val, "got %d, want at most %d", v, most)
			ok = false
		}
		if !ok {
			return nil
		}
		n := int(v)
		return &n
	}
}

func (r *reader) truth(e entry) *bool {
	v, ok := r.boolean(e.val)
	if !ok {
		return nil
	}
	return &v
}

func (r *reader) norm(e entry) *float64 {
	f, err := strconv.ParseFloat(e.val.Value, 64)
	if err != nil || !(f > 0 && f <= math.MaxFloat64) {
		r.errorf(e.val, "got %s, want a norm above 0", kindName(e.val))
		return nil
	}
	return &f
}

var checkpointKeys = []string{"modules", "reentrant"}

// checkpoint reads the modules' names, alone or in a mapping.
func (r *reader) checkpoint(e entry) *recording.Checkpoint {
	const want = "a list of modules such as [layers.*], or a mapping with modules: and reentrant:"
	c := &recording.Checkpoint{}
	names := e.val
	if e.val.Kind == yaml.MappingNode {
		names = nil
		for _, k := range r.mapping(e.val, want) {
			switch k.name {
			case "modules":
				names = k.val
			case "reentrant":
				c.Reentrant, _ = r.boolean(k.val)
			default:
				r.errorf(k.key, "got the key %q, want one of modules, reentrant%s", shorten(k.name),
					didYouMean(k.name, checkpointKeys))
			}
		}
	}
	if names == nil {
		r.errorf(e.val, "got no modules:, want %s", want)
		return nil
	}
	for _, n := range r.list(names, want) {
		s, ok := r.text(n, "a module's name, with * and ?")
		if ok && strings.TrimSpace(s) == "" {
			r.errorf(n, "got an empty name, want a module's")
		}
		c.Modules = append(c.Modules, s)
	}
	if names.Kind == yaml.SequenceNode && len(names.Content) == 0 {
		r.errorf(names, "got no module, want %s", want)
	}
	return c
}

// trainingText is the step in a line, in a fixed order: what distinguishes two steps.
func trainingText(t *recording.Training) string {
	if t == nil {
		return ""
	}
	names := make([]string, 0, len(t.Arguments))
	for name := range t.Arguments {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "optimizer %q", t.Optimizer)
	for _, name := range names {
		fmt.Fprintf(&b, " %q %#v", name, t.Arguments[name])
	}
	fmt.Fprintf(&b, " loss %q accumulate %d iterations %d", t.Loss, t.Accumulate, t.Iterations)
	if t.Clip != nil {
		fmt.Fprintf(&b, " clip %v", *t.Clip)
	}
	if t.Checkpoint != nil {
		fmt.Fprintf(&b, " checkpoint %q %v", t.Checkpoint.Modules, t.Checkpoint.Reentrant)
	}
	if t.OptimizerInBackward {
		b.WriteString(" optimizer in backward")
	}
	return b.String()
}
