package inductor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// pythonWrapper is the text of a file around the code of call.
func pythonWrapper(code string) string {
	lines := strings.Split(strings.TrimRight(code, "\n"), "\n")
	return `# AOT ID: ['0_inference']
class Runner:
    def call(self, args):
        arg0_1, arg1_1, arg2_1 = args
        args.clear()
        s77 = arg0_1
        assert_size_stride_grouped((arg1_1, arg2_1), ((s77, 64), (64, 128)), ((64, 1), (1, 64)), 'input')
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            ` + strings.Join(lines, "\n            ") + `

def get_args():
    arg0_1 = 8
    arg1_1 = rand_strided((8, 64), (64, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((64, 128), (1, 64), device='cuda:0', dtype=torch.float16)
    return [arg0_1, arg1_1, arg2_1]

triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''
def call(args):
    os.system('the text of a kernel')
''', device_str='cuda')
`
}

// TestPythonLines: what each line of a wrapper becomes.
func TestPythonLines(t *testing.T) {
	for _, tt := range []struct{ why, code, want string }{
		{"a buffer is made, used again and given to the caller", "buf0 = empty_strided_cuda((s77, 128), (128, 1), torch.float32)\nbuf1 = buf0; del buf0  # reuse\nreturn (buf1, )",
			"buf0%3 inductor::empty_strided() -> float32[s77, 128] strides [128, 1] cuda; buf1%4 inductor::alias(buf0%3); inductor::free(buf0%3); inductor::free(arg1_1%1); inductor::free(arg2_1%2); return [buf1%4]"},
		{"a product into a buffer, a view for its line alone", "buf0 = empty_strided_cuda((s77, 128), (128, 1), torch.float32)\n# Topologically Sorted Source Nodes: [linear], Original ATen: [aten.t, aten.addmm]\nextern_kernels.mm(reinterpret_tensor(arg1_1, (s77, 64), (64, 1), 2*s77), arg2_1, out=buf0)\ndel arg1_1\ndel arg2_1\nreturn (buf0, )",
			"buf0%3 inductor::empty_strided().aten::t, aten::addmm -> float32[s77, 128] strides [128, 1] cuda; view 1%4 inductor::reinterpret_tensor(arg1_1%1) -> [s77, 64] strides [64, 1] offset (2 * s77) cuda; aten::mm.out(view 1%4, arg2_1%2, out=buf0%3).aten::t, aten::addmm; inductor::free(view 1%4); inductor::free(arg1_1%1); inductor::free(arg2_1%2); return [buf0%3]"},
		{"an operator of several results, and what is told of one", "buf0 = torch.ops.aten.max.dim(arg1_1, -1, True, dtype=torch.float16)\nbuf1 = buf0[1]\nassert_tensor_metadata(buf1, (s77, ), (1, ), torch.int64, 'torch.ops.aten.max.dim')\ndel buf0\nreturn (buf1, s77, None)",
			"buf0%3 aten::max.dim(arg1_1%1, -1, True, dtype=5) -> no tensor, int64[s77] strides [1] cuda; buf1%4 inductor::getitem(buf0%3, 1); inductor::free(buf0%3); inductor::free(arg1_1%1); inductor::free(arg2_1%2); return [buf1%4]"},
		{"a convolution, its arguments by name", "buf0 = extern_kernels.convolution(arg1_1, arg2_1, stride=(2, 2), padding=(0, 0), bias=None)\nassert_tensor_metadata(buf0, (s77, 8), (8, 1), torch.float32, 'torch.ops.aten.convolution.default')\nreturn (buf0, )",
			"buf0%3 aten::convolution(arg1_1%1, arg2_1%2, stride=[2, 2], padding=[0, 0], bias=None) -> float32[s77, 8] strides [8, 1] cuda; inductor::free(arg1_1%1); inductor::free(arg2_1%2); return [buf0%3]"},
		{"a kernel takes nothing, and a pool is one block", "pool1 = empty_strided_cuda((512*s77, ), (1, ), torch.uint8)\nbuf0 = alloc_from_pool(pool1, 0, torch.float32, (s77, ), (1, ))\nraw_stream0 = get_raw_stream(0)\nxnumel = 128*s77\ntriton_poi_fused_0.run(arg1_1, buf0, xnumel, stream=raw_stream0)\ndel pool1\nreturn (buf0, )",
			"pool1%3 inductor::empty_strided() -> uint8[(512 * s77)] strides [1] cuda; buf0%4 inductor::reinterpret_tensor(pool1%3) -> float32[s77] strides [1] cuda; inductor::kernel(arg1_1%1, buf0%4).triton_poi_fused_0; inductor::free(pool1%3); inductor::free(arg1_1%1); inductor::free(arg2_1%2); return [buf0%4]"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			w, err := DecodeWrapper(pythonWrapper(tt.code), "w.py")
			require.NoError(t, err)
			require.NoError(t, program.Check(w.Program))
			assert.Equal(t, tt.want, nodes(t, w.Program))
			assert.False(t, w.Training)
			assert.True(t, w.Compiled)
			require.Len(t, w.Symbols, 1)
			assert.Equal(t, int64(8), w.Symbols[0].Example)
			assert.Equal(t, "float16[64, 128] strides [1, 64] cuda", w.Entry.Params[2].Meta.String())
		})
	}
}

