package suite

import (
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
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

// adviseCommand is the command that runs what could make a recorded case pass; "" where it does not
// fail, and of other cases.
func (r *Result) adviseCommand() string {
	c := &r.Case
	if r.Verdict.Outcome != verdict.Fail || c.Captured() == "" || c.Program.Serves() || c.Pos.File == "" {
		return ""
	}
	name, elsewhere := c.Written()
	if elsewhere != "" {
		return ""
	}
	return layout.ShellCommand([]string{"python", "-m", "memshim", "advise", name, c.Pos.File})
}
