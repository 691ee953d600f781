package allocator

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
)

// TestLimitOn: what segments may take on a device, and what a process that sets itself a fraction
// passes on to the allocator.
func TestLimitOn(t *testing.T) {
	const total = 1000 * units.MiB
	between := &device.ContextRange{Low: 100 * units.MiB, High: 300 * units.MiB}
	for _, tt := range []struct {
		why      string
		d        device.Device
		fraction float64
		conf     string
		want     units.Bytes
		setting  float64
	}{
		{"all of it, where the context is not known", device.Device{Memory: total}, 0, "", total, 0},
		{"less the context", device.Device{Memory: total, Context: 400 * units.MiB, ContextKnown: true}, 0, "",
			600 * units.MiB, 0},
		{"less the least that it may be", device.Device{Memory: total, Context: 200 * units.MiB, ContextRange: between}, 0,
			"", 900 * units.MiB, 0},
		{"a context that is known has no range", device.Device{Memory: total, Context: 200 * units.MiB, ContextKnown: true,
			ContextRange: between}, 0, "", 800 * units.MiB, 0},
		{"a fraction that is less than what is left", device.Device{Memory: total, Context: 400 * units.MiB,
			ContextKnown: true}, 0.5, "", 500 * units.MiB, 0.5},
		{"what is left is less than the fraction", device.Device{Memory: total, Context: 400 * units.MiB, ContextKnown: true},
			0.75, "", 600 * units.MiB, 0.75},
		{"all is no fraction", device.Device{Memory: total}, 1, "", total, 0},
		{"all is no fraction: the setting's holds", device.Device{Memory: total}, 1, "per_process_memory_fraction:0.25",
			total, 0.25},
		{"none set: the setting's holds", device.Device{Memory: total}, 0, "per_process_memory_fraction:0.25", total, 0.25},
		{"the call comes after the setting", device.Device{Memory: total}, 0.5, "per_process_memory_fraction:0.25",
			500 * units.MiB, 0.5},
		{"no memory is no limit", device.Device{Context: 400 * units.MiB, ContextKnown: true}, 0, "", 0, 0},
		{"nor is a device that the context fills", device.Device{Memory: total, Context: total, ContextKnown: true}, 0, "",
			total, 0},
	} {
		p, err := platform.New(tt.d, platform.Newest())
		require.NoError(t, err)
		p.MemoryFraction, p.AllocConf = tt.fraction, tt.conf
		assert.Equal(t, tt.want, LimitOn(&p), tt.why)
		a, err := On(&p, nil)
		require.NoError(t, err, tt.why)
		c := a.(*caching)
		assert.Equal(t, tt.want, c.config.Limit, tt.why)
		assert.Equal(t, tt.d.Memory, c.config.Total, tt.why)
		want := tt.setting
		if want == 0 {
			want = DefaultSettings().MemoryFraction
		}
		assert.InDelta(t, want, c.config.Settings.MemoryFraction, 0, tt.why)
	}
	p, err := platform.New(device.Device{Memory: total}, platform.Newest())
	require.NoError(t, err)
	p.AllocConf = "max_split_size_mb"
	_, err = On(&p, nil)
	assert.EqualError(t, err,
		`alloc_conf: allocator settings "max_split_size_mb": max_split_size_mb: got no value, want one after a colon`)
}
