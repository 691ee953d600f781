package suite

import (
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/spec"
)

// ExplainCommand is the command that gives a case's account again.
func ExplainCommand(c spec.Case) string {
	words := []string{"memspec", "explain"}
	if c.Pos.File != "" {
		name, elsewhere := c.Written()
		words = append(words, "--case", name)
		if elsewhere != "" {
			words = append(words, "--device", elsewhere)
		}
		return layout.ShellCommand(append(words, c.Pos.File))
	}
	words = append(words, c.Artifact)
	for _, in := range c.Inputs {
		words = append(words, "--input", in.String())
	}
	words = append(words, "--device", c.Platform.Device.Name, "--torch", c.Platform.Torch.String())
	if c.Runtime != spec.ByArtifact {
		words = append(words, "--runtime", string(c.Runtime))
	}
	if c.Platform.AllocConf != "" {
		words = append(words, "--alloc-conf", c.Platform.AllocConf)
	}
	return layout.ShellCommand(words)
}