// TestPythonRefused: what is not known is an error at its line.
func TestPythonRefused(t *testing.T) {
	for _, tt := range []struct{ why, code, want string }{
		{"a choice", "if arg0_1 > 3:\n    pass\nreturn ()", "10:13: got a block that runs if >, want a value that was read held against a number"},
		{"a choice by a number that was not read", "if arg0_1 == 3:\n    pass\nreturn ()", "10:13: got a block that runs if arg0_1, want a value that was read held against a number"},
		{"a loop over a range", "for i in range(3):\n    pass\nreturn ()", "10:13: got for, want if or while: other control flow in compiled code is not read"},
		{"a loop by a number", "while arg0_1:\n    pass\nreturn ()", "10:19: got arg0_1, want a tensor to decide by"},
		{"a choice by a call of what is named as a tensor is", "if not arg1_1(3):\n    pass\nreturn ()", "10:20: got arg1_1(…), want a tensor to decide by"},
		{"a choice by a text that is a tensor's name", "if not 'arg1_1':\n    pass\nreturn ()", "10:20: got arg1_1, want a tensor to decide by"},
		{"a loop by a call", "while f():\n    pass\nreturn ()", "10:13: got a loop while f(…), want a name"},
		{"a call of no function", "buf0 = f(args)", "10:20: got a call of f, want one that a wrapper makes"},
		{"a member of no list", "buf0[0] = arg1_1", "10:13: got an assignment to buf0[…], want one to a name or to a member of a list"},
		{"a list of too many", "buf0 = [None] * 100000", "10:27: got a list of 100000, want one of at most 4096 results, and 65536 together"},
		{"a list with a call", "buf0 = [f()]", "10:21: got a call of f, want numbers and names"},
		{"a call that no wrapper makes", "os.system('true')", "10:13: got a call of os.system, want one that a wrapper makes"},
		{"a call for a value", "x = open('f')", "10:17: got a call of open, want one that a wrapper makes"},
		{"a name that stands for nothing", "del buf9", "10:17: got buf9 freed, want a name that stands for something"},
		{"no name", "= arg1_1", "10:13: got an assignment to =…, want one to a name"},
		{"no return", "args.clear()", "1:1: got a call without a return"},
		{"another dtype", "buf0 = empty_strided_cuda((1, ), (1, ), torch.float33)", "10:53: got torch.float33, want a dtype"},
		{"a size of another kind", "buf0 = empty_strided_cuda((len(x), ), (1, ), torch.float32)", "10:40: got len(…) in a size, want whole numbers, symbols, + - * // % min and max"},
		{"more than a line", "del arg1_1 extra; x = 1 2", "10:24: got extra after del, want names"},
		{"an import", "import os", "10:20: got os, want the end of the line"},
		{"a call behind a known one", "args.clear(); os.system('true')", "10:27: got a call of os.system, want one that a wrapper makes"},
		{"a call among a kernel's arguments", "triton_poi_fused_0.run(arg1_1, os.system('true'), 8, stream=raw_stream0)", "10:44: got a call of os.system, want numbers and names"},
		{"a kernel that the module has not", "os.run('true')", "10:13: got a call of os.run, want one of a kernel that the module has"},
		{"a name among a kernel's arguments that stands for nothing", "triton_poi_fused_0.run(buf3, 8)", "10:36: got buf3, want a buffer, a number or a stream"},
		{"a call among what is checked", "assert_size_stride(arg1_1, (f(8), 64), (64, 1), 'input')", "10:41: got a call of f, want numbers and names"},
		{"a call in a number", "xnumel = 1 + f(8)", "10:26: got a call of f, want numbers and names"},
		{"a call on a list", "buf0 = empty_strided_cuda((8, ).index(f()), (1, ), torch.float32)", "10:44: got ., want , or )"},
		{"another guard", "with open('f'):\n    pass", "10:13: got with open(…), want one of torch.cuda._DeviceGuard(…)"},
		{"code behind a guard", "with torch.cuda._DeviceGuard(0): f()", "10:46: got f, want : and the end of the line"},
		{"a buffer by its member", "del arg1_1[0]", "10:23: got [ after del, want names"},
		{"a stream of something else", "raw_stream0 = get_raw_stream(f())", "10:27: got a call of get_raw_stream, want one that a wrapper makes"},
		{"a name that stands for nothing, given to the caller", "return (buf9, )", "10:21: got buf9, want a buffer"},
		{"code behind the return", "return ()\nargs.clear()", "11:13: got code after the return, want the end of call"},
		{"a text without an end", "x = 'abc", "10:17: got a text without an end"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, err := DecodeWrapper(pythonWrapper(tt.code), "w.py")
			assert.EqualError(t, err, tt.want)
		})
	}
	whole := pythonWrapper("return (arg1_1, )")
	for _, tt := range []struct{ why, old, new, want string }{
		{"a backward pass", "0_inference", "0_backward", "got the wrapper of a backward pass, want that of its forward pass before it in one file: it tells what the backward pass frees"},
		{"code of the module", "class Runner:", "import os; os.system('true')\nclass Runner:", "2:12: got os . system ( 'true' ), want a line of a wrapper's module"},
		{"an import of the module", "class Runner:", "from socket import *\nclass Runner:", "2:6: got an import of socket, want one that a wrapper makes: torch, triton, ctypes, math, cmath, random, os, tempfile"},
		{"several imports", "class Runner:", "import os, socket\nclass Runner:", "2:1: got several imports on a line, want one"},
		{"another function by a known name", "class Runner:", "empty_strided_cuda = torch.zeros\nclass Runner:", "2:1: got empty_strided_cuda = torch.zeros, want a line of a wrapper's module"},
		{"a method of a text", "class Runner:", "'text'.join(x)\nclass Runner:", "2:1: got 'text' . join ( x ), want a line of a wrapper's module"},
		{"a call for a name of the module", "class Runner:", "x = open('f')\nclass Runner:", "2:1: got x = open(…), want a line of a wrapper's module"},
		{"a call in a kernel's text", "class Runner:", "x = async_compile.triton(f())\nclass Runner:", "2:26: got a call of f, want numbers and names"},
		{"a choice of the module", "class Runner:", "if x:\n    f()\nclass Runner:", "2:1: got if x :, want a line of a wrapper's module"},
		{"another method", "class Runner:", "class Runner:\n    def __del__(self):\n        f()", "3:5: got def __del__ ( self ) : in the class of a wrapper, want its methods __init__, recursively_apply_fns and call"},
		{"another line of a method", "class Runner:", "class Runner:\n    def __init__(self, partitions):\n        f()", "4:9: got f ( ), want a line of a wrapper's class"},
		{"a call among the examples", "arg0_1 = 8", "arg0_1 = f()", "13:14: got a call of f, want numbers and names"},
		{"code among the examples", "arg0_1 = 8", "f()", "13:5: got f ( ), want an example of an argument"},
		{"a partition that is a text", "def get_args", "def part(args):\n    return ()\n\nrunner = Runner(partitions=['part'])\ndef get_args", "15:10: got partitions that are no functions of the module"},
		{"partitions that are one function", "def get_args", "def part(args):\n    return ()\n\nrunner = Runner(partitions=min(part))\ndef get_args", "15:10: got partitions that are no functions of the module"},
		{"a function of two names", "def get_args", "def a b(args):\n    return ()\n\ndef get_args", "12:1: got def a b ( args ) :, want a line of a wrapper's module"},
		{"a global of two words", "arg0_1 = 8", "global a b", "13:5: got global a b, want an example of an argument"},
		{"a global number", "arg0_1 = 8", "global 3", "13:5: got global 3, want an example of an argument"},
		{"three words", "arg0_1 = 8", "a b", "13:5: got a b, want an example of an argument"},
		{"an indented line", "class Runner:", "  x = None\nclass Runner:", "2:3: got an indented line, want one of the module"},
		{"partitions that the class is given", "def get_args", "runner = Runner(partitions=[partition_0])\ndef get_args", "12:10: got partitions that are no functions of the module"},
		{"a function that is called without a list", "return (arg1_1, )", "buf0 = part(arg1_1)\n            return (arg1_1, )\n\ndef part(args):\n    return ()\n", "10:20: got arg1_1, want a list of arguments"},
		{"a function that takes more", "return (arg1_1, )", "x = [arg1_1]\n            buf0 = part(x)\n            return (arg1_1, )\n\ndef part(args):\n    a, b = args\n    return (a, )\n", "15:8: got b among 1 arguments, want their names"},
		{"a function that calls itself", "return (arg1_1, )", "x = [arg1_1]\n            buf0 = part(x)\n            return (arg1_1, )\n\ndef part(args):\n    a, = args\n    x = [a]\n    b = part(x)\n    return (b, )\n", "17:9: got functions that call others deeper than 100, or of more than 65536 lines together"},
		{"a function without a return", "return (arg1_1, )", "x = [arg1_1]\n            buf0 = part(x)\n            return (arg1_1, )\n\ndef part(args):\n    a, = args\n", "11:20: got the function part without a return"},
		{"an argument without an example", "arg2_1 = rand", "arg3_1 = rand", "4:25: got the argument arg2_1, of which get_args has no example"},
		{"no example of any", "def get_args", "def other", "12:1: got def other ( ) :, want a line of a wrapper's module"},
		{"another id", "0_inference", "0_other", "1:1: got a wrapper of '0_other', want an inference, a forward or a backward pass"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, err := DecodeWrapper(strings.Replace(whole, tt.old, tt.new, 1), "w.py")
			assert.EqualError(t, err, tt.want)
		})
	}
	w, err := DecodeWrapper(strings.Replace(whole, "0_inference", "0_forward", 1), "w.py")
	require.NoError(t, err)
	assert.True(t, w.Training)
}

