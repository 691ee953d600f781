package engine

import (
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// origin is report.OriginUnknown where nothing records what the artifact was made from, so that no change of its sources can be
// noticed; "" where a recording, a sidecar or the texts in an archive do.
func (m *Model) origin(c *spec.Case) string {
	if m.made != nil {
		return ""
	}
	if p := m.Artifact.Program; p != nil && c.Source != "" {
		source, _, _ := strings.Cut(c.Source, ".py:")
		if len(texts(p, source+".py")) > 0 {
			return ""
		}
	}
	return report.OriginUnknown
}

// settleCommand makes an artifact that has what this one lacks of the live model: an export writes the releases of tensors and the
// operators of the live model beside the program, and where the live model differs from that, a recording of it is exact.
func (m *Model) settleCommand(c *spec.Case) string {
	if m.made == nil || m.Artifact.Program == nil || m.seen == nil && m.eager == nil {
		return m.remake(c)
	}
	source := c.Source
	if source == "" {
		source = "FILE.py:NAME"
	}
	words := []string{"python", "-m", "memshim", "capture", source}
	for _, in := range c.Inputs {
		words = append(words, "--input", in.String())
	}
	return quoteAll(append(words, "--on", c.Platform.Device.Name, "-o", modelName(m.Path)+".rec"))
}

// modelName is a file's name without its folder and its ending.
func modelName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if i := strings.IndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}
