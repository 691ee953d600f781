package aotinductor

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// Code that reads a value, chooses by it and loops, as inductor writes it.
const cppControl = `static constexpr int64_t *int_array_0=nullptr;
AtenTensorHandle buf0_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(0, int_array_0, int_array_0, cached_torch_dtype_bool, cached_torch_device_type_cuda, this->device_idx_, &buf0_handle));
RAIIAtenTensorHandle buf0(buf0_handle);
int64_t u0_raw;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(buf0, &u0_raw));
auto u0 = u0_raw;
if (!(u0 <= 9L)) { throw std::runtime_error("Expected u0 <= 9 but received " + std::to_string(u0)); }
if (!(2L < u0)) { throw std::runtime_error("Expected 2 < u0 but received " + std::to_string(u0)); }
RAIIAtenTensorHandle buf1;
int64_t buf0_scalar;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(buf0, &buf0_scalar));
if (buf0_scalar == 0) {
    const int64_t int_array_1[] = {u0, 64L};
    static constexpr int64_t int_array_2[] = {64L, 1L};
    AtenTensorHandle inner_buf0_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_1, int_array_2, cached_torch_dtype_float32, cached_torch_device_type_cuda, this->device_idx_, &inner_buf0_handle));
    RAIIAtenTensorHandle inner_buf0(inner_buf0_handle);
    buf1.reset();
    buf1 = std::move(inner_buf0);
} else if (buf0_scalar == 1) {
    AtenTensorHandle other_arg_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_assign_tensors_out(arg0_1, &other_arg_handle));
    RAIIAtenTensorHandle other_arg(other_arg_handle);
    buf1 = std::move(other_arg);
    arg0_1.reset();
}
while (1) {
    AtenTensorHandle test_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(0, int_array_0, int_array_0, cached_torch_dtype_bool, cached_torch_device_type_cuda, this->device_idx_, &test_handle));
    RAIIAtenTensorHandle test(test_handle);
    bool test_scalar;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_bool(test, &test_scalar));
    if (!test_scalar) break;
    buf0 = std::move(test);
}
output_handles[0] = buf1.release();
`

// TestControl: what choices, loops and values become: testdata/control. A name that stands outside
// of a block keeps its place in the program.
func TestControl(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "control", "*.txtar"), func(a *golden.Archive) {
		p, err := decodeCPP(wrapper(cppControl), "w.cpp")
		require.NoError(a.T(), err)
		require.NoError(a.T(), program.Check(p))
		a.Want("program", []byte(listing(a.T(), p)))
	})
}
