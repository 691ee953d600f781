package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Programs runs TorchScript programs as a golden file has them, in both runtimes, and prints what
// they give and what they allocate and free, with the operator, line and bytes of each birth; the
// second pass where it does something else than the first. A case is a line with two sharps and the
// reason, lines that begin with @, the code of the archive, and what comes of it behind an arrow.
// Code that begins with def is of the root's class. The lines are
//
//	@float32[4]            an input, in the grammar of --input
//	@self.n : int = 3      an attribute of the root, and its value; a matrix is a parameter
//	@device a10g           what it runs on, with its settings: @torch 2.4, @autocast float16, @benchmark
//	@lower                 data-dependent sizes at their lower end
//	@assume 7 = 3          what the case states of a line
//	@steps 100             the most nodes that may run
type Programs struct {
	File  string
	Start func(p *program.Program) exec.Start
	Show  func(v any) string // of values that only the driver knows; nil where it has none
}

// Run runs every case.
func (p Programs) Run(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(p.File)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, body, _ := strings.Cut(c, "\n")
		before, _, _ := strings.Cut(body, "=>\n")
		fmt.Fprintf(&out, "## %s\n%s=>\n", why, before)
		s := p.read(t, before)
		eager, inlined := s.run(t, exec.PythonFrame), s.run(t, exec.LastUse)
		if eager == inlined {
			fmt.Fprintf(&out, "%s\n", eager)
		} else {
			fmt.Fprintf(&out, "eager:\n%storchscript:\n%s\n", eager, inlined)
		}
	}
	golden.File(t, p.File, out.String())
}

// source is a program as text.
type source struct {
	Programs
	code    string
	attrs   []string // name = value
	options exec.Options
	device  string
	torch   string // "" for the newest
	set     func(p *platform.Platform)
	table   *ops.Table // nil for every rule
	err     error      // of the last run
	ways    int        // of the last run: how often it was begun
}

func (ps Programs) read(t *testing.T, text string) *source {
	t.Helper()
	p := &source{Programs: ps, device: "none", set: func(*platform.Platform) {},
		options: exec.Options{DType: tensor.Undefined, MaxDepth: 6}}
	for l := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(l, "@")
		if !ok {
			p.code += l
			continue
		}
		rest = strings.TrimSpace(rest)
		if attr, ok := strings.CutPrefix(rest, "self."); ok {
			p.attrs = append(p.attrs, attr)
			continue
		}
		if p.setting(t, rest) {
			continue
		}
		in, err := spec.ParseInput(rest)
		require.NoError(t, err, rest)
		in, err = in.Bind(nil)
		require.NoError(t, err, rest)
		p.options.Inputs = append(p.options.Inputs, exec.Input{Name: in.Name, Value: inputOf(t, in.Value)})
	}
	if strings.HasPrefix(p.code, "def ") {
		var b strings.Builder
		parameters, declared := "", ""
		for _, a := range p.attrs {
			name, value, _ := strings.Cut(a, " = ")
			declared += "  " + name + "\n"
			if value == "matrix" {
				name, _, _ = strings.Cut(name, " ")
				parameters += strconv.Quote(name) + ", "
			}
		}
		fmt.Fprintf(&b, "class M(Module):\n  __parameters__ = [%s]\n  __buffers__ = []\n%s", parameters, declared)
		for l := range strings.Lines(p.code) {
			b.WriteString("  " + l)
		}
		p.code = b.String()
	}
	return p
}

// setting reads a line that is one.
func (p *source) setting(t *testing.T, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	was := p.set
	switch word {
	case "device":
		p.device = rest
	case "autocast":
		p.set = func(to *platform.Platform) { was(to); to.Autocast = rest }
	case "benchmark":
		p.set = func(to *platform.Platform) { was(to); to.Benchmark = true }
	case "torch":
		p.torch = rest
	case "lower":
		p.options.Lower = true
	case "assume":
		at, n, _ := strings.Cut(rest, " = ")
		v, err := strconv.ParseInt(n, 10, 64)
		require.NoError(t, err)
		if p.options.Assume == nil {
			p.options.Assume = map[string]int64{}
		}
		p.options.Assume["code/__torch__.py:"+at] = v
	case "steps":
		n, err := strconv.Atoi(rest)
		require.NoError(t, err)
		p.options.MaxSteps = n
	default:
		return false
	}
	return true
}

