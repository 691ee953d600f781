package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/verdict"
)

// dimDecl is a dim as written: one value, or several that make a case each.
type dimDecl struct {
	name   string
	key    *yaml.Node
	values []int64
	list   bool
}

// assumeDecl is an assumption as written.
type assumeDecl struct {
	line   string
	size   Expr
	values string // in the place of a size
	node   *yaml.Node
}

// fitDecl is a value of a dim at which a case must fit, as written.
type fitDecl struct {
	name  string
	value int64
	node  *yaml.Node
}

// modelDecl is what the cases of a model share.
type modelDecl struct {
	name     string
	pos      Pos
	settings settings // the model's own over the defaults; its dims are the model's
	label    []string // of one of several cases: what its own args: and ranks: add to its name
}

var reservedNames = []string{"min", "max", "KiB", "MiB", "GiB", "TiB"}

func (r *reader) dims(e entry) []dimDecl {
	var out []dimDecl
	for _, dim := range r.mapping(e.val, "a mapping of names to numbers") {
		if !expr.IsName(dim.name) || slices.Contains(reservedNames, dim.name) {
			r.errorf(dim.key, "got %q, want the name of a dim: letters, digits and _, and none of %s", shorten(dim.name),
				strings.Join(reservedNames, ", "))
			continue
		}
		decl := dimDecl{name: dim.name, key: dim.key}
		if dim.val.Kind == yaml.SequenceNode {
			decl.list = true
			for _, n := range r.list(dim.val, "numbers") {
				if v, ok := r.whole(n, 0); ok {
					decl.values = append(decl.values, v)
				}
			}
			if len(dim.val.Content) == 0 {
				r.errorf(dim.val, "got an empty list for the dim %s, want numbers", dim.name)
			}
		} else if dim.val.Kind == yaml.ScalarNode && strings.Contains(dim.val.Value, "..") {
			r.errorf(dim.val, "got the range %s, want a whole number or a list of them, such as [1, 2, 4]; memspec sweep "+
				"takes ranges", shorten(dim.val.Value))
		} else if v, ok := r.whole(dim.val, 0); ok {
			decl.values = []int64{v}
		}
		out = append(out, decl)
	}
	return out
}

func (r *reader) assume(e entry) *[]assumeDecl {
	out := []assumeDecl{}
	for _, a := range r.mapping(e.val, "a mapping of places to sizes") {
		s, ok := r.text(a.val, "a number or an expression over the dims")
		if !ok {
			continue
		}
		if a.name == Routing && s != valueWords[0] {
			r.errorf(a.val, "got %s: %s, want %s", Routing, shorten(s), valueWords[0])
			continue
		}
		if a.name == Routing || readsValues(a.name) && slices.Contains(valueWords, s) {
			out = append(out, assumeDecl{line: a.name, values: s, node: a.val})
			continue
		}
		if readsValues(a.name) {
			switch s {
			case "true":
				s = "1"
			case "false":
				s = "0"
			}
		}
		x, err := ParseExpr(s)
		if err != nil {
			r.errorIn(a.val, exprOffset(err), err)
			continue
		}
		out = append(out, assumeDecl{line: a.name, size: x, node: a.val})
	}
	return &out
}

// readsValues says whether a place is one where a run of a Python source may read a value: a line
// of a .py file, or a function of one.
func readsValues(place string) bool {
	file, at, ok := strings.Cut(place, ".py:")
	return ok && file != "" && at != ""
}

