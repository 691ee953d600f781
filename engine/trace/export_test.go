package trace

import (
	"fmt"
	"io"

	"github.com/memspec/memspec/engine/units"
)

// For tests of package trace_test.
const (
	Actions = Action(len(actionNames))
	Reasons = Reason(len(reasonNames))
)

// FromSnapshot reads the trace of one device, rewound under the default settings.
func FromSnapshot(r io.Reader, device int) (*Trace, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	recs, err := ReadSnapshot(data)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		if rec.Device == device {
			rec.Rewind(DefaultGeometry())
			return rec.Trace, nil
		}
	}
	return nil, fmt.Errorf("got no segments or events of device %d", device)
}

// DefaultGeometry is the allocator's without settings: kMinBlockSize, kSmallSize and kLargeBuffer
// of CUDACachingAllocator.cpp.
func DefaultGeometry() Geometry {
	return Geometry{Round: func(n units.Bytes) units.Bytes { return max(n, 1).RoundUp(512) }, Unsplit: 1 << 20,
		Page: 20 << 20}
}