// watched records what forward returned first.
type watched struct {
	exec.Driver
	result *string
	show   func(v any) string
}

func (w watched) Forward(args []any) (any, error) {
	v, err := w.Driver.Forward(args)
	if err == nil && *w.result == "" {
		*w.result = w.shown(v, 0)
	}
	return v, err
}

func (p *source) run(t *testing.T, l exec.Liveness) string {
	t.Helper()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	var attrs strings.Builder
	for _, a := range p.attrs {
		name, value, _ := strings.Cut(a, " = ")
		name, _, _ = strings.Cut(name, " :")
		attrs.WriteString(pickled(t, strconv.Quote(name)) + pickled(t, value))
	}
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
		"code/__torch__.py": file(p.code),
		"data.pkl":          file("\x80\x02c__torch__\nM\n)\x81}(" + attrs.String() + "ub."),
		"data/0":            file("\x02\x00\x00\x00\x00\x00\x00\x00"), "data/1": file(strings.Repeat("\x00", 4*144))})
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	d, err := device.Lookup(p.device)
	require.NoError(t, err)
	release := platform.Newest()
	if p.torch != "" {
		release, err = platform.ParseVersion(p.torch)
		require.NoError(t, err)
	}
	on, err := platform.New(d, release)
	require.NoError(t, err)
	p.set(&on)
	o := p.options
	o.Platform, o.Liveness = &on, l
	result, ways := "", 0
	start := p.Start(a.Program)
	table := p.table
	if table == nil {
		table = builtin.Table()
	}
	r, err := exec.Run(context.Background(), func(m *exec.Machine) (exec.Driver, error) {
		driver, err := start(m)
		ways++
		return watched{driver, &result, p.Show}, err
	}, table, o)
	p.err, p.ways = err, ways
	var out strings.Builder
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
		var eval *exec.EvalError
		if errors.As(err, &eval) {
			out.WriteString(eval.Backtrace())
		}
		return out.String()
	}
	if ways > 1 {
		result = fmt.Sprintf("%d ways", ways)
	}
	fmt.Fprintf(&out, "%s\n%s", result, Events(r.Trace, 1))
	again := Events(r.Trace, 2) // releases the first pass's results, and does the same
	for strings.HasPrefix(again, "-before") {
		again = strings.TrimLeft(strings.TrimPrefix(again, "-before"), " \n")
	}
	if again != Events(r.Trace, 1) {
		fmt.Fprintf(&out, "again: %s\n", strings.TrimSpace(Events(r.Trace, 2)))
	}
	for _, n := range r.Trace.Notes {
		fmt.Fprintf(&out, "note %s %s %d\n", n.ID, n.Subject, r.Trace.Site(n.Site).Line)
	}
	for _, u := range r.Trace.Upper {
		fmt.Fprintf(&out, "at most %d: storage %d\n", u.Bytes, u.Storage)
	}
	for _, c := range r.Calls {
		fmt.Fprintf(&out, "asked %s\n", c.Call.Key())
	}
	if c := r.Trace.Coverage; c.Sized < c.TensorOutputs {
		fmt.Fprintf(&out, "%d of %d tensors sized, %d of known dtype\n", c.Sized, c.TensorOutputs, c.KnownDType)
	}
	for _, u := range r.Trace.Coverage.Unsupported {
		fmt.Fprintf(&out, "missing %s: %s %s, %d times\n", u.Op, u.Reason, u.Detail, u.Count)
	}
	return out.String()
}

// manyEvents is how many of a pass are written.
const manyEvents = 60

