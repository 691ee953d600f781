package aotinductor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A number of every type that PyTorch's generated code declares may be declared before it is read
// (torch/_inductor/codegen/cpp_utils.py, DTYPE_TO_CPP); another type is no number.
func TestNumberTypes(t *testing.T) {
	for _, name := range []string{"int64_t", "int32_t", "int16_t", "int8_t", "uint8_t", "double", "float", "bool",
		"auto"} {
		_, err := decodeCPP(wrapper(name+" u0_raw;\n"), "w.cpp")
		assert.NoError(t, err, name)
	}
	_, err := decodeCPP(wrapper("Handle u0_raw;\n"), "w.cpp")
	assert.ErrorContains(t, err, "got Handle = u0_raw, want a statement of a wrapper")
}
