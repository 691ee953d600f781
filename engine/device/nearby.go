package device

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/nearest"
	"github.com/memspec/memspec/engine/units"
)

// instances are machines that clouds rent, by how their names begin, with the card in each: as the
// providers list them (AWS accelerated computing, Google Cloud GPU machine types, Azure N-series).
// They are suggested, never taken: a machine's card may be shared or cut in parts.
var instances = map[string]string{
	"g4dn": "t4", "g5": "a10g", "g6e": "l40s", "g6": "l4", "p3dn": "v100-32gb", "p3": "v100-16gb", "p4de": "a100-sxm-80gb",
	"p4d":  "a100-sxm-40gb",
	"p5en": "h200-sxm", "p5e": "h200-sxm", "p5": "h100-sxm-80gb",
	"g2-standard": "l4", "a2-highgpu": "a100-sxm-40gb", "a2-ultragpu": "a100-sxm-80gb", "a3-highgpu": "h100-sxm-80gb",
	"a3-ultragpu":       "h200-sxm",
	"standard-nc4as-t4": "t4", "standard-nc24ads-a100": "a100-pcie-80gb", "standard-nc40ads-h100": "h100-nvl-94gb",
}

// nearby are the names that a name may have meant: those that it begins ("a100"), those that hold
// it ("4090"), the card of a cloud's machine ("g5.xlarge"), else the one most like it, by its name
// or an alias.
func nearby(name string) []string {
	var begun, hold, spellings []string
	for i := range table {
		row := &table[i]
		if strings.HasPrefix(row.Name, name+"-") {
			begun = append(begun, row.Name)
		}
		if len(name) > 1 && slices.ContainsFunc(strings.Split(row.Name, "-"), func(part string) bool {
			return part == name || len(name) > 3 && strings.Contains(part, name)
		}) {
			hold = append(hold, row.Name)
		}
		spellings = append(append(spellings, row.Name), row.Aliases...)
	}
	if begun != nil {
		return begun
	}
	if hold != nil {
		return hold
	}
	for begins, card := range instances { // one at most: no name goes on as another
		if rest, ok := strings.CutPrefix(name, begins); ok && (rest == "" || rest[0] == '.' || rest[0] == '-') {
			return []string{card}
		}
	}
	if like := nearest.Word(name, spellings); like != "" {
		d, _ := Lookup(like) // of a name in the table
		return []string{d.Name}
	}
	return nil
}

// Of returns the card that a driver reports by this name, compute capability ("8.6") and memory:
// the row of that name and capability whose memory is nearest. Where no driver gives a row so much
// memory (a pretend card may be given any), it is the row with that memory. It is false where no
// row has the name.
func Of(driver, capability string, memory units.Bytes) (Device, bool) {
	var found *Device
	off := func(d *Device) units.Bytes { return max(d.Memory-memory, memory-d.Memory) }
	for i := range table {
		d := &table[i]
		if figures[d.Name].Driver == driver && d.ComputeCapability.String() == capability &&
			(found == nil || off(d) < off(found)) {
			found = d
		}
	}
	if found == nil {
		return Device{}, false
	}
	d := found.clone()
	if !d.Is(capability, memory) {
		d.Memory, d.MemoryFrom = memory, Given
	}
	return d, true
}

// hint says what a word that is no card's name asks for.
func hint(name string) string {
	switch kind, _, _ := strings.Cut(name, ":"); kind {
	case "cuda", "gpu":
		return "; how much fits depends on the card, which nvidia-smi -L names"
	case "cpu":
		return "; the device none counts what the model itself takes on any card"
	case "mps", "xpu", "hip", "rocm", "tpu", "xla":
		return "; CUDA's are known"
	}
	if strings.HasPrefix(name, "mi") && strings.Trim(strings.TrimRight(name[2:], "axn"), "0123456789") == "" &&
		len(name) > 2 {
		return "; CUDA's are known"
	}
	return ""
}
