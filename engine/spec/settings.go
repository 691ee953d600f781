package spec

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/verdict"
)

// settings are what one layer of the file says: the defaults, a model or a case. What a nil stands
// for is not said.
type settings struct {
	sets map[string]func(*Case) // by key or flag: what it sets of a case

	// What a case is made of, or made by.
	device     *device.Device // of the case that is made; one of devices
	devices    *deviceList
	torch      *platform.Version
	level      *verdict.Level
	assume     *[]assumeDecl
	inputs     *[]inputDecl
	budgets    []budgetDecl
	fits       []fitDecl
	regression []budgetDecl
	atLeast    []budgetDecl
	dims       []dimDecl
	lengths    *[]lengthsDecl
	varies     *[]string

	written []entry    // every key of the model and of the case, in that order
	args    []string   // of a program: the model's, then the case's
	ranks   *yaml.Node // the key, where a model or a case has it

	deviceSaid, budgetSaid bool // the key was written, even if what it holds is wrong

	name, artifact, source *string  // of a case; of a model
	program, module        *string  // of a model
	serve                  []string // of a model: the words of its command
	artifactAt             Pos
	cases                  *yaml.Node
}

// layers says in which layers a key may stand.
type layers uint8

const (
	inDefaults layers = 1 << iota
	inModel
	inCase
	everywhere = inDefaults | inModel | inCase
)

// keyRule is one key: where it may stand and what reads it.
type keyRule struct {
	name string
	in   layers
	read func(r *reader, s *settings, e entry, path string)
}

// keyRules is every key of the three layers, in the order the errors list them.
func keyRules() []keyRule {
	return append([]keyRule{
		{"artifact", inModel, func(r *reader, s *settings, e entry, _ string) {
			s.artifact, s.artifactAt = r.words(e, "a path"), r.at(e.val)
		}},
		{"source", inModel, func(r *reader, s *settings, e entry, _ string) { s.source = r.source(e) }},
		{"name", inCase, func(r *reader, s *settings, e entry, _ string) { s.name = r.words(e, "a name") }},
		{"inputs", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.inputs = r.inputs(e) }},
		{"dims", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.dims = r.dims(e) }},
		{"budget", everywhere, func(r *reader, s *settings, e entry, path string) {
			s.budgets, s.budgetSaid = r.budgets(e, path), true
		}},
		{"at_least", everywhere, func(r *reader, s *settings, e entry, path string) {
			s.atLeast, s.budgetSaid = r.limits(e, path+".at_least.", "a least number", leastMetrics), true
		}},
		{"regression", everywhere, func(r *reader, s *settings, e entry, path string) {
			s.regression, s.budgetSaid = r.limits(e, path+".regression.", "a regression", report.AllMetrics()), true
		}},
		{"fits", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.fits = r.fits(e) }},
		{"lengths", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.lengths = r.lengths(e) }},
		{"varies", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.varies = r.varies(e) }},
		{"level", everywhere, func(r *reader, s *settings, e entry, _ string) { s.level = r.level(e) }},
		{"judge", everywhere, field(oneOf(verdict.ByUpper, verdict.ByLikely), func(c *Case) *verdict.Basis {
			return &c.Judge
		})},
		{"device", everywhere, nil}, // read once own devices are known
		{"runtime", everywhere, field(oneOf(Eager, TorchScript, Export, Compiled), func(c *Case) *Runtime {
			return &c.Runtime
		})},
		{"mode", everywhere, field(oneOf(Inference, Training), func(c *Case) *Mode { return &c.Mode })},
		{"torch", everywhere, func(r *reader, s *settings, e entry, _ string) { s.torch = r.torch(e) }},
		{"cudnn", everywhere, field((*reader).version, func(c *Case) *platform.Version { return &c.Platform.CuDNN })},
		{"alloc_conf", everywhere, field((*reader).setting, func(c *Case) *string { return &c.Platform.AllocConf })},
		{"cublas_workspace", everywhere, field((*reader).cublas, func(c *Case) *string {
			return &c.Platform.CublasWorkspace
		})},
		{"memory_fraction", everywhere, field((*reader).fraction, func(c *Case) *float64 {
			return &c.Platform.MemoryFraction
		})},
		{"nccl", everywhere, func(r *reader, s *settings, e entry, _ string) {
			size := r.size(e.val, 0)
			s.set(e.name, func(c *Case) { c.Platform.NCCL = &size })
		}},
		{"tolerance", everywhere, field((*reader).tolerance, func(c *Case) *float64 { return &c.Tolerance })},
		{"grad", everywhere, field(oneOf(NoGrad, InferenceMode), func(c *Case) *Grad { return &c.Grad })},
		{"dtype", everywhere, field((*reader).dtype, func(c *Case) *string { return &c.DType })},
		{"autocast", everywhere, field((*reader).half, func(c *Case) *string { return &c.Platform.Autocast })},
		{"attention", everywhere, field((*reader).attention, func(c *Case) *platform.SDPABackends {
			return &c.Platform.Attention
		})},
		{"flags", everywhere, func(r *reader, s *settings, e entry, _ string) { r.flags(s, e) }},
		{"workspace", everywhere, field(func(r *reader, e entry) *string {
			return r.words(e, "a path")
		}, func(c *Case) *string { return &c.Workspace })},
		{"assume", everywhere, func(r *reader, s *settings, e entry, _ string) { s.assume = r.assume(e) }},
		{"depends", everywhere, field((*reader).depends, func(c *Case) *recording.Depends { return &c.Depends })},
		{"allow", everywhere, field((*reader).allow, func(c *Case) *[]string { return &c.Allow })},
		{"cases", inModel, func(_ *reader, s *settings, e entry, _ string) { s.cases = e.val }},
	}, append(programRules(), trainingRules()...)...)
}

