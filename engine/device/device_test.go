package device_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/units"
)

// TestTable holds what every row promises.
func TestTable(t *testing.T) {
	rows := device.All()
	assert.GreaterOrEqual(t, len(rows), 45, "GPUs people rent or own")
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]string{}
	for _, d := range rows {
		t.Run(d.Name, func(t *testing.T) {
			for _, n := range append([]string{d.Name}, d.Aliases...) {
				assert.Regexp(t, name, n, "lower case, joined by -")
				assert.Empty(t, seen[n], "%s is already a name", n)
				seen[n] = d.Name
				got, err := device.Lookup(n)
				require.NoError(t, err)
				assert.Equal(t, d, got)
			}
			assert.GreaterOrEqual(t, len(d.Source), 20, "every row says where its figures are from")
			assert.Equal(t, d.MemoryFrom == device.Nominal && d.Kind == device.CUDA, strings.HasPrefix(d.Source, "nominal"),
				"the source of a nominal figure says so")
			if d.Kind == device.None {
				return
			}
			assert.Greater(t, d.Memory, units.GiB)
			assert.Less(t, d.Memory, 300*units.GiB)
			assert.Positive(t, d.SMs)
			assert.True(t, d.ComputeCapability.AtLeast(3, 5) && !d.ComputeCapability.AtLeast(13, 0), "%s", d.ComputeCapability)
			assert.Equal(t, d.ContextKnown, strings.Contains(d.Source, "context:"), "a context's cost has its source")
			assert.Equal(t, d.ContextKnown, d.Context > 0)
			f := d.Figures
			assert.NotEmpty(t, f.Driver)
			switch named, err := device.Lookup(f.Driver); {
			case f.Driver == "Orin", f.Driver == "NVIDIA GeForce RTX 4060 Ti", f.Driver == "NVIDIA GeForce RTX 5060 Ti":
				assert.Error(t, err, "cards of several sizes have this name")
			default:
				require.NoError(t, err, "the driver's name finds the row")
				assert.Equal(t, d.Name, named.Name)
			}
			assert.Equal(t, f.L2 > 0, f.Source != "", "what is known has a source")
			assert.True(t, f.L2 > 0 || f.Clock == 0, "the L2 cache is known first")
			assert.Equal(t, []bool{f.Clock > 0, f.Clock > 0}, []bool{f.MemoryClock > 0, f.MemoryBus > 0},
				"clocks and bus come together")
		})
	}
}

func TestNoneHasNoLimitAndNoContext(t *testing.T) {
	d, err := device.Lookup("none")
	require.NoError(t, err)
	assert.Equal(t, device.None, d.Kind)
	assert.Zero(t, d.Memory)
	assert.True(t, d.ContextKnown, "its total is its reserved")
	assert.Zero(t, d.Context)
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"rtx-4090", "rtx-4090", ""},
		{"NVIDIA GeForce RTX 4090", "rtx-4090", "as the driver spells it"},
		{"Tesla T4", "t4", ""},
		{"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb", ""},
		{"NVIDIA A100 80GB PCIe", "a100-pcie-80gb", ""},
		{"NVIDIA H100 80GB HBM3", "h100-sxm-80gb", "the SXM card does not say SXM"},
		{"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada", ""},
		{" h200_sxm ", "h200-sxm", "spaces and underscores do not matter"},
	} {
		t.Run(c.in, func(t *testing.T) {
			d, err := device.Lookup(c.in)
			require.NoError(t, err, c.why)
			assert.Equal(t, c.want, d.Name, c.why)
		})
	}
}

func TestLookupOfAnUnknownName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"rtx-4900", `got device "rtx-4900", want a known device: did you mean "rtx-4090"? (all: memspec devices)`},
		{"a100 pcie", `got device "a100 pcie", want one of a100-pcie-40gb, a100-pcie-80gb (all: memspec devices)`},
		{"titan", `got device "titan", want one of titan-v, titan-rtx (all: memspec devices)`},
		{"tesla-t5", `got device "tesla-t5", want a known device: did you mean "t4"? (all: memspec devices)`},
		{"a10gg", `got device "a10gg", want a known device: did you mean "a10g"? (all: memspec devices)`},
		{"a100",
			`got device "a100", want one of a100-pcie-40gb, a100-sxm-40gb, a100-pcie-80gb, a100-sxm-80gb (all: memspec devices)`},
		{"toaster-9000", `got device "toaster-9000", want a known device (all: memspec devices)`},
		{"", `got device "", want a known device (all: memspec devices)`},
	} {
		_, err := device.Lookup(c.in)
		require.EqualError(t, err, c.want)
		unknown, ok := errors.AsType[*device.UnknownError](err)
		require.True(t, ok)
		assert.Equal(t, c.in, unknown.Name)
	}
}

// Each machine of a cloud has a card of the table, which is suggested for the machine itself and
// for its sizes, and for no other name.
func TestMachinesOfClouds(t *testing.T) {
	nearby := func(name string) []string {
		_, err := device.Lookup(name)
		unknown, ok := errors.AsType[*device.UnknownError](err)
		require.True(t, ok, name)
		return unknown.Nearby
	}
	for machine, card := range device.Instances() {
		_, err := device.Lookup(card)
		require.NoError(t, err, machine)
		assert.Equal(t, []string{card}, nearby(machine), machine)
		assert.Equal(t, []string{card}, nearby(machine+".xlarge"), machine)
		assert.Equal(t, []string{card}, nearby(machine+"-8g"), machine)
		assert.NotEqual(t, []string{card}, nearby(machine+"xzq"), machine)
	}
}

