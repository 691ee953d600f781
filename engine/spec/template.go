package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/verdict"
)

// template is what a case of a memspec.yaml was made from, so that it can be made with other dims
// or on another device.
type template struct {
	document *document
	model    modelDecl
	settings settings
	naming   naming
}

// With is the case with other values for some of its dims: its inputs, its budgets and what it
// assumes are worked out anew. A case that was written in Go has no dims to work out.
func (c *Case) With(dims ...Dim) (Case, error) {
	for _, d := range dims {
		if !slices.ContainsFunc(c.Dims, func(own Dim) bool { return own.Name == d.Name }) {
			return Case{}, fmt.Errorf("%s: got the dim %q, want one of the case's: %s", c.Name, d.Name, c.dimNames())
		}
	}
	for _, d := range dims {
		if _, ok := c.Lengths[d.Name]; ok {
			return Case{}, fmt.Errorf("%s: got another value of %s, which has lengths:, want a dim without", c.Name, d.Name)
		}
	}
	if c.made == nil {
		return Case{}, fmt.Errorf("%s: got a case that is bound to its inputs, want one of a memspec.yaml", c.Name)
	}
	return c.again(c.made.settings, dims)
}

// WithLines is the case as it would be with further lines of YAML in it, such as "accumulate: 2":
// the keys of a case, which count before those that memspec.yaml has. Its name stays as it is.
func (c *Case) WithLines(lines ...string) (Case, error) {
	if c.made == nil {
		return Case{}, fmt.Errorf("%s: got lines for a case that was written in Go, want one of a memspec.yaml", c.Name)
	}
	d := *c.made.document
	data := []byte(strings.Join(lines, "\n"))
	d.reader = newReader(verdict.Added, data)
	root := d.root(data)
	markAdded(root)
	if len(d.errs) > 0 {
		return Case{}, d.errs.sorted()
	}
	lower := c.made.settings
	own := d.layer(root, inCase, pathSet)
	dims := d.valuesOf(own.dims)
	if own.name != nil {
		d.errorf(root, "got name:, want keys that change what the case does")
	}
	if own.devices != nil && own.devices.list {
		d.errorf(root, "got a list of devices, want one")
	}
	if len(d.errs) > 0 {
		return Case{}, d.errs.sorted()
	}
	s := own.over(lower)
	s.name, s.dims, s.device = lower.name, lower.dims, lower.device
	if own.devices != nil {
		s.device = own.devices.of[0]
	}
	if _, err := c.With(dims...); err != nil {
		return Case{}, err
	}
	return c.again(s, dims)
}

// valuesOf are dims that have one value each.
func (d *document) valuesOf(decls []dimDecl) []Dim {
	var out []Dim
	for _, decl := range decls {
		if decl.list {
			d.errorf(decl.key, "got a list for the dim %s, want a number", decl.name)
		} else if len(decl.values) == 1 {
			out = append(out, Dim{decl.name, decl.values[0]})
		}
	}
	return out
}

// FromFile says whether the case was read from a memspec.yaml, where a key that is not written
// states nothing; of a case that was written in Go a field that is not set states nothing.
func (c *Case) FromFile() bool { return c.made != nil }

// States says whether a key was written for the case, in defaults:, its model or itself; "flags
// tf32" is one of the flags. A case that was written in Go states what its fields hold.
func (c *Case) States(key string) bool {
	if c.made == nil {
		return true
	}
	_, written := c.made.settings.sets[key]
	return written
}

// StatesHere is States without defaults:.
func (c *Case) StatesHere(key string) bool {
	return c.made == nil || slices.ContainsFunc(c.made.settings.written, func(e entry) bool { return e.name == key })
}

// InMode is the case in another mode, with what its memspec.yaml says of that mode.
func (c *Case) InMode(mode Mode) (Case, error) {
	out := *c
	if out.Mode = mode; c.Mode == mode || c.made == nil {
		return out, nil
	}
	s := c.made.settings
	s.sets = maps.Clone(s.sets)
	s.set("mode", func(c *Case) { c.Mode = mode })
	as, err := c.again(s, nil)
	out.Training, out.Grad = as.Training, as.Grad
	return out, err
}

// On is the case on another device. Its name says so where the names of the model's cases have
// their device.
func (c *Case) On(d device.Device) (Case, error) {
	if c.made == nil {
		out := *c
		out.Platform.Device = d
		return out, out.Platform.Check()
	}
	s := c.made.settings
	s.device = &d
	out, err := c.again(s, nil)
	if out.written == "" && d.Name != c.Platform.Device.Name {
		out.written = c.Name
	}
	out.Name = c.made.naming.of(c.Dims, &d)
	return out, err
}

// OnNamed is the case on the device of that name: one of devices: of its memspec.yaml, or a row.
func (c *Case) OnNamed(name string) (Case, error) {
	if c.made != nil {
		for _, own := range c.made.document.own {
			if own.Name == name {
				return c.On(own)
			}
		}
	}
	row, err := device.Lookup(name)
	if err != nil {
		return Case{}, err
	}
	return c.On(row)
}

// Written is the case's name in memspec.yaml, and the device that On put it on; "" where it is on
// that of memspec.yaml.
func (c *Case) Written() (name, elsewhere string) {
	if c.written == "" {
		return c.Name, ""
	}
	return c.written, c.Platform.Device.Name
}

func (c *Case) again(s settings, dims []Dim) (Case, error) {
	d := *c.made.document
	r := *d.reader
	r.errs, d.reader = nil, &r
	out := Case{Name: c.Name, Model: c.Model, Rank: c.Rank, Dir: c.Dir, Pos: c.Pos, Dims: slices.Clone(c.Dims),
		written: c.written,
		made:    &template{c.made.document, c.made.model, s, c.made.naming}}
	for i := range out.Dims {
		if k := slices.IndexFunc(dims, func(d Dim) bool { return d.Name == out.Dims[i].Name }); k >= 0 {
			out.Dims[i].Value = dims[k].Value
		}
	}
	d.build(&out, c.made.model, s)
	if len(r.errs) > 0 {
		return Case{}, r.errs.sorted()
	}
	out.Workspace, out.Platform.Workspace = c.Workspace, c.Platform.Workspace
	out.Operators, out.Judge = c.Operators, c.Judge
	out.Regression = nil // what it took before was with other dims, on another device
	return out, nil
}

func (c *Case) dimNames() string {
	if len(c.Dims) == 0 {
		return "it has none"
	}
	var names []string
	for _, d := range c.Dims {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
