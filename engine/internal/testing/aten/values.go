package aten

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// How a recorded call becomes the engine's values, and how both print.

// value turns a recorded argument into an engine value.
func (r *run) value(t *testing.T, v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(t, v)
	case []any:
		l := &ops.List{}
		for _, item := range v {
			x := r.value(t, item)
			l.Items = append(l.Items, x)
			switch x.(type) {
			case nil:
				l.Elem = schema.Optional
			case *tensor.Tensor:
				if l.Elem == schema.Any {
					l.Elem = schema.Tensor
				}
			case int64:
				l.Elem = schema.Int
			case float64:
				l.Elem = schema.Float
			}
		}
		return l
	case map[string]any:
		switch {
		case v["sid"] != nil:
			return r.tensor(t, v)
		case v["dtype"] != nil:
			d, err := tensor.ParseDType(v["dtype"].(string))
			require.NoError(t, err)
			return int64(d)
		case v["device"] != nil:
			return ops.Device(v["device"].(string))
		case v["memory_format"] != nil:
			f, ok := formats[v["memory_format"].(string)]
			require.True(t, ok, v)
			return int64(f)
		case v["layout"] != nil:
			return int64(0)
		case v["tuple"] != nil:
			l := r.value(t, v["tuple"]).(*ops.List)
			return &ops.Tuple{Items: l.Items}
		case v["dict"] != nil:
			d := &ops.Dict{}
			for _, pair := range v["dict"].([]any) {
				l := r.value(t, pair).(*ops.List)
				d.Keys, d.Values = append(d.Keys, l.Items[0]), append(d.Values, l.Items[1])
			}
			return d
		case v["complex"] != nil:
			parts := v["complex"].([]any)
			return complex(toFloat(r.value(t, parts[0])), toFloat(r.value(t, parts[1])))
		case v["float"] != nil:
			return floats[v["float"].(string)]
		}
		t.Fatalf("got value %v", v)
	}
	return v // nil, bool, string
}

var formats = map[string]tensor.MemoryFormat{
	"contiguous_format": tensor.Contiguous, "preserve_format": tensor.Preserve, "channels_last": tensor.ChannelsLast,
	"channels_last_3d": tensor.ChannelsLast3d,
}

var floats = map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}

func number(t *testing.T, n json.Number) any {
	if strings.ContainsAny(n.String(), ".eE") {
		f, err := n.Float64()
		require.NoError(t, err)
		return f
	}
	i, err := n.Int64()
	require.NoError(t, err)
	return i
}

