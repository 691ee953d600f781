package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestYAMLText: what YAML reads as a number, a truth value, a date or a list is quoted.
func TestYAMLText(t *testing.T) {
	for _, plain := range []string{"model.pt", "models/a_b-1.pt2", "m1e3", "nulls"} {
		assert.Equal(t, plain, yamlText(plain))
	}
	for _, s := range []string{"", "1e3", "8bit.pt", "0x10", "2026-11-28", "-m.pt", ".inf", "null", "True", "NO", "y",
		"a: b", "a#b", "[a]", "*a"} {
		assert.Equal(t, `"`+s+`"`, yamlText(s))
	}
}