// Events are those of a pass; storages are numbered as they are born.
func Events(tr *trace.Trace, pass int) string {
	number := map[tensor.StorageID]int{}
	var out []string
	for _, e := range tr.Events {
		if e.Pass != pass {
			continue
		}
		if e.Action == trace.EmptyCache {
			out = append(out, "empty cache")
		} else if e.Action == trace.Alloc {
			number[e.Storage] = len(number)
			site := tr.Site(e.Site)
			op := strings.TrimPrefix(site.Op, "aten::")
			if site.Module != "" {
				op = site.Module + " " + op
			}
			if site.Category == tensor.Workspace {
				op += " workspace"
			}
			out = append(out, fmt.Sprintf("+%d:%s@%d=%d", number[e.Storage], op, site.Line, e.Bytes))
		} else if k, ok := number[e.Storage]; ok {
			out = append(out, fmt.Sprintf("-%d", k))
		} else {
			out = append(out, "-before")
		}
	}
	if len(out) == 0 {
		return ""
	}
	if n := len(out) - manyEvents; n > 0 {
		out = append(out[:manyEvents], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, " ") + "\n"
}

// pickled is a Python literal as a pickle has it: None, bools, numbers, text, lists, tuples, tensor
// (a number on the CPU that is 2), other tensors by name, and objects of a class, S(name=value).
func pickled(t *testing.T, s string) string {
	s = strings.TrimSpace(s)
	items := func(s string) (out string) {
		depth, from := 0, 0
		for i, c := range s {
			switch c {
			case '[', '(', '{':
				depth++
			case ']', ')', '}':
				depth--
			case ',':
				if depth == 0 {
					out += pickled(t, s[from:i])
					from = i + 1
				}
			}
		}
		if rest := strings.TrimSpace(s[from:]); rest != "" {
			out += pickled(t, rest)
		}
		return out
	}
	text := func(s string) string {
		return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	switch {
	case s == "None":
		return "N"
	case s == "True":
		return "\x88"
	case s == "False":
		return "\x89"
	case s == "tensor":
		return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nLongStorage\n" +
			"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ" +
			"K\x00))\x89ccollections\nOrderedDict\n)RtR"
	case s == "vector": // of two floats, on the accelerator
		return floats("K\x02\x85K\x01\x85", 2)
	case s == "matrix": // of four by four, which requires a gradient
		return strings.Replace(floats("K\x04K\x04\x86K\x04K\x01\x86", 16), "\x89c", "\x88c", 1)
	case s == "kernel": // of a convolution, four to four
		return floats("(K\x04K\x04K\x03K\x03t(K\x24K\x09K\x03K\x01t", 144)
	case s[0] == '"' || s[0] == '\'':
		return text(s[1 : len(s)-1])
	case s[0] == '[':
		return "](" + items(s[1:len(s)-1]) + "e"
	case s[0] == '(':
		return "(" + items(s[1:len(s)-1]) + "t"
	case s[0] == '{':
		return "}(" + items(strings.ReplaceAll(s[1:len(s)-1], ":", ",")) + "u"
	case strings.HasSuffix(s, ")"):
		class, args, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
		if name, ok := strings.CutSuffix(class, "!"); ok { // with a separate state
			return "c__torch__\n" + name + "\n)\x81(" + items(args) + "tb"
		}
		state := ""
		for _, a := range strings.Split(args, ", ") {
			if name, v, ok := strings.Cut(a, "="); ok {
				state += text(name) + pickled(t, v)
			}
		}
		return "c__torch__\n" + class + "\n)\x81}(" + state + "ub"
	}
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(int32(n))))
	}
	f, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err, s)
	return "G" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
}

// floats is a tensor of n floats on the accelerator, its sizes and strides pickled.
func floats(layout string, n byte) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n" +
		"X\x01\x00\x00\x001X\x06\x00\x00\x00cuda:0K" + string([]byte{n}) + "tQ" +
		"K\x00" + layout + "\x89ccollections\nOrderedDict\n)RtR"
}

// shown writes a value.
func (w watched) shown(v any, depth int) string {
	if depth > 6 {
		return "…"
	}
	items := func(vs []any) string {
		out := make([]string, len(vs))
		for i, v := range vs {
			out[i] = w.shown(v, depth+1)
		}
		return strings.Join(out, ", ")
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) + "f"
	case string:
		return strconv.Quote(v)
	case *tensor.Tensor:
		s := fmt.Sprintf("%s%v", v.DType, v.Sizes)
		if v.Device != exec.Accelerator {
			s += " on " + v.Device
		}
		return s
	case *ops.List:
		return fmt.Sprintf("%v[%s]", v.Elem, items(v.Items))
	case *ops.Tuple:
		if v.Class != "" {
			return fmt.Sprintf("%s%v(%s)", v.Class, v.Names, items(v.Items))
		}
		return "(" + items(v.Items) + ")"
	case *ops.Dict:
		out := make([]string, len(v.Keys))
		for i := range v.Keys {
			out[i] = w.shown(v.Keys[i], depth+1) + ": " + w.shown(v.Values[i], depth+1)
		}
		return "{" + strings.Join(out, ", ") + "}"
	case ops.Unbacked:
		return fmt.Sprintf("?%v", v.Kind)
	}
	if w.show != nil {
		return w.show(v)
	}
	return fmt.Sprint(v)
}