func toFloat(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

// tensor makes an argument; the first tensor of a storage makes the storage.
func (r *run) tensor(t *testing.T, v map[string]any) *tensor.Tensor {
	m, err := metaOf(v)
	require.NoError(t, err)
	sid := intOf(v["sid"])
	s := r.given[sid]
	if s == nil && v["n"] != nil {
		bytes := tensor.Meta{DType: tensor.Uint8, Sizes: []int64{int64(intOf(v["n"]))}, Strides: []int64{1},
			Device: m.Device}
		s = r.bench.Tensor(bytes, nil).Storage
	}
	x := r.bench.Tensor(m, s)
	if r.given[sid] == nil && x.Storage.NBytes == 0 {
		r.empty[sid] = true
	}
	r.given[sid] = x.Storage
	if values, ok := v["v"].([]any); ok && len(values) <= tensor.MaxData && !x.DType.Complex() {
		x.Data = &tensor.Data{}
		for _, n := range values {
			n = r.value(t, n)
			if b, isBool := n.(bool); isBool {
				n = map[bool]int64{true: 1}[b]
			}
			if x.DType.Integral(true) {
				x.Data.Ints = append(x.Data.Ints, int64(toFloat(n)))
			} else {
				x.Data.Floats = append(x.Data.Floats, toFloat(n))
			}
		}
	}
	return x
}

func intOf(v any) int {
	n, _ := v.(json.Number).Int64()
	return int(n)
}

func intsOf(v any) []int64 {
	out := []int64{}
	for _, n := range v.([]any) {
		out = append(out, int64(intOf(n)))
	}
	return out
}

func metaOf(v map[string]any) (tensor.Meta, error) {
	d, err := tensor.ParseDType(v["d"].(string))
	m := tensor.Meta{DType: d, Sizes: intsOf(v["s"]), Device: "cuda"}
	m.Strides = tensor.ContiguousStrides(m.Sizes)
	if v["st"] != nil {
		m.Strides = intsOf(v["st"])
	}
	if v["o"] != nil {
		m.StorageOffset = int64(intOf(v["o"]))
	}
	if v["dev"] != nil {
		m.Device = v["dev"].(string)
	}
	return m, err
}

// wantNames names the sample's storages: those of arguments by number, those born by order.
func (r *run) wantNames(events [][]any) func(sid int) string {
	names := map[int]string{}
	for sid := range r.given {
		names[sid] = fmt.Sprintf("s%d", sid)
	}
	births := 0
	for _, e := range events {
		if e[0] == "a" || e[0] == "r" {
			names[intOf(e[2])] = fmt.Sprintf("b%d", births)
			births++
		}
	}
	return func(sid int) string {
		if n, ok := names[sid]; ok {
			return n
		}
		return "-"
	}
}

func (r *run) wantEvents(events [][]any, name func(int) string) []string {
	out := []string{}
	for _, e := range events {
		switch e[0] {
		case "a":
			out = append(out, fmt.Sprintf("alloc %v %s", e[1], name(intOf(e[2]))))
		case "f":
			out = append(out, "free "+name(intOf(e[1])))
		case "r": // in place: the storage at its new size, and the old one goes
			out = append(out, fmt.Sprintf("alloc %v %s", e[1], name(intOf(e[2]))))
			if !r.empty[intOf(e[2])] {
				out = append(out, fmt.Sprintf("free s%d", intOf(e[2])))
			}
		}
	}
	return out
}

// gotNames names the engine's storages in the same way.
func (r *run) gotNames(events []trace.Event) func(tensor.StorageID) string {
	names := map[tensor.StorageID]string{}
	births := 0
	for _, e := range events {
		if e.Action == trace.Alloc {
			names[e.Storage] = fmt.Sprintf("b%d", births)
			births++
		}
	}
	first := map[tensor.StorageID]string{}
	for sid, s := range r.given {
		if _, grown := names[s.ID]; !grown {
			first[s.ID] = fmt.Sprintf("s%d", sid)
		}
	}
	return func(id tensor.StorageID) string {
		if n, ok := names[id]; ok {
			return n
		}
		if n, ok := first[id]; ok {
			return n
		}
		for sid, s := range r.given { // one that has grown: its old number is no one's any more
			if _, grown := names[s.ID]; grown {
				return fmt.Sprintf("s%d", sid)
			}
		}
		return "-"
	}
}

func gotEvents(events []trace.Event, name func(tensor.StorageID) string) []string {
	out := []string{}
	for _, e := range events {
		if e.Action == trace.Alloc {
			out = append(out, fmt.Sprintf("alloc %d %s", e.Bytes, name(e.Storage)))
		} else {
			out = append(out, "free "+name(e.Storage))
		}
	}
	return out
}

// describeWant prints a recorded result; describeGot an engine's in the same words.
func describeWant(v any, name func(int) string) any {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case v["float"] != nil:
			return describeFloat(floats[v["float"].(string)])
		case v["complex"] != nil:
			return describeWant(v["complex"], name)
		case v["tuple"] != nil:
			return describeWant(v["tuple"], name)
		case v["dict"] != nil:
			return describeWant(v["dict"], name)
		case v["device"] != nil:
			return fmt.Sprint(v["device"])
		case v["dtype"] != nil:
			d, _ := tensor.ParseDType(v["dtype"].(string))
			return fmt.Sprint(int64(d))
		case v["sid"] == nil:
			return fmt.Sprint(v)
		}
		m, err := metaOf(v)
		if err != nil {
			return err.Error()
		}
		return describeMeta(&m, name(intOf(v["sid"])))
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, describeWant(item, name))
		}
		return out
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return describeFloat(f)
		}
		return v.String()
	}
	return fmt.Sprint(v)
}

func describeGot(v any, name func(tensor.StorageID) string) any {
	switch v := v.(type) {
	case *tensor.Tensor:
		n := name(v.Storage.ID)
		if v.Device != "cuda" && n[0] == 'b' {
			n = "-"
		}
		return describeMeta(&v.Meta, n)
	case *ops.List:
		return describeAll(v.Items, name)
	case *ops.Tuple:
		return describeAll(v.Items, name)
	case *ops.Dict:
		out := []any{}
		for i := range v.Keys {
			out = append(out, describeAll([]any{v.Keys[i], v.Values[i]}, name))
		}
		return out
	case float64:
		return describeFloat(v)
	case complex128:
		return []any{describeFloat(real(v)), describeFloat(imag(v))}
	}
	return fmt.Sprint(v)
}

// describeFloat prints 13 digits: libm and Go part in the last places.
func describeFloat(f float64) string { return strconv.FormatFloat(f, 'g', 13, 64) }

func describeAll(items []any, name func(tensor.StorageID) string) any {
	out := []any{}
	for _, item := range items {
		out = append(out, describeGot(item, name))
	}
	return out
}

func describeMeta(m *tensor.Meta, storage string) string {
	return fmt.Sprintf("%s%v strides %v offset %d %s %s", m.DType, m.Sizes, m.Strides, m.StorageOffset, m.Device,
		storage)
}

// describeResult prints what an operator returned as the recorder lists it: one entry a return.
func describeResult(b *ops.Bound, v any, name func(tensor.StorageID) string) []any {
	switch len(b.Schema.Returns) {
	case 0:
		return nil
	case 1:
		return []any{describeGot(v, name)}
	}
	var out []any
	for _, item := range v.(*ops.Tuple).Items {
		out = append(out, describeGot(item, name))
	}
	return out
}