// TestOlderModules: how releases before 2.9 wrote what stands around call, which is a function of the module.
func TestOlderModules(t *testing.T) {
	const text = `# AOT ID: ['0_inference']
from torch import device, empty_strided
import triton.language as tl
"""what a module says of itself"""
from torch._inductor.runtime.triton_heuristics import (
    grid,
    start_graph,
)
reinterpret_tensor = torch.ops.inductor._reinterpret_tensor
_tensor_constant0 = None  # device(type='cuda', index=0)
triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''''', device_str='cuda')

async_compile.wait(globals())
del async_compile

def call(args):
    arg0_1, = args
    args.clear()
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
        stream0 = get_raw_stream(0)
        triton_poi_fused_0.run(arg0_1, _tensor_constant0, buf0, 8, grid=grid(8), stream=stream0)
        del arg0_1
    return (buf0, )


def benchmark_compiled_module(times=10, repeat=10):
    from torch._dynamo.testing import rand_strided
    from torch._inductor.utils import print_performance
    global _tensor_constant0
    _tensor_constant0 = rand_strided((8, ), (1, ), device='cuda:0', dtype=torch.float32)
    arg0_1 = rand_strided((8, ), (1, ), device='cuda:0', dtype=torch.float32)
    fn = lambda: call([arg0_1])
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    compiled_module_main('None', benchmark_compiled_module)
`
	w, err := DecodeWrapper(text, "w.py")
	require.NoError(t, err)
	require.NoError(t, program.Check(w.Program))
	assert.Equal(t, "buf0%1 inductor::empty_strided() -> float32[8] strides [1] cuda; inductor::kernel(arg0_1%0, buf0%1).triton_poi_fused_0; inductor::free(arg0_1%0); return [buf0%1]", nodes(t, w.Program))
}

// TestCommittedWrappers: those of the repository are sound.
func TestCommittedWrappers(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "compiled", "*.wrapper"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, SniffWrapper(text[:512]), path)
		w, err := DecodeWrapper(string(text), path)
		require.NoError(t, err, path)
		require.NoError(t, program.Check(w.Program), path)
	}
}

func FuzzPython(f *testing.F) {
	f.Add(pythonWrapper("buf0 = empty_strided_cuda((s77, 128), (128, 1), torch.float32)\nreturn (buf0, )"))
	f.Add(stepWrapper(stepForward, stepBackward))
	f.Add(pythonWrapper(pythonControl) + pythonFunctions)
	f.Add("# AOT ID: [_inference]\nclass Runner:\n def call(self,args):\n  =o()\ndef get_args():\ndef o(args):") // what is called is the module's own
	f.Fuzz(func(t *testing.T, text string) {
		w, err := DecodeWrapper(text, "w.py")
		if err != nil {
			return
		}
		if _, err := w.Entry.Graph(); err == nil {
			_ = listing(t, w.Program)
		}
	})
}
