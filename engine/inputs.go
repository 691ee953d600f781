package engine

import (
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// castTo is what a case's floating parameters and inputs are cast to; Undefined leaves them as they
// are.
func castTo(name string) (tensor.DType, error) {
	if name == "" {
		return tensor.Undefined, nil
	}
	return tensor.ParseDType(name)
}

// execInputs says to exec what a case's bound inputs are, floating tensors cast to dtype.
func execInputs(ins []spec.Input, dtype tensor.DType) ([]exec.Input, error) {
	out := make([]exec.Input, len(ins))
	for i, in := range ins {
		v, err := execValue(in.Value, dtype)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", in.String(), err)
		}
		out[i] = exec.Input{Name: in.Name, Value: v}
	}
	return out, nil
}

func execValue(v spec.Value, dtype tensor.DType) (any, error) {
	switch v := v.(type) {
	case spec.Tensor:
		return meta(v, dtype)
	case spec.List:
		return execItems(v, dtype)
	case spec.Tuple:
		items, err := execItems(v, dtype)
		return exec.Tuple(items), err
	case spec.Dict:
		out := make(exec.Dict, len(v))
		for i, it := range v {
			item, err := execValue(it.Value, dtype)
			if err != nil {
				return nil, err
			}
			out[i] = exec.Input{Name: it.Key, Value: item}
		}
		return out, nil
	case spec.Int:
		return int64(v), nil
	case spec.Float:
		return float64(v), nil
	case spec.Bool:
		return bool(v), nil
	case spec.Str:
		return string(v), nil
	case spec.None:
		return nil, nil
	}
	return nil, fmt.Errorf("internal error: no such value %T", v)
}

func execItems(vs []spec.Value, dtype tensor.DType) ([]exec.Input, error) {
	out := make([]exec.Input, len(vs))
	for i, v := range vs {
		item, err := execValue(v, dtype)
		if err != nil {
			return nil, err
		}
		out[i].Value = item
	}
	return out, nil
}

func meta(t spec.Tensor, dtype tensor.DType) (tensor.Meta, error) {
	sizes, err := t.Sizes()
	if err != nil {
		return tensor.Meta{}, err
	}
	strides, err := t.Strides()
	if err != nil {
		return tensor.Meta{}, err
	}
	device := t.Device
	if device == "" {
		device = "cuda"
	}
	if dtype == tensor.Undefined || !t.DType.Floating() {
		dtype = t.DType
	}
	m := tensor.Meta{DType: dtype, Sizes: sizes, Strides: strides, Device: device}
	return m, m.Check()
}

func assumptions(as []spec.Assumption) map[string]int64 {
	if len(as) == 0 {
		return nil
	}
	m := make(map[string]int64, len(as))
	for _, a := range as {
		if a.Values != "" {
			continue // of a run, which a program is not
		}
		m[a.Line] = a.Size
	}
	return m
}
