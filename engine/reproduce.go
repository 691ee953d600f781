package engine

import (
	"strings"

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
		return quoteAll(append(words, c.Pos.File))
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
	return quoteAll(words)
}

func quoteAll(words []string) string {
	for i, w := range words {
		words[i] = ShellQuote(w)
	}
	return strings.Join(words, " ")
}

// ShellQuote quotes a word for a POSIX shell where it needs it.
func ShellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
