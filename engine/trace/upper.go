package trace

import (
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// AtUpper is the trace with every allocation of estimated size at its most; it is t itself where none is estimated.
func (t *Trace) AtUpper() *Trace {
	if len(t.Upper) == 0 {
		return t
	}
	size := make(map[tensor.StorageID]units.Bytes, len(t.Upper))
	for _, e := range t.Upper {
		size[e.Storage] = e.Bytes
	}
	u := *t
	u.Events = make([]Event, len(t.Events))
	for i, e := range t.Events {
		if n, ok := size[e.Storage]; ok && e.Storage != NoStorage {
			e.Bytes = n
		}
		u.Events[i] = e
	}
	u.Upper = nil
	return &u
}
