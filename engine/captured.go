package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// Uncaptured is a case with a source and without an artifact whose recording is not there: it has to be run once. Its verdict is inconclusive.
type Uncaptured struct {
	Case    *spec.Case
	Path    string // where the recording is looked for
	Command string // that makes it
}

func (e *Uncaptured) Error() string {
	return "got no recording of it (" + e.Path + "), want the one that this makes: " + e.Command
}

// pathOf is the file that a case is predicted from: its artifact, or the recording of its source.
func pathOf(c *spec.Case) string {
	if path := c.Captured(); path != "" {
		return path
	}
	return c.Artifact
}

// artifactOf is pathOf; the error says that there is no recording, as there is no program that could be run in its place.
func artifactOf(c *spec.Case) (string, error) {
	path := c.Captured()
	if path == "" {
		return c.Artifact, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", &Uncaptured{Case: c, Path: path, Command: CaptureCommand(c)}
	}
	return path, nil
}

// RecordedOn returns the device that a run was recorded on; the error says that no row of the table is it.
func RecordedOn(h *recording.Header) (device.Device, error) {
	if h.Device.Total != nil {
		if d, known := device.Of(h.Device.Name, h.Device.ComputeCapability, *h.Device.Total); known {
			return d, nil
		}
	}
	return device.Device{}, fmt.Errorf("it was recorded on %q, which is no device of memspec devices, want --device", h.Device.Name)
}