// What a word asks for that is no card's name; names of AMD's cards are reported by their form.
func TestHints(t *testing.T) {
	const cuda, none, all = "; CUDA's are known", "", "; how much fits depends on the card, which nvidia-smi -L names"
	for name, want := range map[string]string{
		"cuda": all, "cuda:1": all, "gpu": all, "cpu": "; the device none counts what the model itself takes on any card",
		"mps": cuda, "xpu": cuda, "hip:0": cuda, "rocm": cuda, "tpu": cuda, "xla": cuda, "mi300x": cuda, "mi250": cuda,
		"mi300a": cuda, "mi": none, "mi-zq77": none, "qq300x": none,
	} {
		assert.Equal(t, want, device.Hint(name), name)
	}
	_, err := device.Lookup("cuda:0")
	assert.EqualError(t, err, `got device "cuda:0", want a known device`+all+` (all: memspec devices)`)
}

func TestCapability(t *testing.T) {
	c := device.Capability{Major: 8, Minor: 6}
	assert.Equal(t, "8.6", c.String())
	assert.Equal(t, 86, c.SM())
	assert.Equal(t, 120, device.Capability{Major: 12}.SM())
	assert.True(t, c.AtLeast(8, 6))
	assert.True(t, c.AtLeast(7, 5))
	assert.False(t, c.AtLeast(8, 9))
	assert.True(t, device.Capability{Major: 10}.AtLeast(9, 9), "10.0 is newer than 9.9")
}

func TestNames(t *testing.T) {
	var want []string
	for _, d := range device.All() {
		want = append(want, d.Name)
	}
	assert.Equal(t, want, device.Names())
	assert.Equal(t, "none", want[0], "in the order of the table")
	for _, spelling := range []string{"RTX-4090", "rtx 4090", "rtx_4090", "rtx--4090", "  NVIDIA_rtx-4090"} {
		d, err := device.Lookup(spelling)
		require.NoError(t, err)
		assert.Equal(t, "rtx-4090", d.Name)
	}
}

func TestRowsAreCopies(t *testing.T) {
	a, err := device.Lookup("t4")
	require.NoError(t, err)
	a.Aliases[0] = "changed"
	b, err := device.Lookup("t4")
	require.NoError(t, err)
	assert.Equal(t, "tesla-t4", b.Aliases[0])
}

func FuzzLookup(f *testing.F) {
	for _, n := range device.Names() {
		f.Add(n)
	}
	f.Add("NVIDIA ")
	f.Fuzz(func(t *testing.T, name string) {
		d, err := device.Lookup(name)
		if err == nil && d.Name == "" {
			t.Fatalf("%q: a row without a name", name)
		}
	})
}

func TestLimits(t *testing.T) {
	all := device.AllLimits()
	seen := map[device.Capability]bool{}
	for i, l := range all {
		seen[l.ComputeCapability] = true
		assert.True(t, i == 0 || all[i-1].ComputeCapability.SM() < l.ComputeCapability.SM(), "%s: ascending",
			l.ComputeCapability)
		assert.Zero(t, l.ThreadsPerSM%512, l.ComputeCapability)
		assert.True(t, l.SharedPerBlock <= l.SharedOptIn && l.SharedOptIn+l.SharedReserved <= l.SharedPerSM,
			l.ComputeCapability)
	}
	for _, d := range device.All() {
		assert.True(t, seen[d.ComputeCapability] || !d.ComputeCapability.AtLeast(7, 0), "%s: the limits of %s are not known",
			d.Name, d.ComputeCapability)
	}
}

// A driver's card is a row's by its compute capability and its memory, which drivers report a
// little differently.
func TestIs(t *testing.T) {
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	cc := d.ComputeCapability.String()
	assert.True(t, d.Is(cc, d.Memory))
	assert.True(t, d.Is(cc, d.Memory/100*97))
	assert.False(t, d.Is(cc, d.Memory/100*95))
	assert.False(t, d.Is(cc, d.Memory/100*105))
	assert.False(t, d.Is("7.5", d.Memory))
	d.Memory = 0
	assert.True(t, d.Is(cc, units.GiB), "of no limit any memory")
}

// The card of a recording is the row whose name the driver reports, with the memory that the driver
// reports.
func TestOf(t *testing.T) {
	for _, d := range device.All()[1:] {
		got, known := device.Of(d.Figures.Driver, d.ComputeCapability.String(), d.Memory)
		require.True(t, known, d.Name)
		assert.Equal(t, d.Figures.Driver, got.Figures.Driver)
		assert.Equal(t, d.Memory, got.Memory, d.Name)
	}
	d, known := device.Of("NVIDIA A10G", "8.6", 40*units.GiB)
	require.True(t, known)
	assert.Equal(t, []any{"a10g", 40 * units.GiB, device.Given}, []any{d.Name, d.Memory, d.MemoryFrom},
		"a pretend card may be given any memory")
	_, known = device.Of("NVIDIA A10G", "9.0", 40*units.GiB)
	assert.False(t, known)
}

// TestLocal: of which chips the space for local variables is known.
func TestLocal(t *testing.T) {
	for name, want := range map[string]units.Bytes{"h100-sxm-80gb": 414 * units.MiB, "a100-sxm-80gb": 0, "b200": 0, "t4": 0} {
		d, err := device.Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, want, d.Local(), name)
	}
}