// field is a key that sets a field of a case to what is read.
func field[T any](read func(*reader, entry) *T, of func(*Case) *T) func(*reader, *settings, entry, string) {
	return func(r *reader, s *settings, e entry, _ string) {
		if v := read(r, e); v != nil {
			s.set(e.name, func(c *Case) { *of(c) = *v })
		}
	}
}

// oneOf reads a word of a fixed set.
func oneOf[T ~string](words ...T) func(*reader, entry) *T {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return func(r *reader, e entry) *T { return word[T](r, e, texts...) }
}

func (s *settings) set(key string, to func(*Case)) {
	if s.sets == nil {
		s.sets = map[string]func(*Case){}
	}
	s.sets[key] = to
}

// keyNames are the keys that may stand in a layer.
func keyNames(in layers) []string {
	var out []string
	for _, k := range keyRules() {
		if k.in&in != 0 {
			out = append(out, k.name)
		}
	}
	return out
}

// layerNames are the places in words.
var layerNames = map[layers]string{inDefaults: "defaults", inModel: "a model", inCase: "a case"}

// pathDefaults and pathSet are where the defaults and the lines of --set stand.
const (
	pathDefaults = "defaults"
	pathSet      = "set"
)

// layer reads one layer. path is where it stands: "models.resnet50.cases[1]".
func (d *document) layer(n *yaml.Node, in layers, path string) settings {
	var s settings
	for _, e := range d.mapping(n, layerNames[in]+" as a mapping") {
		k, known := d.rules[e.name]
		if in != inDefaults {
			s.written = append(s.written, e)
		}
		switch {
		case !known:
			d.errorf(e.key, "got the key %q, want one of %s%s", shorten(e.name), layerNames[in],
				didYouMean(e.name, keyNames(in)))
		case k.in&in == 0:
			d.errorf(e.key, "got the key %q in %s, want it in %s", e.name, layerNames[in], layersOf(k.in))
		case e.name == "device":
			s.devices, s.deviceSaid = d.deviceOrList(e), true
		default:
			k.read(d.reader, &s, e, path)
		}
	}
	if len(s.serve) > 0 {
		s.args = append(slices.Clone(s.serve[1:]), s.args...)
	}
	return s
}

func layersOf(in layers) string {
	var out []string
	for _, p := range []layers{inDefaults, inModel, inCase} {
		if in&p != 0 {
			out = append(out, layerNames[p])
		}
	}
	return strings.Join(out, " or ")
}