// cases makes a case for each combination of dims and devices; the device changes fastest. s is the
// case's settings over the model's over the defaults; its dims are the case's own.
func (d *document) cases(m modelDecl, s settings) []Case {
	dims, named := mergeDims(m.settings.dims, s.dims)
	dims, named = withLengths(dims, named, s.lengths)
	total := 1
	for _, dim := range dims {
		if len(dim.values) == 0 {
			return nil // said above
		}
		if total *= len(dim.values); total > maxCases-d.count {
			d.errorAt(m.pos, "got more than %d cases, want fewer", maxCases)
			return nil
		}
	}
	on := s.devices
	if on == nil {
		on = &deviceList{of: []*device.Device{nil}}
	}
	if total *= len(on.of); total > maxCases-d.count {
		d.errorAt(m.pos, "got more than %d cases, want fewer", maxCases)
		return nil
	}
	d.count += total
	if !s.deviceSaid {
		d.errorAt(m.pos, "got no device for %s, want device: in the case, its model or defaults: (all: memspec devices)",
			m.name)
	}
	key, program := m.settings.isProgram()
	if !s.budgetSaid && len(s.fits) == 0 {
		names := budgetNames(key == "serve")
		if key == "serve" {
			names += " or at_least: with one of " + strings.Join(metricNames(leastMetrics), ", ")
		}
		d.errorAt(m.pos, "got no budget for %s, want budget: with one of %s", m.name, names)
	}
	d.unusedDims(s, key)
	d.checkProgram(&m.settings, &s)
	if program {
		s = s.forProgram(key)
	}
	var out []Case
	for i := range total {
		s.device = on.of[i%len(on.of)]
		c := Case{Model: m.name, Dir: d.dir, Pos: m.pos, Dims: pick(dims, i/len(on.of), total/len(on.of))}
		called := naming{model: m.name, given: s.name, label: m.label, dims: dims, named: named,
			device: on.list && (s.name == nil || len(on.of) > 1)}
		c.Name = called.of(c.Dims, s.device)
		if first, twice := d.names[c.Name]; twice {
			d.errorAt(m.pos, "got a second case of the name %q, first at line %d: name: gives another", shorten(c.Name),
				first.Line)
			continue
		}
		d.names[c.Name] = m.pos
		c.made = &template{d, m, s, called}
		d.build(&c, m, s)
		out = append(out, c)
	}
	return out
}

// unusedDims refuses dims of a case that nothing of it names: misspelt, they would leave the
// model's in force unnoticed. Without inputs: they come with the artifact.
// key is the one that names a program, "" for a model that is none.
func (d *document) unusedDims(s settings, key string) {
	if s.inputs == nil && key == "" {
		return
	}
	used := usedDims(s)
	for _, dim := range s.dims {
		if !slices.Contains(used, dim.name) {
			d.errorf(dim.key, "got the dim %s, which no %s of the case names%s", dim.name, namers(key),
				didYouMean(dim.name, used))
		}
	}
}

// namers are the keys that may name a dim, of a model that the key names.
func namers(key string) string {
	switch key {
	case "":
		return "input, budget or assume"
	case "serve":
		return "word of serve: or args:, text of env:, budget or at_least"
	}
	return "word of args:, text of env:, budget or assume"
}

// usedDims are the dims that inputs, budgets, assume: and a program's arguments of a case name.
func usedDims(s settings) []string {
	used := s.programDims()
	if s.inputs != nil {
		for _, in := range *s.inputs {
			for _, e := range in.exprs {
				used = append(used, e.Names()...)
			}
		}
	}
	for _, b := range slices.Concat(s.budgets, s.atLeast, s.regression) {
		used = append(used, b.limit.Names()...)
	}
	if s.assume != nil {
		for _, a := range *s.assume {
			used = append(used, a.size.Names()...)
		}
	}
	return used
}

// unusedModelDims refuses dims of a model that none of its cases names: a misspelt one would go
// unnoticed. Without inputs: they come with the artifact.
func (d *document) unusedModelDims(dims []dimDecl, cases []settings, key string) {
	if len(d.errs) > 0 { // what cannot be read may name them
		return
	}
	var used []string
	for _, s := range cases {
		if s.inputs == nil && key == "" {
			return
		}
		used = append(used, usedDims(s)...)
	}
	for _, dim := range dims {
		if !slices.Contains(used, dim.name) {
			d.errorf(dim.key, "got the dim %s, which no %s of the model's cases names%s", dim.name, namers(key),
				didYouMean(dim.name, used))
		}
	}
}

// mergeDims lays a case's dims over the model's. named marks those that stand in the case's name:
// the case's own, and lists of the model's.
func mergeDims(model, own []dimDecl) (dims []dimDecl, named []bool) {
	for _, m := range model {
		taken := false
		for _, o := range own {
			taken = taken || o.name == m.name
		}
		if !taken {
			dims, named = append(dims, m), append(named, m.list)
		}
	}
	for _, o := range own {
		dims, named = append(dims, o), append(named, true)
	}
	return dims, named
}

// pick is the i-th of total combinations: the last dim changes fastest.
func pick(dims []dimDecl, i, total int) []Dim {
	out := make([]Dim, len(dims))
	for k, dim := range dims {
		total /= len(dim.values)
		out[k] = Dim{dim.name, dim.values[i/total%len(dim.values)]}
	}
	return out
}

// naming is what the names of a model's cases are made of.
type naming struct {
	model  string
	given  *string // name: of the case
	label  []string
	dims   []dimDecl
	named  []bool // of the dims, those that stand in the name
	device bool   // so does the device: device: is a list
}

