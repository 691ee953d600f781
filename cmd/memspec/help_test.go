package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// Help has an empty line between its paragraphs, and none before the first.
func TestHelpParagraphs(t *testing.T) {
	var out strings.Builder
	cmd := &cobra.Command{Use: "memspec", Long: "One\nline.\n\nTwo.\n\nThree.", Run: func(*cobra.Command, []string) {}}
	cmd.SetOut(&out)
	help(cmd, nil)
	assert.Regexp(t, `\AOne line\.\n\nTwo\.\n\nThree\.\n\nUsage:\n`, out.String())
}
