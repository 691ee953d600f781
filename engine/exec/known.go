package exec

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// knownValues are the tensors whose elements are known, by storage: small ones on the host, with
// which traced code computes shapes.
type knownValues map[*tensor.Storage][]*tensor.Tensor

// add remembers a tensor whose elements are known.
func (k *knownValues) add(t *tensor.Tensor) {
	if t.Data == nil {
		return
	}
	if *k == nil {
		*k = knownValues{}
	}
	(*k)[t.Storage] = append((*k)[t.Storage], t)
}

// forget makes the elements of every tensor on t's storage unknown: t is written, and an alias
// would keep what was there before.
func (d *Dispatch) forget(t *tensor.Tensor) {
	known := d.values[t.Storage]
	if len(known) == 0 {
		return
	}
	d.changes.write(t.Storage)
	for _, alias := range known {
		alias.Data = nil
	}
	delete(d.values, t.Storage)
}

// value computes the elements of a small result whose inputs are known; nil where that cannot be
// done.
func (d *Dispatch) value(c *ops.Call, t *tensor.Tensor) *tensor.Data {
	if c.Rule.Value == nil || d.assumed || t.Numel() > tensor.MaxData || !allKnown(c.Args) {
		return nil
	}
	return c.Rule.Value(c)
}

// allKnown says whether the elements of all tensors among args are known.
func allKnown(args []any) bool {
	for _, a := range args {
		switch v := a.(type) {
		case *tensor.Tensor:
			if v.Data == nil && v.Numel() > 0 {
				return false
			}
		case *ops.List:
			if !allKnown(v.Items) {
				return false
			}
		}
	}
	return true
}
