package recorded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// elsewhere is the note of a run that was not recorded on the case's device with its torch, or that
// does not record where; nil where it was. Kernels and libraries choose by compute capability,
// multiprocessors and release, so a run of another one is no evidence: no budget passes by it. The
// same holds for a run that queried the memory or the name of its device, on any other device.
// Another memory of the same chip changes nothing else.
func elsewhere(h *recording.Header, c *spec.Case) *note.Note {
	if h == nil {
		return &note.Note{ID: note.OtherDevice, Undecided: true,
			Subject: "a memory snapshot does not record on which device it was made; allow: [other-device] states that it was " +
				"the case's"}
	}
	// its budgets are on what the model itself allocates, which the run did too
	if c.Platform.IsNone() && h.Where != recording.OnCPU {
		return &note.Note{ID: note.OtherDevice,
			Subject: fmt.Sprintf("the run was recorded on %s with torch %s: what libraries took there counts",
				h.Device.Name, h.Torch)}
	}
	differ := otherwise(h, c)
	if len(differ) == 0 {
		return nil
	}
	return &note.Note{ID: note.OtherDevice, Undecided: true,
		Subject: fmt.Sprintf("%s; to record it for the case: %s", strings.Join(differ, "; "),
			origin.RecordCommand(h.Made, c))}
}

// otherwise says why a recording is no evidence for a case: none where it is.
func otherwise(h *recording.Header, c *spec.Case) []string {
	d, want := &c.Platform.Device, c.Platform.Torch
	if h.Where == recording.OnCPU {
		return []string{"the run was recorded on CPU tensors, the case is on " + d.Name}
	}
	var out []string
	if got := h.Device.ComputeCapability; got != d.ComputeCapability.String() {
		out = append(out, fmt.Sprintf("the run was recorded on %s (compute capability %s), the case is on %s (%s)",
			h.Device.Name, got, d.Name, d.ComputeCapability))
	} else if !sameClass(d, h) {
		out = append(out, fmt.Sprintf("the run was recorded on %s (%s), the case is on %s (%s)", h.Device.Name,
			chipText(h.Device.SMs, h.Device.Total), d.Name, chipText(d.SMs, &d.Memory)))
	}
	switch {
	case !sameRelease(want, h.Torch):
		out = append(out,
			fmt.Sprintf("the run was recorded with torch %s, the case says %s (torch: %s states the recording's)",
				h.Torch, want, release(h.Torch)))
	case !want.Covers(h.Torch):
		out = append(out, fmt.Sprintf("the run was recorded with torch %s, the case says %s", h.Torch, want))
	}
	if len(out) > 0 {
		return out
	}
	total := h.Device.Total
	if slices.Contains(h.Device.Asked, recording.AskedMemory) &&
		(total == nil || !d.Is(h.Device.ComputeCapability, *total)) {
		out = append(out,
			"the run queried the memory of its device, "+totalText(total)+", and the case's has "+d.Memory.String())
	}
	if slices.Contains(h.Device.Asked, recording.AskedName) && !named(d, h.Device.Name) {
		out = append(out, "the run queried the name of its device, "+h.Device.Name+", and the case is on "+d.Name)
	}
	return out
}

// sameRelease says whether a release that PyTorch printed has the major and the minor number of a
// version.
func sameRelease(v platform.Version, printed string) bool {
	got, err := platform.ParseVersion(release(printed))
	return err == nil && got.Major == v.Major && got.Minor == v.Minor
}

// release is the major and the minor number of what PyTorch printed: 2.14 of 2.14.1+cu130.
func release(printed string) string {
	number, _, _ := strings.Cut(printed, "+")
	parts := strings.SplitN(number, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// sameClass says whether kernels and libraries see the same in a device and in the one that a run
// was recorded on: its multiprocessors where they are reported, as a pretend card may have been
// given more memory than it has; else its memory.
func sameClass(d *device.Device, h *recording.Header) bool {
	if h.Device.SMs > 0 {
		return d.ComputeCapability.String() == h.Device.ComputeCapability && d.SMs == h.Device.SMs
	}
	return h.Device.Total != nil && d.Is(h.Device.ComputeCapability, *h.Device.Total)
}

// named says whether a driver's name for a card means a device.
func named(d *device.Device, name string) bool {
	if row, err := device.Lookup(name); err == nil {
		return row.Name == d.Name
	}
	return strings.EqualFold(name, d.Name)
}

// chipText is "80 multiprocessors", and where these are not known the memory.
func chipText(sms int, memory *units.Bytes) string {
	if sms > 0 {
		return fmt.Sprintf("%d multiprocessors", sms)
	}
	return totalText(memory)
}

func totalText(b *units.Bytes) string {
	if b == nil {
		return "which it does not record"
	}
	return b.String()
}

// On returns the device that a run was recorded on; the error says that no row of the table is it.
func On(h *recording.Header) (device.Device, error) {
	if h.Device.Total != nil {
		if d, known := device.Of(h.Device.Name, h.Device.ComputeCapability, *h.Device.Total); known {
			return d, nil
		}
	}
	return device.Device{}, fmt.Errorf("it was recorded on %q, which is no device of memspec devices, want --device",
		h.Device.Name)
}
