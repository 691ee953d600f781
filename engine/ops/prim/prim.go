package prim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func trueHost(*ops.Call) (any, error) { return true, nil }

func falseHost(*ops.Call) (any, error) { return false, nil }

func zeroHost(*ops.Call) (any, error) { return int64(0), nil }

func recordFunction(*ops.Call) (any, error) {
	return &ops.Packed{Class: "profiler._RecordFunction"}, nil
}

func sameHost(c *ops.Call) (any, error) {
	if c.Args[0] == nil && c.Schema.Name == "aten::_unwrap_optional" {
		return nil, c.Errorf("got None, want a value")
	}
	return c.Args[0], nil
}

// gradMode is off: inference runs under no_grad.
func gradMode(*ops.Call) (any, error) { return false, nil }

func dimHost(c *ops.Call) (any, error) { return int64(len(c.T("self").Sizes)), nil }

func numelHost(c *ops.Call) (any, error) { return c.T("self").Numel(), nil }

func offsetHost(c *ops.Call) (any, error) {
	return c.T("self").StorageOffset, nil
}

// isHost is Python's `is` (want) and `is not`; exec decides it for objects.
func isHost(want bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return (c.Args[0] == c.Args[1]) == want, nil }
}

// itemHost is the value of a one-element tensor.
func itemHost(c *ops.Call) (any, error) {
	t := c.Args[0].(*tensor.Tensor)
	if t.Numel() != 1 {
		return nil, c.Errorf("got a tensor of %d elements, want one", t.Numel())
	}
	return ops.Item(t, tensor.Undefined), nil
}

// known is Args[0] as a number: of a tensor its element.
func known(c *ops.Call) (any, error) {
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		if t.Numel() != 1 {
			return nil, c.Errorf("got a tensor of %d elements, want one", t.Numel())
		}
		return ops.Item(t, tensor.Undefined), nil
	}
	return c.Args[0], nil
}

func toInt(c *ops.Call) (any, error) {
	v, err := known(c)
	if err != nil || !ops.IsKnown(v) {
		return v, err
	}
	if s, ok := v.(string); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, c.Errorf("got %q, want an int", s)
		}
		return n, nil
	}
	n, _ := ops.AsInt(v)
	return n, nil
}

func toFloatHost(c *ops.Call) (any, error) {
	v, err := known(c)
	if err != nil || !ops.IsKnown(v) {
		return v, err
	}
	if s, ok := v.(string); ok {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, c.Errorf("got %q, want a float", s)
		}
		return f, nil
	}
	return ops.AsFloat(v), nil
}

func toBool(c *ops.Call) (any, error) {
	v, err := known(c)
	if err != nil || !ops.IsKnown(v) {
		return v, err
	}
	return truth(v), nil
}

func notHost(c *ops.Call) (any, error) { return !c.Bool("self"), nil }

func deriveIndex(c *ops.Call) (any, error) {
	return addIntOr(c, c.Int("start"), c.Int("index")*c.Int("step"))
}

func addIntOr(c *ops.Call, a, b int64) (any, error) {
	n, err := addNum(a, b)
	if err != nil {
		return nil, c.Errorf("%v", err)
	}
	return n, nil
}

func rangeLength(c *ops.Call) (any, error) {
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

func deviceOf(c *ops.Call) (any, error) { return ops.Device(c.T("a").Device), nil }

func dtypeOf(c *ops.Call) (any, error) { return int64(c.T("a").DType), nil }

func isDevice(kind string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return ops.Device(c.T("a").Device).Kind() == kind, nil }
}

func isQuantized(c *ops.Call) (any, error) { return c.T("a").DType.Quantized(), nil }

func deviceType(c *ops.Call) (any, error) {
	d, _ := c.Args[0].(ops.Device)
	return d.Kind(), nil
}

func deviceIndex(c *ops.Call) (any, error) {
	d, _ := c.Args[0].(ops.Device)
	if n, err := strconv.ParseInt(indexOf(d), 10, 64); err == nil && d.Kind() != "cpu" {
		return n, nil
	}
	return nil, nil
}

func makeDevice(c *ops.Call) (any, error) {
	s, _ := c.Args[0].(string)
	if kind := ops.Device(s).Kind(); kind == "" || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil, c.Errorf("got device %q, want cpu, cuda, cuda:0 or the like", s)
	}
	if len(c.Args) > 1 {
		return ops.Device(s + ":" + strconv.FormatInt(c.Int("index"), 10)), nil
	}
	return ops.Device(s), nil
}

func itemsizeOf(c *ops.Call) (any, error) { return c.Args[0].(*tensor.Tensor).DType.ItemSize(), nil }

