// Package origin knows what an artifact was made from: its sources, the sidecar beside it, the
// recording of a case that has no artifact. It compares that with what lies there now,
// without running anything.
package origin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// An Origin is what one artifact was made from, as far as it is known.
type Origin struct {
	Path     string           // of the artifact
	Program  *program.Program // that it holds; nil where it holds a run
	Made     *recording.Made  // how it was made; nil where nothing records that
	Compared bool             // its export compared the program with the live model
	Environ  []string         // the caller's, NAME=VALUE; nil where it is not known
}

// Unknown is report.OriginUnknown where nothing records what the artifact was made from, so that no
// change of its sources can be noticed; "" where a recording, a sidecar or the texts in an archive
// do.
func (o *Origin) Unknown(c *spec.Case) string {
	if o.Made != nil {
		return ""
	}
	if o.Program != nil && c.Source != "" {
		source, _, _ := strings.Cut(c.Source, ".py:")
		if len(texts(o.Program, source+".py")) > 0 {
			return ""
		}
	}
	return report.OriginUnknown
}

// Command is the command that makes the artifact again.
func (o *Origin) Command(c *spec.Case) string {
	switch {
	case c.Captured() != "":
		return CaptureCommand(c)
	case o.Made != nil && len(o.Made.Command) > 0:
		return layout.ShellCommand(o.Made.Command)
	case c.Source != "" && c.Pos.File != "":
		return layout.ShellCommand([]string{"python", "-m", "memshim", "export", c.Pos.File})
	}
	return "python -m memshim export"
}

// SettleCommand makes an artifact that has what this one lacks of the live model: an export writes
// the releases of tensors and the operators of the live model beside the program, and where the
// live model differs from that, a recording of it is exact.
func (o *Origin) SettleCommand(c *spec.Case) string {
	if o.Made == nil || !o.Compared {
		return o.Command(c)
	}
	return o.RecordingOf(c)
}

// RecordingOf records a run of what a program was made from: the run has what no formula has. It is
// "" of a recorded run.
func (o *Origin) RecordingOf(c *spec.Case) string {
	if o.Program == nil {
		return ""
	}
	source := c.Source
	if source == "" {
		source = "FILE.py:NAME"
	}
	words := []string{"python", "-m", "memshim", "capture", source}
	for _, in := range c.Inputs {
		words = append(words, "--input", in.String())
	}
	return layout.ShellCommand(append(words, "--on", c.Platform.Device.Name, "-o", modelName(o.Path)+".rec"))
}

// CheckValues runs a recorded program again with other values; "" where nothing records how it was
// run.
func (o *Origin) CheckValues() string {
	if o.Made == nil {
		return ""
	}
	words := slices.Clone(o.Made.Command)
	at := slices.Index(words, "--")
	if at < 0 || !slices.Contains(words[:at], "run") {
		return ""
	}
	return layout.ShellCommand(slices.Insert(words, at, "--check-values"))
}

// modelName is a file's name without its folder and its ending.
func modelName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if i := strings.IndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// CaptureCommand is the command that records a case which has no artifact.
func CaptureCommand(c *spec.Case) string {
	if c.Program != nil && c.Pos.File == "" && c.Program.Ranks == nil {
		return layout.ShellCommand(c.Program.RunWords("--on", c.Platform.Device.Name, "--record", c.Captured()))
	}
	words := []string{"python", "-m", "memshim", "capture"}
	if c.Pos.File != "" {
		name, on := c.Written()
		words = append(words, c.Pos.File, "--case", name)
		if on != "" {
			words = append(words, "--on", on)
		}
	} else {
		words = append(words, cmp.Or(c.Source, "memspec.yaml"))
	}
	return layout.ShellCommand(words)
}

// RecordCommand records a run again for a case: the command that made the recording, on the case's
// device; where it holds none, the form of one.
func RecordCommand(made *recording.Made, c *spec.Case) string {
	on := c.Platform.Device.Name
	if c.Captured() != "" {
		return CaptureCommand(c)
	}
	if made != nil {
		words := slices.Clone(made.Command)
		for i, w := range words {
			switch {
			case w == "--":
				return layout.ShellCommand(slices.Insert(words, i, "--on", on))
			case w == "--on" && i+1 < len(words):
				words[i+1] = on
				return layout.ShellCommand(words)
			case strings.HasPrefix(w, "--on="):
				words[i] = "--on=" + on
				return layout.ShellCommand(words)
			}
		}
		if len(words) > 0 {
			return layout.ShellCommand(append(words, "--on", on))
		}
	}
	return "python -m memshim capture FILE.py:NAME --on " + on + " -o FILE.rec, or memshim run --on " + on +
		" --record FILE.rec -- PROGRAM"
}
