package aotinductor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// cppStatements is one of each kind of statement that a wrapper has.
const (
	cppStatements = buffer +
		`auto buf1 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, 1, int_array_1, int_array_1, 2L));
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(buf0, arg0_1, wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(w, 2, int_array_1, int_array_1, 0L))));
// Topologically Sorted Source Nodes: [gelu], Original ATen: [aten.addmm, aten.gelu]
call_triton_poi_fused_addmm_gelu_0(arg0_1, w, buf0, 1024L*s77, this->device_idx_, stream, kernels, this->cubin_dir_);
AtenTensorHandle buf3_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_convolution(arg0_1, w, nullptr, static_cast<const int64_t*>(std::array<int64_t, 2>{2L, s77}.data()), 2, 0, &buf3_handle));
RAIIAtenTensorHandle buf3(buf3_handle);
if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf3, {s77, 4L}, {4L, 1L}, "torch.ops.aten.convolution.default", cached_torch_dtype_float16, "torch.float16"); }
AtenTensorHandle buf4_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf4_handle));
RAIIAtenTensorHandle buf4(buf4_handle);
aoti_torch_proxy_executor_call_function(proxy_executor, 0, 0, nullptr, 2, std::array<AtenTensorHandle, 2>{arg0_1, buf4}.data());
assert_size_stride(buf4, {1L}, {1L}, "torch.ops.mine.op.default");
arg0_1.reset();
auto buf2 = std::move(buf0);  // reuse
output_handles[0] = buf2.release();
`

	// cppMemory has what else is said of memory, and an argument of every kind.
	cppMemory = buffer + `AtenTensorHandle buf5_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch__alloc_from_pool(buf0, 0, cached_torch_dtype_float16, 2, int_array_0, int_array_1, &buf5_handle));
RAIIAtenTensorHandle buf5(buf5_handle);
AtenTensorHandle buf6_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_as_strided(buf5, int_array_0, int_array_1, &buf6_handle));
RAIIAtenTensorHandle buf6(buf6_handle);
AtenTensorHandle buf7_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(buf6.get(), &buf7_handle));
AtenTensorHandle buf8_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_pow_Tensor_Scalar(wrap_with_raii_handle_if_needed(buf7_handle), 2.5, &buf8_handle));
AtenTensorHandle buf9_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_full(int_array_1, 2, std::numeric_limits<float>::infinity(), cached_torch_dtype_float16, cached_torch_layout_strided, cached_torch_device_type_cuda, 0, true, &buf9_handle));
RAIIAtenTensorHandle buf9(buf9_handle);
AtenTensorHandle buf10_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_clone_v2(buf9, cached_torch_memory_format_channels_last, "mean", false, &buf10_handle));
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_delete_tensor_object(buf10_handle));
{
auto buf11 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf9, 1, int_array_1, int_array_1, 0L));
}
AtenTensorHandle buf12_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided_pinned(2, int_array_0, int_array_1, cached_torch_dtype_int64, cached_torch_device_type_cuda, 0, &buf12_handle));
RAIIAtenTensorHandle buf12(buf12_handle);
output_handles[0] = buf0.release();
output_handles[1] = output_handles[0];
`
)

// TestDamaged holds what is said to wrappers with one word damaged: testdata/damaged.
func TestDamaged(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		name := filepath.Base(a.T().Name())
		text, read := damagedText(name)
		if strings.HasSuffix(name, "_memory") { // as it is, which Damage leaves out
			whole, err := read(text)
			require.NoError(a.T(), err)
			a.Want("read", []byte(whole))
		}
		a.Want("said", []byte(golden.Damage(a.T(), text, read)))
	})
}

// damagedText is a wrapper by its name, and what reads it.
func damagedText(name string) (string, golden.Reader) {
	text := ""
	switch name {
	case "cpp":
		text = wrapper(cppStatements)
	case "cpp_memory":
		text = wrapper(cppMemory)
	case "cpp_control":
		text = wrapper(cppControl)
	}
	return text, func(text string) (string, error) {
		p, err := decodeCPP(text, "w")
		if err != nil {
			return "", err
		}
		if err := program.Check(p); err != nil {
			return "", err
		}
		var out strings.Builder
		err = program.Write(&out, p)
		return out.String(), err
	}
}

// TestKinds holds what is said to wrappers in which one word is of another kind: a name is a text
// or a call, a call a name, a text a name, a number a text or a fraction. What is written alike
// does not stand for the same: testdata/kinds.
func TestKinds(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "kinds", "*.txtar"), func(a *golden.Archive) {
		text, read := damagedText(filepath.Base(a.T().Name()))
		a.Want("said", []byte(golden.DamageBy(a.T(), text, read, func(text string, from, to int) [][2]string {
			if line := text[strings.LastIndexByte(text[:from], '\n')+1 : from]; strings.Contains(line, "//") {
				return nil // a comment
			}
			word, with := text[from:to], func(what, other string) [2]string {
				return [2]string{what, text[:from] + other + text[to:]}
			}
			switch c := word[0]; {
			case '0' <= c && c <= '9':
				return [][2]string{with("as a text", `"`+word+`"`), with("as a fraction", word+".5")}
			case len(word) > 1 && (c == '"' || c == '\''):
				return [][2]string{with("as a name", strings.NewReplacer(" ", "_", "'", "_", "[", "_", "]",
					"_").Replace(word[1:len(word)-1]))}
			case !(c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'):
				return nil
			case !strings.HasPrefix(text[to:], "("):
				return [][2]string{with("as a text", `"`+word+`"`), with("as a call", word+"()"), with("as a member", word+"[0]")}
			}
			open, end := 0, to
			for ; end < len(text); end++ {
				if text[end] == '(' {
					open++
				} else if text[end] == ')' {
					if open--; open == 0 {
						break
					}
				}
			}
			return [][2]string{with("as a text", `"`+word+`"`), {"as a name", text[:to] + text[end+1:]},
				{"without arguments", text[:to] + "()" + text[end+1:]},
				{"with another argument", text[:end] + ", 3" + text[end:]}}
		})))
	})
}

// TestListed holds the programs of committed packages as text: testdata/listed.
func TestListed(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "listed", "*.txtar"), func(a *golden.Archive) {
		path := filepath.Join("..", "..", "..", "testdata", "compiled", filepath.Base(a.T().Name())+".t4")
		if _, err := os.Stat(path + ".pt2"); err != nil { // one that chooses, loops or reads values
			path = filepath.Join(filepath.Dir(path), "control", filepath.Base(path))
		}
		a.Want("package", []byte(listing(a.T(), open(a.T(), path+".pt2"))))
	})
}