func nbytesOf(c *ops.Call) (any, error) { return int64(c.Args[0].(*tensor.Tensor).NBytes()), nil }

func ints(c *ops.Call, ns []int64) *ops.List {
	items := make([]any, len(ns))
	for i, n := range ns {
		items[i] = n
	}
	return c.List(schema.Int, items...)
}

// ofDim is ns[dim], or all of ns where the overload has no dim.
func ofDim(c *ops.Call, ns []int64) (any, error) {
	if c.Schema.ArgIndex("dim") < 0 {
		return ints(c, ns), nil
	}
	if len(ns) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want one with dimensions")
	}
	d, err := c.WrapDim(c.Int("dim"), len(ns))
	if err != nil {
		return nil, err
	}
	return ns[d], nil
}

func sizeHost(c *ops.Call) (any, error) { return ofDim(c, c.T("self").Sizes) }

func strideHost(c *ops.Call) (any, error) { return ofDim(c, c.T("self").Strides) }

func getDevice(c *ops.Call) (any, error) {
	if ops.Device(c.T("self").Device).Kind() == "cpu" {
		return int64(-1), nil
	}
	return int64(0), nil
}

func isContiguousHost(c *ops.Call) (any, error) {
	return c.T("self").IsFormat(tensor.MemoryFormat(c.IntOr("memory_format", 0))), nil
}

func isDenseHost(c *ops.Call) (any, error) { return c.T("self").IsDense(), nil }

func isFloatingHost(c *ops.Call) (any, error) { return c.T("self").DType.Floating(), nil }

func isComplexHost(c *ops.Call) (any, error) { return c.T("self").DType.Complex(), nil }

func isSignedHost(c *ops.Call) (any, error) {
	d := c.T("self").DType
	return !d.Unsigned() && d != tensor.Bool, nil
}

func isSameSize(c *ops.Call) (any, error) {
	return slices.Equal(c.T("self").Sizes, c.T("other").Sizes), nil
}

func isSetTo(c *ops.Call) (any, error) {
	a, b := c.T("self"), c.T("tensor")
	return a.Storage == b.Storage && a.StorageOffset == b.StorageOffset && slices.Equal(a.Sizes, b.Sizes) &&
		slices.Equal(a.Strides, b.Strides), nil
}

func autocastOn(c *ops.Call) (any, error) { return c.Platform().Autocast != "", nil }

func autocastDType(c *ops.Call) (any, error) {
	if d, err := tensor.ParseDType(c.Platform().Autocast); err == nil {
		return int64(d), nil
	}
	return int64(tensor.Float16), nil
}

func sizeIfNotEqual(c *ops.Call) (any, error) {
	a, b := c.Ints("self_size"), c.Ints("other_size")
	if slices.Equal(a, b) {
		return nil, nil
	}
	return c.Args[0], nil
}

func inferSizeHost(c *ops.Call) (any, error) {
	s, err := c.Broadcast(c.Ints("a"), c.Ints("b"))
	if err != nil {
		return nil, err
	}
	return ints(c, s), nil
}

func promoteTypes(c *ops.Call) (any, error) {
	return int64(ops.PromoteTypes(tensor.DType(c.Int("type1")), tensor.DType(c.Int("type2")))), nil
}

// canCastHost is c10::canCastHost: no complex to real, no float to int, no number to bool.
func canCastHost(c *ops.Call) (any, error) {
	from, to := tensor.DType(c.Int("from_")), tensor.DType(c.Int("to"))
	switch {
	case from.Complex() && !to.Complex(),
		from.Floating() && to.Integral(true),
		from != tensor.Bool && to == tensor.Bool:
		return false, nil
	}
	return true, nil
}

func resultTypeHost(c *ops.Call) (any, error) {
	return int64(ops.ResultType(c.Args[0], c.Args[1])), nil
}

// numToTensor is a size as a 0-dim tensor on the host, which is how tracing carries sizes.
func numToTensor(c *ops.Call) ([]tensor.Meta, error) {
	d := ops.ScalarDType(c.Args[0])
	if d == tensor.Float32 {
		d = tensor.Float64
	}
	return ops.One(ops.NewMeta(d, "cpu", nil))
}

func numToTensorValue(c *ops.Call) *tensor.Data {
	if n, ok := isInt(c.Args[0]); ok {
		return &tensor.Data{Ints: []int64{n}}
	}
	return &tensor.Data{Floats: []float64{ops.AsFloat(c.Args[0])}}
}

func primData(c *ops.Call) ([]tensor.Meta, error) {
	t := c.T("a")
	return ops.One(ops.ViewOf(t, t.Sizes, t.Strides, t.StorageOffset))
}
