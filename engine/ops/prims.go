package ops

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func trueHost(*Call) (any, error)  { return true, nil }
func falseHost(*Call) (any, error) { return false, nil }
func noneHost(*Call) (any, error)  { return nil, nil }
func zeroHost(*Call) (any, error)  { return int64(0), nil }
func recordFunction(*Call) (any, error) {
	return &Packed{Class: "profiler._RecordFunction"}, nil
}
func sameHost(c *Call) (any, error) {
	if c.Args[0] == nil && c.Schema.Name == "aten::_unwrap_optional" {
		return nil, c.Errorf("got None, want a value")
	}
	return c.Args[0], nil
}
func gradMode(c *Call) (any, error)  { return c.M.GradMode(), nil }
func dimHost(c *Call) (any, error)   { return int64(len(c.T("self").Sizes)), nil }
func numelHost(c *Call) (any, error) { return c.T("self").Numel(), nil }
func offsetHost(c *Call) (any, error) {
	return c.T("self").StorageOffset, nil
}

// isHost is Python's `is` (want) and `is not`; exec decides it for objects.
func isHost(want bool) func(*Call) (any, error) {
	return func(c *Call) (any, error) { return (c.Args[0] == c.Args[1]) == want, nil }
}

// unknownBool is a question about tensor data.
func unknownBool(c *Call) (any, error) { return Unknown{Op: c.Schema.Key(), Kind: schema.Bool}, nil }

// itemHost is the value of a one-element tensor.
func itemHost(c *Call) (any, error) {
	t := c.Args[0].(*tensor.Tensor)
	if t.Numel() != 1 {
		return nil, c.Errorf("got a tensor of %d elements, want one", t.Numel())
	}
	return Item(t, tensor.Undefined), nil
}

// known is Args[0] as a number: of a tensor its element.
func (c *Call) known() (any, error) {
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		if t.Numel() != 1 {
			return nil, c.Errorf("got a tensor of %d elements, want one", t.Numel())
		}
		return Item(t, tensor.Undefined), nil
	}
	return c.Args[0], nil
}

func toInt(c *Call) (any, error) {
	v, err := c.known()
	if err != nil || !IsKnown(v) {
		return v, err
	}
	if s, ok := v.(string); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, c.Errorf("got %q, want an int", s)
		}
		return n, nil
	}
	n, _ := asInt(v)
	return n, nil
}

func toFloatHost(c *Call) (any, error) {
	v, err := c.known()
	if err != nil || !IsKnown(v) {
		return v, err
	}
	if s, ok := v.(string); ok {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, c.Errorf("got %q, want a float", s)
		}
		return f, nil
	}
	return toFloat(v), nil
}

func toBool(c *Call) (any, error) {
	v, err := c.known()
	if err != nil || !IsKnown(v) {
		return v, err
	}
	return truth(v), nil
}

func notHost(c *Call) (any, error) { return !c.Bool("self"), nil }

func deriveIndex(c *Call) (any, error) {
	step, err := mulNum(c.Int("index"), c.Int("step"))
	if err != nil {
		return nil, c.Errorf("%v", err)
	}
	return addIntOr(c, c.Int("start"), step)
}

func addIntOr(c *Call, a, b int64) (any, error) {
	n, err := addNum(a, b)
	if err != nil {
		return nil, c.Errorf("%v", err)
	}
	return n, nil
}

func rangeLength(c *Call) (any, error) {
	lo, hi, step := c.Int("lo"), c.Int("hi"), c.Int("step")
	switch {
	case step == 0:
		return nil, c.Errorf("got step 0, want another")
	case step > 0 && lo < hi:
		return 1 + (hi-1-lo)/step, nil
	case step < 0 && lo > hi:
		return 1 + (lo-1-hi)/(-step), nil
	}
	return int64(0), nil
}

func deviceOf(c *Call) (any, error) { return Device(c.T("a").Device), nil }
func dtypeOf(c *Call) (any, error)  { return int64(c.T("a").DType), nil }

func isDevice(kind string) func(*Call) (any, error) {
	return func(c *Call) (any, error) { return Device(c.T("a").Device).Kind() == kind, nil }
}

func isQuantized(c *Call) (any, error) { return c.T("a").DType.Quantized(), nil }

func deviceType(c *Call) (any, error) {
	d, _ := c.Args[0].(Device)
	return d.Kind(), nil
}

func deviceIndex(c *Call) (any, error) {
	d, _ := c.Args[0].(Device)
	if n, err := strconv.ParseInt(indexOf(d), 10, 64); err == nil && d.Kind() != "cpu" {
		return n, nil
	}
	return nil, nil
}

