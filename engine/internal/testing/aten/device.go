package aten

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// On is a device with a torch release.
func On(t *testing.T, name, torch string) *platform.Platform {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	v, err := platform.ParseVersion(torch)
	require.NoError(t, err)
	p, err := platform.New(d, v)
	require.NoError(t, err)
	return &p
}

// Call is an operator to be run by itself. A tensor.Meta among the arguments becomes a tensor that
// was there before, with a separate storage.
type Call struct {
	Op   string
	Args []any
	Kw   ops.Kw
}

// Run gives the births and deaths of a call: "+512 -0" is a birth of 512 bytes and the death of the
// first that was born.
func (c Call) Run(t *testing.T, table *ops.Table, p *platform.Platform) (events string, notes []trace.Note) {
	t.Helper()
	b := NewBench(table, p)
	args, kw := make([]any, len(c.Args)), ops.Kw{}
	for i, a := range c.Args {
		args[i] = asTensor(b, a)
	}
	for k, a := range c.Kw {
		kw[k] = asTensor(b, a)
	}
	_, happened, err := b.Run(c.Op, args, kw)
	require.NoError(t, err)
	require.Empty(t, b.Missing())
	births := map[tensor.StorageID]int{}
	var out []string
	for _, e := range happened {
		if e.Action == trace.Alloc {
			births[e.Storage] = len(births)
			out = append(out, "+"+strconv.FormatInt(int64(e.Bytes), 10))
		} else {
			out = append(out, "-"+strconv.Itoa(births[e.Storage]))
		}
	}
	return strings.Join(out, " "), b.Notes()
}

// asTensor makes a tensor of a tensor.Meta, in lists too.
func asTensor(b *Bench, v any) any {
	switch v := v.(type) {
	case tensor.Meta:
		return b.Tensor(v, nil)
	case *ops.List:
		l := &ops.List{Elem: v.Elem}
		for _, item := range v.Items {
			l.Items = append(l.Items, asTensor(b, item))
		}
		return l
	}
	return v
}

// Dense is a contiguous tensor on the accelerator.
func Dense(d tensor.DType, sizes ...int64) tensor.Meta {
	return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cuda"}
}

// Tensor is a tensor on the accelerator without a storage, for functions of shapes.
func Tensor(d tensor.DType, f tensor.MemoryFormat, sizes ...int64) *tensor.Tensor {
	return &tensor.Tensor{Meta: tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f),
		Device: "cuda"}}
}
