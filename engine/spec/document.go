package spec

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/ops/custom"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/units"
)

// WorkspaceFile is the name of the workspace profile that is found beside a memspec.yaml by itself.
const WorkspaceFile = "memspec.workspace.json"

// BaselineFile is the name of the baseline that is found beside a memspec.yaml by itself.
const BaselineFile = "memspec.baseline.json"

// Load reads a memspec.yaml. Paths in it are relative to its directory. A case that names no
// workspace profile has the one that lies there.
func Load(path string) ([]Case, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return LoadAs(path, data)
}

// LoadAs is Load of a file that says something else: its text as it was, among the files that lie
// beside it now.
func LoadAs(path string, data []byte) ([]Case, error) {
	cases, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	workspace, baseline := beside(path, WorkspaceFile), beside(path, BaselineFile)
	for i := range cases {
		cases[i].Workspace = cmp.Or(cases[i].Workspace, workspace)
		cases[i].Baseline = baseline
	}
	return cases, nil
}

// beside is the file of a name in the folder of path, or "".
func beside(path, name string) string {
	file := filepath.Join(filepath.Dir(path), name)
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// read is a file's content, of a device without an end as much as says that it is too much.
func read(path string) ([]byte, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Parse reads a memspec.yaml that is already in memory. name stands in the errors, and its
// directory is the one that paths start from. The cases are in the order written. An error is of
// type Errors and has all that is wrong.
func Parse(name string, data []byte) ([]Case, error) {
	d := document{reader: newReader(name, data), dir: filepath.Dir(name), rules: map[string]keyRule{}}
	for _, k := range keyRules() {
		d.rules[k.name] = k
	}
	root := d.root(data)
	var cases []Case
	if root != nil {
		cases = d.top(root)
	}
	if len(d.errs) > 0 {
		return nil, d.errs.sorted()
	}
	return cases, nil
}

// document reads the file as a whole.
type document struct {
	*reader
	dir   string
	rules map[string]keyRule
	own   []device.Device
	names map[string]Pos // of cases
	count int
}

var topKeys = []string{"version", "defaults", "devices", "ops", "models"}

func (d *document) top(root *yaml.Node) []Case {
	part := map[string]entry{}
	for _, e := range d.mapping(root, "a mapping with version: and models:") {
		switch {
		case slices.Contains(topKeys, e.name):
			part[e.name] = e
		case strings.HasPrefix(e.name, "x-"): // for anchors, as in other tools' files
		case d.rules[e.name].in&inDefaults != 0:
			d.errorf(e.key, "got the key %q at the top, want it under defaults: or a model", e.name)
		default:
			d.errorf(e.key, "got the key %q, want one of %s%s", shorten(e.name), strings.Join(topKeys, ", "),
				didYouMean(e.name, topKeys))
		}
	}
	if len(d.errs) > 0 && root.Kind != yaml.MappingNode {
		return nil
	}
	d.checkVersion(root, part)
	if e, ok := part["devices"]; ok {
		d.devices(e)
	}
	var operators []custom.Operator
	if e, ok := part["ops"]; ok {
		operators = d.operators(e)
	}
	var defaults settings
	if e, ok := part["defaults"]; ok && !isNull(e.val) {
		defaults = d.layer(e.val, inDefaults, pathDefaults)
	}
	models, ok := part["models"]
	if !ok {
		d.errorf(root, "got no models:, want at least one model")
		return nil
	}
	cases := d.models(models, defaults)
	for i := range cases {
		cases[i].Operators = operators
	}
	return cases
}

func (d *document) checkVersion(root *yaml.Node, part map[string]entry) {
	e, ok := part["version"]
	if !ok {
		d.errorf(root, "got no version:, want version: %d", Version)
		return
	}
	if e.val.Kind != yaml.ScalarNode || e.val.Value != fmt.Sprint(Version) {
		d.errorf(e.val, "got version %s, want %d", strings.Trim(kindName(e.val), `"`), Version)
	}
}

func (d *document) models(models entry, defaults settings) []Case {
	es := d.mapping(models.val, "a mapping of models")
	if len(es) == 0 && models.val.Kind == yaml.MappingNode {
		d.errorf(models.val, "got no model under models:, want at least one")
	}
	d.names = map[string]Pos{}
	var out []Case
	for _, e := range es {
		if strings.TrimSpace(e.name) == "" {
			d.errorf(e.key, "got an empty name of a model")
			continue
		}
		if strings.ContainsFunc(e.name, unprintable) {
			d.errorf(e.key, "got %q, want a name on one line, of printable letters", shorten(e.name))
			continue
		}
		out = append(out, d.model(e, defaults)...)
	}
	return out
}

// model reads one model and makes its cases. One without cases: is one case, or one for each
// combination of its lists of dims.
func (d *document) model(e entry, defaults settings) []Case {
	path := "models." + e.name
	own := d.layer(e.val, inModel, path)
	if e.val.Kind != yaml.MappingNode {
		return nil
	}
	base := own.over(defaults)
	m := modelDecl{name: e.name, pos: d.at(e.key), settings: base}
	key, program := own.isProgram()
	if own.artifact == nil && own.source == nil && !program && !hasKeyIn(e.val, modelKeys...) {
		d.errorf(e.key, "got the model %s without artifact:, source:, program: or serve:, want one", e.name)
	}
	if own.cases == nil {
		s := settings{}.over(base)
		out := d.cases(m, s)
		d.unusedModelDims(base.dims, []settings{s}, key)
		return out
	}
	var out []Case
	var said []settings
	items := d.list(own.cases, "a list of cases")
	if len(items) == 0 && own.cases.Kind == yaml.SequenceNode {
		d.errorf(own.cases, "got no case under cases:, want at least one, or no cases: at all")
	}
	for i, n := range items {
		casePath := fmt.Sprintf("%s.cases[%d]", path, i)
		c := m
		c.pos = d.at(n)
		own := d.layer(n, inCase, casePath)
		c.label = own.programLabel()
		if n.Kind == yaml.MappingNode {
			s := own.over(base)
			said = append(said, s)
			out = append(out, d.cases(c, s)...)
		}
	}
	d.unusedModelDims(base.dims, said, key)
	return out
}

// hasKeyIn says whether a key was written, even if what it holds is wrong: then that was said
// already.
func hasKeyIn(n *yaml.Node, keys ...string) bool {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if slices.Contains(keys, n.Content[i].Value) {
			return true
		}
	}
	return false
}

// devices reads the user's own devices. One with the name of a built-in row starts from that row.
func (d *document) devices(e entry) {
	for _, dev := range d.mapping(e.val, "a mapping of names to devices") {
		if dev.name == "" || strings.ToLower(dev.name) != dev.name || strings.ContainsAny(dev.name, " \t\n") {
			d.errorf(dev.key, "got %q, want the name of a device: lower case, without spaces", shorten(dev.name))
			continue
		}
		if got, ok := d.ownDevice(dev); ok {
			d.own = append(d.own, got)
		}
	}
}

var deviceKeys = []string{"memory", "compute_capability", "sms", "context"}

func (d *document) ownDevice(e entry) (device.Device, bool) {
	before := len(d.errs)
	row, err := device.Lookup(e.name)
	builtin := err == nil && row.Kind == device.CUDA
	if err == nil && row.Kind == device.None {
		d.errorf(e.key, "got a device of the name none, want another: none is built in")
		return row, false
	}
	row.Name, row.Aliases = e.name, nil
	row.Source = d.at(e.key).String()
	es := d.mapping(e.val, "a mapping of "+strings.Join(deviceKeys, ", "))
	for _, k := range es {
		switch k.name {
		case "memory":
			row.Memory, row.MemoryFrom = d.size(k.val, 1), device.Given
		case "compute_capability":
			row.ComputeCapability = d.capability(k.val)
		case "sms":
			n, _ := d.whole(k.val, 1)
			row.SMs = int(min(n, 1<<20))
		case "context":
			row.Context, row.ContextKnown, row.ContextRange = d.size(k.val, 0), true, nil
		default:
			d.errorf(k.key, "got the key %q, want one of a device: %s%s", shorten(k.name), strings.Join(deviceKeys, ", "),
				didYouMean(k.name, deviceKeys))
		}
	}
	for _, need := range deviceKeys[:3] {
		if !builtin && len(d.errs) == before && !hasKey(es, need) {
			d.errorf(e.key, "got the device %s without %s:, want memory:, compute_capability: and sms:", e.name, need)
		}
	}
	return row, len(d.errs) == before
}

func (d *document) capability(n *yaml.Node) device.Capability {
	var c device.Capability
	var rest string
	if n.Kind == yaml.ScalarNode && len(n.Value) <= 5 {
		if k, _ := fmt.Sscanf(n.Value+" ", "%d.%d%1s", &c.Major, &c.Minor, &rest); k == 2 && c.String() == n.Value &&
			c.Major > 0 {
			return c
		}
	}
	d.errorf(n, "got %s, want a compute capability such as 8.6", kindName(n))
	return device.Capability{}
}

// size reads a size without dims, of at least least bytes.
func (r *reader) size(n *yaml.Node, least units.Bytes) units.Bytes {
	s, ok := r.text(n, "a size such as 8GiB")
	if !ok {
		return 0
	}
	e, err := ParseExpr(s)
	var v int64
	if err == nil {
		v, err = e.Eval(nil)
	}
	switch {
	case err != nil:
		r.errorIn(n, exprOffset(err), err)
	case units.Bytes(v) < least:
		r.errorf(n, "got %s, want at least %d B", shorten(s), int64(least))
	}
	return units.Bytes(v)
}

// deviceList is device: as written: one name, or a list that makes a case each.
type deviceList struct {
	of   []*device.Device
	list bool
}

// deviceOrList reads device:; nil where it is wrong.
func (d *document) deviceOrList(e entry) *deviceList {
	if e.val.Kind != yaml.SequenceNode {
		if one := d.device(e.val); one != nil {
			return &deviceList{of: []*device.Device{one}}
		}
		return nil
	}
	out := &deviceList{list: true}
	if len(e.val.Content) == 0 {
		d.errorf(e.val, "got an empty list of devices, want names")
	}
	for _, n := range d.list(e.val, "names of devices") {
		one := d.device(n)
		switch {
		case one == nil:
		case slices.ContainsFunc(out.of, func(other *device.Device) bool { return other.Name == one.Name }):
			d.errorf(n, "got the device %s twice, want it once", one.Name)
		default:
			out.of = append(out.of, one)
		}
	}
	if len(out.of) == 0 {
		return nil
	}
	return out
}

// device looks a name up among the user's own devices, then in the table.
func (d *document) device(n *yaml.Node) *device.Device {
	s, ok := d.text(n, "the name of a device")
	if !ok {
		return nil
	}
	for i := range d.own {
		if d.own[i].Name == s {
			return &d.own[i]
		}
	}
	row, err := device.Lookup(s)
	if err == nil {
		return &row
	}
	var own []string
	for i := range d.own {
		own = append(own, d.own[i].Name)
	}
	if near := Nearest(s, own); near != "" {
		d.errorf(n, "got device %q, want a known device: did you mean %q?", shorten(s), near)
	} else {
		d.errorf(n, "%s", err)
	}
	return nil
}