func makeDevice(c *Call) (any, error) {
	s, _ := c.Args[0].(string)
	if kind := Device(s).Kind(); kind == "" || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil, c.Errorf("got device %q, want cpu, cuda, cuda:0 or the like", s)
	}
	if len(c.Args) > 1 {
		return Device(s + ":" + strconv.FormatInt(c.Int("index"), 10)), nil
	}
	return Device(s), nil
}

func itemsizeOf(c *Call) (any, error) { return c.Args[0].(*tensor.Tensor).DType.ItemSize(), nil }
func nbytesOf(c *Call) (any, error)   { return int64(c.Args[0].(*tensor.Tensor).NBytes()), nil }

func (c *Call) ints(ns []int64) *List {
	items := make([]any, len(ns))
	for i, n := range ns {
		items[i] = n
	}
	return c.List(schema.Int, items...)
}

// ofDim is ns[dim], or all of ns where the overload has no dim.
func ofDim(c *Call, ns []int64) (any, error) {
	if c.Schema.ArgIndex("dim") < 0 {
		return c.ints(ns), nil
	}
	if len(ns) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want one with dimensions")
	}
	d, err := c.wrapDim(c.Int("dim"), len(ns))
	if err != nil {
		return nil, err
	}
	return ns[d], nil
}

func sizeHost(c *Call) (any, error)   { return ofDim(c, c.T("self").Sizes) }
func strideHost(c *Call) (any, error) { return ofDim(c, c.T("self").Strides) }

func getDevice(c *Call) (any, error) {
	if Device(c.T("self").Device).Kind() == "cpu" {
		return int64(-1), nil
	}
	return int64(0), nil
}

func isContiguousHost(c *Call) (any, error) {
	return c.T("self").IsFormat(tensor.MemoryFormat(c.IntOr("memory_format", 0))), nil
}

func isDenseHost(c *Call) (any, error) { return c.T("self").IsDense(), nil }

func isFloatingHost(c *Call) (any, error) { return c.T("self").DType.Floating(), nil }
func isComplexHost(c *Call) (any, error)  { return c.T("self").DType.Complex(), nil }

func isSignedHost(c *Call) (any, error) {
	d := c.T("self").DType
	return !d.Unsigned() && d != tensor.Bool, nil
}

func sameInts(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func isSameSize(c *Call) (any, error) { return sameInts(c.T("self").Sizes, c.T("other").Sizes), nil }

func isSetTo(c *Call) (any, error) {
	a, b := c.T("self"), c.T("tensor")
	return a.Storage == b.Storage && a.StorageOffset == b.StorageOffset && sameInts(a.Sizes, b.Sizes) && sameInts(a.Strides, b.Strides), nil
}

func autocastOn(c *Call) (any, error) { return c.Platform().Autocast != "", nil }

func autocastDType(c *Call) (any, error) {
	if d, err := tensor.ParseDType(c.Platform().Autocast); err == nil {
		return int64(d), nil
	}
	return int64(tensor.Float16), nil
}

func sizeIfNotEqual(c *Call) (any, error) {
	a, b := c.Ints("self_size"), c.Ints("other_size")
	if sameInts(a, b) {
		return nil, nil
	}
	return c.Args[0], nil
}

func inferSizeHost(c *Call) (any, error) {
	s, err := c.broadcast(c.Ints("a"), c.Ints("b"))
	if err != nil {
		return nil, err
	}
	return c.ints(s), nil
}

func promoteTypes(c *Call) (any, error) {
	return int64(promote(tensor.DType(c.Int("type1")), tensor.DType(c.Int("type2")))), nil
}

// canCastHost is c10::canCastHost: no complex to real, no float to int, no number to bool.
func canCastHost(c *Call) (any, error) {
	from, to := tensor.DType(c.Int("from_")), tensor.DType(c.Int("to"))
	switch {
	case from.Complex() && !to.Complex(),
		from.Floating() && to.Integral(true),
		from != tensor.Bool && to == tensor.Bool:
		return false, nil
	}
	return true, nil
}

func resultTypeHost(c *Call) (any, error) { return int64(resultType(c.Args[0], c.Args[1])), nil }

// numToTensor is a size as a 0-dim tensor on the host, which is how tracing carries sizes.
func numToTensor(c *Call) ([]tensor.Meta, error) {
	d := ScalarDType(c.Args[0])
	if d == tensor.Float32 {
		d = tensor.Float64
	}
	return one(newMeta(d, "cpu", nil))
}

func numToTensorValue(c *Call) *tensor.Data {
	if n, ok := isInt(c.Args[0]); ok {
		return &tensor.Data{Ints: []int64{n}}
	}
	return &tensor.Data{Floats: []float64{toFloat(c.Args[0])}}
}

func primData(c *Call) ([]tensor.Meta, error) {
	t := c.T("a")
	return one(view(t, t.Sizes, t.Strides, t.StorageOffset))
}