// over lays s over lower: what s does not say is lower's. What belongs to one layer alone is not
// passed on.
func (s settings) over(lower settings) settings {
	out := lower
	out.artifactAt = s.artifactAt
	out.name, out.artifact, out.source, out.cases, out.dims = s.name, s.artifact, s.source, s.cases, s.dims
	out.program, out.module, out.serve = s.program, s.module, s.serve
	out.deviceSaid, out.budgetSaid = s.deviceSaid || lower.deviceSaid, s.budgetSaid || lower.budgetSaid
	set(&out.devices, s.devices)
	set(&out.torch, s.torch)
	set(&out.ranks, s.ranks)
	set(&out.level, s.level)
	set(&out.assume, s.assume)
	set(&out.inputs, s.inputs)
	set(&out.lengths, s.lengths)
	set(&out.varies, s.varies)
	out.budgets = overBudgets(lower.budgets, s.budgets)
	out.regression = overBudgets(lower.regression, s.regression)
	out.atLeast = overBudgets(lower.atLeast, s.atLeast)
	if s.fits != nil {
		out.fits = s.fits
	}
	out.written = append(slices.Clone(lower.written), s.written...)
	out.args = append(slices.Clone(lower.args), s.args...)
	out.sets = maps.Clone(lower.sets)
	for key, to := range s.sets {
		out.set(key, to)
	}
	return out
}

// set is *dst = src where src says something.
func set[T any](dst **T, src *T) {
	if src != nil {
		*dst = src
	}
}

func word[T ~string](r *reader, e entry, words ...string) *T {
	s, ok := r.oneOf(e.val, words...)
	if !ok {
		return nil
	}
	t := T(s)
	return &t
}

// words reads a text that must not be empty.
func (r *reader) words(e entry, what string) *string {
	s, ok := r.text(e.val, what)
	if ok && strings.TrimSpace(s) == "" {
		r.errorf(e.val, "got an empty text, want %s", what)
		return nil
	}
	if ok && strings.ContainsFunc(s, unprintable) {
		r.errorf(e.val, "got %q, want %s on one line, of printable letters", shorten(s), what) // and it stays the name
	}
	if !ok {
		return nil
	}
	return &s
}

// unprintable says whether a letter would break or hide part of a line that is printed.
func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// setting reads a text that may be empty.
func (r *reader) setting(e entry) *string {
	s, ok := r.text(e.val, "a text")
	if !ok {
		return nil
	}
	return &s
}

func (r *reader) level(e entry) *verdict.Level {
	w := word[string](r, e, verdict.LevelFail.String(), verdict.LevelWarn.String())
	if w == nil {
		return nil
	}
	l := verdict.LevelFail
	if *w == verdict.LevelWarn.String() {
		l = verdict.LevelWarn
	}
	return &l
}

func (r *reader) version(e entry) *platform.Version {
	s, ok := r.text(e.val, "a version such as 2.10")
	if !ok {
		return nil
	}
	v, err := platform.ParseVersion(s)
	if err != nil {
		r.errorf(e.val, "got %q, want a version such as 2.10 or 2.10.1", shorten(s))
		return nil
	}
	return &v
}

func (r *reader) torch(e entry) *platform.Version {
	v := r.version(e)
	if v == nil {
		return nil
	}
	if err := platform.CheckTorch(*v); err != nil {
		r.errorf(e.val, "%v", err)
		return nil
	}
	return v
}

func (r *reader) cublas(e entry) *string {
	s := r.setting(e)
	if s == nil || *s == "" {
		return s
	}
	if _, err := platform.ParseCublasWorkspace(*s); err != nil {
		r.errorf(e.val, "%s", err)
		return nil
	}
	return s
}

func (r *reader) fraction(e entry) *float64 {
	f, err := strconv.ParseFloat(e.val.Value, 64)
	if e.val.Kind != yaml.ScalarNode || err != nil || !(f > 0 && f <= 1) {
		r.errorf(e.val, "got %s, want a number above 0 and at most 1", kindName(e.val))
		return nil
	}
	return &f
}

