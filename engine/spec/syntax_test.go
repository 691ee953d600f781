package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The place of a syntax error is the line where what is open began, or where reading stopped.
func TestSyntaxErrorLine(t *testing.T) {
	for _, tt := range []struct{ why, text, want string }{
		{"a flow mapping that does not end: where it began", "version: 1\nmodels:\n  a: {artifact: a.pt, device: t4\n",
			"m.yaml:3:1: not YAML: did not find expected ',' or '}'"},
		{"on the first line", "models: {a: 1\n", "m.yaml:1:1: not YAML: did not find expected ',' or '}'"},
		{"on the second", "version: 1\nmodels: {a: 1\n", "m.yaml:2:1: not YAML: did not find expected ',' or '}'"},
		{"a flow sequence that does not end", "version: 1\nmodels:\n  a: [1, 2\n", "m.yaml:3:1: not YAML: did not find " +
			"expected ',' or ']'"},
		{"a key that is none", "version: 1\n- a\n", "m.yaml:2:1: not YAML: did not find expected key"},
		{"an item that is none", "- a\nb: 1\n", "m.yaml:2:1: not YAML: did not find expected '-' indicator"},
		{"a tag's handle", "version: 1\nmodels: !e!x 1\n", "m.yaml:2:1: not YAML: found undefined tag handle"},
		{"the scanner's: a value where none may be", "version: 1\nmodels: a: 1\n", "m.yaml:2:1: not YAML: mapping values " +
			"are not allowed in this context"},
		{"the scanner's: a character", "version: 1\nmodels: @x\n", "m.yaml:2:1: not YAML: found character that cannot " +
			"start any token"},
		{"the scanner's: a line that is no key", "version: 1\nmodels:\n  a\n  b: 1\n",
			"m.yaml:4:1: not YAML: mapping values are not allowed in this context"},
	} {
		_, err := Parse("m.yaml", []byte(tt.text))
		if assert.Error(t, err, tt.why) {
			assert.Equal(t, tt.want, strings.SplitN(err.Error(), "\n", 2)[0], tt.why)
		}
	}
}
