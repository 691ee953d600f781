package torchscript

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
	"github.com/memspec/memspec/engine/internal/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestPrograms runs programs in both runtimes and prints what they give and what they allocate and free in the first pass, with the operator of each
// birth. A case of the golden file is a line with two sharps and the reason, lines that begin with @ (an input, in the grammar of --input, or an attribute of
// the root with its value), the code of the archive, and what comes of it behind an arrow. Code that begins with def is the root's class.
func TestPrograms(t *testing.T) {
	const file = "testdata/programs.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, body, _ := strings.Cut(c, "\n")
		before, _, _ := strings.Cut(body, "=>\n")
		fmt.Fprintf(&out, "## %s\n%s=>\n", why, before)
		p := readProgram(t, before)
		eager, inlined := p.run(t, exec.PythonFrame), p.run(t, exec.LastUse)
		if eager == inlined {
			fmt.Fprintf(&out, "%s\n", eager)
		} else {
			fmt.Fprintf(&out, "eager:\n%storchscript:\n%s\n", eager, inlined)
		}
	}
	if golden.Updating() {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
		return
	}
	require.Equal(t, string(data), out.String(), "MEMSPEC_UPDATE=1 go test ./engine/exec/torchscript")
}

// source is a program as text.
type source struct {
	code   string
	attrs  []string // name = value
	inputs []exec.Input
}

func readProgram(t *testing.T, text string) *source {
	t.Helper()
	p := &source{}
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
		in, err := spec.ParseInput(rest)
		require.NoError(t, err, rest)
		in, err = in.Bind(nil)
		require.NoError(t, err, rest)
		p.inputs = append(p.inputs, exec.Input{Name: in.Name, Value: inputValue(t, in.Value)})
	}
	if strings.HasPrefix(p.code, "def ") {
		var b strings.Builder
		b.WriteString("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n")
		for _, a := range p.attrs {
			name, _, _ := strings.Cut(a, " =")
			fmt.Fprintf(&b, "  %s\n", name)
		}
		for l := range strings.Lines(p.code) {
			b.WriteString("  " + l)
		}
		p.code = b.String()
	}
	return p
}

func inputValue(t *testing.T, v spec.Value) any {
	switch v := v.(type) {
	case spec.Tensor:
		sizes, err := v.Sizes()
		require.NoError(t, err)
		return tensor.Meta{DType: v.DType, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: exec.Accelerator}
	case spec.List:
		var out []exec.Input
		for _, x := range v {
			out = append(out, exec.Input{Value: inputValue(t, x)})
		}
		return out
	case spec.Int:
		return int64(v)
	case spec.Float:
		return float64(v)
	case spec.Bool:
		return bool(v)
	case spec.Str:
		return string(v)
	}
	return nil
}

// watched records what forward returned first.
type watched struct {
	exec.Driver
	result *string
}

func (w watched) Forward(args []any) (any, error) {
	v, err := w.Driver.Forward(args)
	if err == nil && *w.result == "" {
		*w.result = shown(v, 0)
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
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."), "code/__torch__.py": file(p.code),
		"data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(" + attrs.String() + "ub."), "data/0": file("\x02\x00\x00\x00\x00\x00\x00\x00"), "data/1": file("\x00\x00\x00\x00\x00\x00\x00\x00")})
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	result := ""
	start := New(a.Program)
	r, err := exec.Run(context.Background(), func(m *exec.Machine) (exec.Driver, error) {
		driver, err := start(m)
		return watched{driver, &result}, err
	}, builtin.Table(), exec.Options{Inputs: p.inputs, DType: tensor.Undefined, Liveness: l, Platform: &none, MaxDepth: 6})
	var out strings.Builder
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
		var eval *exec.EvalError
		if errors.As(err, &eval) {
			out.WriteString(eval.Backtrace())
		}
		return out.String()
	}
	fmt.Fprintf(&out, "%s\n", result)
	if r.Trace == nil {
		return out.String()
	}
	out.WriteString(events(r.Trace))
	for _, n := range r.Trace.Notes {
		fmt.Fprintf(&out, "note %s %s %d\n", n.ID, n.Subject, r.Trace.Site(n.Site).Line)
	}
	for _, u := range r.Trace.Coverage.Unsupported {
		fmt.Fprintf(&out, "missing %s: %s %s, %d times\n", u.Op, u.Reason, u.Detail, u.Count)
	}
	return out.String()
}

// events are those of the first pass; storages are numbered as they are born.
func events(tr *trace.Trace) string {
	number := map[tensor.StorageID]int{}
	var out []string
	for _, e := range tr.Events {
		if e.Pass != 1 {
			continue
		}
		if e.Action == trace.Alloc {
			number[e.Storage] = len(number)
			site := tr.Site(e.Site)
			op := strings.TrimPrefix(site.Op, "aten::")
			if site.Module != "" {
				op = site.Module + " " + op
			}
			out = append(out, fmt.Sprintf("+%d:%s@%d", number[e.Storage], op, site.Line))
		} else if k, ok := number[e.Storage]; ok {
			out = append(out, fmt.Sprintf("-%d", k))
		} else {
			out = append(out, "-input")
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " ") + "\n"
}

// pickled is a Python literal as a pickle has it: None, bools, numbers, text, lists, tuples, tensor (a number on the CPU that is 2), and objects of a class,
// S(name=value).
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
		return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nLongStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ" +
			"K\x00))\x89ccollections\nOrderedDict\n)RtR"
	case s == "vector": // of two floats, on the accelerator
		return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x001X\x06\x00\x00\x00cuda:0K\x02tQ" +
			"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
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
		if name, ok := strings.CutSuffix(class, "!"); ok { // with a state of its own
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

// shown writes a value.
func shown(v any, depth int) string {
	if depth > 6 {
		return "…"
	}
	items := func(vs []any) string {
		out := make([]string, len(vs))
		for i, v := range vs {
			out[i] = shown(v, depth+1)
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
			out[i] = shown(v.Keys[i], depth+1) + ": " + shown(v.Values[i], depth+1)
		}
		return "{" + strings.Join(out, ", ") + "}"
	case *Object:
		return v.Class.Name + "(" + items(v.attrs) + ")"
	case Enum:
		return v.Class.Name + "." + v.Name
	case ops.Unbacked:
		return fmt.Sprintf("?%v", v.Kind)
	}
	return fmt.Sprint(v)
}