var percentage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%$`)
})

func (r *reader) tolerance(e entry) *float64 {
	if e.val.Kind == yaml.ScalarNode {
		if m := percentage().FindStringSubmatch(strings.TrimSpace(e.val.Value)); m != nil {
			f, err := strconv.ParseFloat(m[1], 64)
			if err == nil && f <= 100 {
				f /= 100
				return &f
			}
		}
	}
	r.errorf(e.val, "got %s, want a percentage such as 1%%", kindName(e.val))
	return nil
}

// dtype reads a floating dtype.
func (r *reader) dtype(e entry) *string {
	return r.dtypeOf(e, tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64)
}

// half reads a dtype of 16 bits, as autocast takes it.
func (r *reader) half(e entry) *string { return r.dtypeOf(e, tensor.Float16, tensor.BFloat16) }

func (r *reader) dtypeOf(e entry, which ...tensor.DType) *string {
	names := make([]string, len(which))
	for i, d := range which {
		names[i] = d.String()
	}
	want := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	s, ok := r.text(e.val, want)
	if !ok {
		return nil
	}
	d, err := tensor.ParseDType(s)
	if err != nil || !slices.Contains(which, d) {
		r.errorf(e.val, "got %q, want %s%s", shorten(s), want, didYouMean(s, names))
		return nil
	}
	name := d.String()
	return &name
}

// attention reads the backends that torch.nn.attention.sdpa_kernel is given: one or a list.
func (r *reader) attention(e entry) *platform.SDPABackends {
	names := platform.SDPANames()
	what := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	nodes := []*yaml.Node{e.val}
	if e.val.Kind == yaml.SequenceNode {
		if nodes = r.list(e.val, what); len(nodes) == 0 {
			r.errorf(e.val, "got no backend, want %s, or no key for all", what)
			return nil
		}
	}
	var out platform.SDPABackends
	for _, n := range nodes {
		s, ok := r.text(n, what)
		if !ok {
			return nil
		}
		b, err := platform.ParseSDPABackends(s)
		if err != nil {
			r.errorf(n, "got %q, want %s%s", shorten(s), what, didYouMean(s, names))
			return nil
		}
		out |= b
	}
	return &out
}

// flagRules are PyTorch's flags, in the order the errors list them.
func flagRules() []flagRule {
	return []flagRule{
		{"tf32", func(c *Case, on bool) { c.Platform.TF32CuDNN, c.Platform.TF32Matmul = on, on }},
		{"benchmark", func(c *Case, on bool) { c.Platform.Benchmark = on }},
		{"deterministic", func(c *Case, on bool) { c.Platform.Deterministic = on }},
		{"cudnn_v7", func(c *Case, on bool) { c.Platform.CuDNNv7 = on }},
	}
}

type flagRule struct {
	name string
	set  func(c *Case, on bool)
}

func (r *reader) flags(s *settings, e entry) {
	rules := flagRules()
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].name
	}
	for _, f := range r.mapping(e.val, "a mapping of "+strings.Join(names, ", ")) {
		i := slices.Index(names, f.name)
		if i < 0 {
			r.errorf(f.key, "got the flag %q, want one of %s%s", shorten(f.name), strings.Join(names, ", "),
				didYouMean(f.name, names))
			continue
		}
		if v, ok := r.boolean(f.val); ok {
			s.set(e.name+" "+f.name, func(c *Case) { rules[i].set(c, v) })
		}
	}
}

func (r *reader) allow(e entry) *[]string {
	ids := []string{}
	for _, n := range r.list(e.val, "a list of note IDs such as [shape-bound]") {
		s, ok := r.text(n, "a note's ID")
		if ok && !slices.Contains(note.IDs(), s) {
			ok = false
			if near := didYouMean(s, note.IDs()); near != "" {
				r.errorf(n, "got %q, want a note's ID%s", shorten(s), near)
			} else {
				r.errorf(n, "got %q, want a note's ID: %s", shorten(s), strings.Join(note.IDs(), ", "))
			}
		}
		if ok {
			ids = append(ids, s)
		}
	}
	return &ids
}
