// Package device holds the GPUs that memspec knows: a table of rows, each with its source, and a
// look-up by name.
//
// It states what a device has (memory, compute capability, multiprocessors, what a CUDA context
// costs) and models nothing. A figure that no public source gives is left out, never guessed:
// Context is then a range that published logs report, and Memory is marked nominal.
package device

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Kind says which allocator a device has.
type Kind uint8

const (
	// CUDA is a device behind PyTorch's CUDACachingAllocator.
	CUDA Kind = iota
	// None is the built-in device `none`: CUDA's dispatch, but no library workspace, no context and no
	// limit.
	None
)

func (k Kind) String() string {
	if k == None {
		return "none"
	}
	return "cuda"
}

// Capability is a CUDA compute capability.
type Capability struct{ Major, Minor int }

func (c Capability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// SM is the capability as one number: 86 for 8.6, 120 for 12.0.
func (c Capability) SM() int { return c.Major*10 + c.Minor }

// AtLeast says whether c is major.minor or newer.
func (c Capability) AtLeast(major, minor int) bool {
	return c.Major > major || c.Major == major && c.Minor >= minor
}

// MemoryFrom says whose total Memory is: the three differ by up to a few hundred MiB.
type MemoryFrom uint8

const (
	// Nominal is the vendor's round figure; no public log was found.
	Nominal MemoryFrom = iota
	// Runtime is CUDA's total_global_mem, which allocator limits and fractions use.
	Runtime
	// SMI is nvidia-smi's total, which may count memory that CUDA does not hand out.
	SMI
	// Given is what the user wrote under `devices:`.
	Given
)

func (m MemoryFrom) String() string {
	return [...]string{"nominal", "cuda", "nvidia-smi", "given"}[m]
}

// Device is one row. Memory 0 means no limit (only the device `none`).
type Device struct {
	Name              string
	Aliases           []string // longer spellings, lower case
	Kind              Kind
	Memory            units.Bytes
	MemoryFrom        MemoryFrom
	ComputeCapability Capability
	SMs               int         // multiprocessors
	Context           units.Bytes // what a CUDA context takes outside the allocator; see ContextKnown
	ContextKnown      bool
	ContextRange      *ContextRange // where public logs report no more than that; nil where nothing does
	Source            string        // where Memory and, if known, Context were read
	Figures           Figures
}

// UnknownError is a name that is in no row.
type UnknownError struct {
	Name   string
	Nearby []string // the names it may have meant, best first
}

func (e *UnknownError) Error() string {
	switch len(e.Nearby) {
	case 0:
		return fmt.Sprintf("got device %q, want a known device%s (all: memspec devices)", e.Name, hint(canonical(e.Name)))
	case 1:
		return fmt.Sprintf("got device %q, want a known device: did you mean %q? (all: memspec devices)", e.Name, e.Nearby[0])
	}
	return fmt.Sprintf("got device %q, want one of %s (all: memspec devices)", e.Name, strings.Join(e.Nearby, ", "))
}

// Lookup finds a row by its name or one of its aliases. Case, spaces and underscores do not matter,
// nor a leading "NVIDIA".
func Lookup(name string) (Device, error) {
	n := canonical(name)
	for i := range table {
		if table[i].Name == n || slices.Contains(table[i].Aliases, n) {
			return table[i].clone(), nil
		}
	}
	return Device{}, &UnknownError{Name: name, Nearby: nearby(n)}
}

// All returns every row, in the order of the table.
func All() []Device {
	out := make([]Device, len(table))
	for i := range table {
		out[i] = table[i].clone()
	}
	return out
}

// Names returns every row's name, in the order of the table.
func Names() []string {
	out := make([]string, len(table))
	for i := range table {
		out[i] = table[i].Name
	}
	return out
}

// memorySlack is how far two drivers may differ in the same card's memory: the rows of the table
// saw up to 2%, each way.
const memorySlack = 0.04

// Is says whether a GPU that a driver says of is the device: of its compute capability ("8.6"), and
// of its memory as nearly as drivers agree.
func (d *Device) Is(capability string, memory units.Bytes) bool {
	return d.ComputeCapability.String() == capability &&
		(d.Memory == 0 || math.Abs(float64(d.Memory-memory)) <= memorySlack*float64(d.Memory))
}

func (d Device) clone() Device {
	d.Aliases = slices.Clone(d.Aliases)
	d.Figures = figures[d.Name]
	if d.Kind == CUDA && !d.ContextKnown {
		d.ContextRange = contextOf(&d)
	}
	return d
}

// canonical writes a name the way rows do: "NVIDIA GeForce RTX 4090" is geforce-rtx-4090.
func canonical(name string) string {
	n := strings.ToLower(strings.TrimSpace(name))
	n = strings.Join(strings.FieldsFunc(n, func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), "-")
	return strings.TrimPrefix(n, "nvidia-")
}
