package layout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOneLineShowsBlanksOfNoWidth(t *testing.T) {
	assert.Equal(t, "a\uFFFDb", OneLine("a\u200bb"))
}