// of is resnet50[B=8,device=t4], of an engine chat[--quantization fp8]. A given name stands for all
// of it, and of several cases each adds what distinguishes them.
func (n *naming) of(dims []Dim, on *device.Device) string {
	name, parts := n.model, slices.Clone(n.label)
	if n.given != nil {
		name, parts = *n.given, nil
	}
	for i, dim := range dims {
		if n.named[i] && (n.given == nil || len(n.dims[i].values) > 1) {
			parts = append(parts, dim.Name+"="+strconv.FormatInt(dim.Value, 10))
		}
	}
	if n.device && on != nil {
		parts = append(parts, "device="+on.Name)
	}
	if len(parts) == 0 {
		return name
	}
	return fmt.Sprintf("%s[%s]", name, strings.Join(parts, ","))
}

// build fills a case in.
func (d *document) build(c *Case, m modelDecl, s settings) {
	torch := platform.Newest()
	assign(&torch, s.torch)
	if s.device != nil {
		c.Platform, _ = platform.New(*s.device, torch) // the release was checked where it was read
	}
	c.Mode, c.Grad, c.Tolerance = Inference, NoGrad, DefaultTolerance
	if c.Program = newProgram(&m.settings, &s); c.Program != nil {
		c.Mode, c.Grad = ByProgram, ""
	}
	for _, set := range s.sets { // each another field
		set(c)
	}
	if d.train(c, s); c.Training != nil { // now that it is there, its keys can be set
		for _, set := range s.sets {
			set(c)
		}
		c.Grad = ""                                              // gradients are recorded
		if c.Training.Optimizer != "" && c.Training.Loss == "" { // without an optimizer a program may do its own steps
			c.Training.Loss = DefaultLoss
		}
		d.checkInBackward(c, s)
	}
	if c.Program != nil {
		c.Program.settle()
		d.checkRanks(c.Program, s.ranks)
		c.Program.bind(c.Dims)
	}
	assign(&c.Source, m.settings.source)
	c.Artifact, c.Workspace = d.path(m.settings.artifact), d.path(&c.Workspace)
	c.ArtifactPos = m.settings.artifactAt
	level := verdict.LevelFail
	assign(&level, s.level)
	if s.inputs != nil {
		d.bindInputs(c, *s.inputs)
	}
	d.bindLengths(c, s)
	if s.assume != nil {
		d.bindAssume(c, *s.assume)
	}
	if s.device != nil {
		d.bindBudgets(c, s.budgets, level)
		d.bindBudgets(c, s.atLeast, level)
	}
	d.bindFits(c, s.fits)
	d.bindRegression(c, s.regression, level)
}

// bindFits gives a case the values at which it must fit; only dims that it has can be asked for.
func (d *document) bindFits(c *Case, fits []fitDecl) {
	for _, f := range fits {
		if !slices.ContainsFunc(c.Dims, func(own Dim) bool { return own.Name == f.name }) {
			d.errorf(f.node, "got fits: for the dim %s, want one of %s's: %s", f.name, c.Name, c.dimNames())
			continue
		}
		c.Fits = append(c.Fits, Fit{Dim: Dim{f.name, f.value}, Pos: d.at(f.node)})
	}
}

// fits reads the values of dims at which a case must fit.
func (r *reader) fits(e entry) []fitDecl {
	out := []fitDecl{}
	for _, f := range r.mapping(e.val, "a mapping of dims to numbers") {
		if v, ok := r.whole(f.val, 1); ok {
			out = append(out, fitDecl{f.name, v, f.key})
		}
	}
	return out
}

// assign is *dst = *src where src says something.
func assign[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

func (d *document) bindAssume(c *Case, decls []assumeDecl) {
	dims := c.Symbols()
	for _, a := range decls {
		if a.values != "" {
			c.Assume = append(c.Assume, Assumption{Line: a.line, Values: a.values, Pos: d.at(a.node)})
			continue
		}
		n, err := a.size.Eval(dims)
		switch {
		case err != nil:
			d.errorIn(a.node, a.size.Offset()+exprOffset(err), err)
		case n < 0:
			d.errorf(a.node, "got %d, want 0 or more", n)
		default:
			c.Assume = append(c.Assume, Assumption{Line: a.line, Size: n, Pos: d.at(a.node)})
		}
	}
}

// path is relative to the directory of memspec.yaml, unless it is absolute.
func (d *document) path(p *string) string {
	switch {
	case p == nil || *p == "":
		return ""
	case filepath.IsAbs(*p):
		return *p
	}
	return filepath.Join(d.dir, filepath.FromSlash(*p))
}
