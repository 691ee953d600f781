package allocator

import (
	"fmt"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// On is the allocator that a process has on a platform, with what is there already.
func On(p *platform.Platform, heap []trace.Segment) (Allocator, error) {
	settings, err := ParseSettings(p.AllocConf, p.Torch)
	if err != nil {
		return nil, fmt.Errorf("alloc_conf: %w", err)
	}
	if f := p.MemoryFraction; f > 0 && f < 1 {
		settings.MemoryFraction = f // set_per_process_memory_fraction: garbage collection goes by it too
	}
	return New(Config{Limit: LimitOn(p), Total: p.Device.Memory, Settings: settings, Heap: heap,
		Local: p.Device.Local()})
}

// LimitOn is what all segments together may take: the device's memory less what the context takes,
// at the lower bound where only a range of it is known, and no more than the fraction of it that
// the process allows itself. 0 is no limit.
func LimitOn(p *platform.Platform) units.Bytes {
	most := p.Limit()
	d, context := &p.Device, p.Device.Context
	if !d.ContextKnown && d.ContextRange != nil {
		context = d.ContextRange.Low
	}
	if d.Memory > context {
		most = min(most, d.Memory-context)
	}
	return most
}
