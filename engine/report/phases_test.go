package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPassesOfOneName: a pass that follows one of its name is a part of it, whose peaks are the
// largest of both, each by itself.
func TestPassesOfOneName(t *testing.T) {
	var all []Pass
	for _, p := range []Pass{
		{Name: "steady", Peak: Sizes{1, 5, 9}},
		{Name: "steady", Peak: Sizes{2, 4, 9}},
		{Name: "steady", Peak: Sizes{1, 1, 10}},
		{Name: "other", Peak: Sizes{7, 7, 7}},
		{Name: "steady", Peak: Sizes{3, 3, 3}},
	} {
		all = addPass(all, p)
	}
	assert.Equal(t, []Pass{{Name: "steady", Peak: Sizes{2, 5, 10}}, {Name: "other", Peak: Sizes{7, 7, 7}},
		{Name: "steady", Peak: Sizes{3, 3, 3}}}, all)
}
