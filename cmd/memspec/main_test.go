package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShortened(t *testing.T) {
	whole := strings.Repeat("ü", longestError)
	assert.Equal(t, whole, shortened(whole))
	assert.Equal(t, strings.Repeat("ü", longestError-errorEnd)+" … "+strings.Repeat("ü", errorEnd-3)+"end",
		shortened(whole+"end"))
}
