"""What a machine has, what went wrong and what is queried of a device, each by stubs of what answers."""

import os
import shutil
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from memshim.gpu import devices, failure, queries, where  # noqa: E402

MIB = 1 << 20

# Devices.


@pytest.mark.parametrize(
    "pretended, visible, there, found",
    [
        (True, "", None, True),
        (False, "", "/proc/driver/nvidia/version", False),
        (False, "-1", "/dev/nvidiactl", False),
        (False, None, "/proc/driver/nvidia/version", True),
        (False, "0", "/dev/nvidiactl", True),
        (False, None, "/dev/dxg", True),
        (False, None, "nvidia-smi", True),
        (False, None, None, False),
    ],
)
def test_whether_there_may_be_a_gpu(monkeypatch, pretended, visible, there, found):
    monkeypatch.setattr(where, "pretended", lambda: pretended)
    monkeypatch.setattr(os.path, "exists", lambda path: path == there)
    monkeypatch.setattr(shutil, "which", lambda name: name if name == there else None)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.hinted() is found


class Memory:
    used = 7


def theirs(count=3):
    """cuda.bindings.nvml, of whose devices the second does not say what it uses."""

    def memory(handle):
        if handle == "h1":
            raise RuntimeError("not supported")
        return Memory

    return types.SimpleNamespace(
        init_v2=lambda: None,
        system_get_driver_version=lambda: "580.1",
        device_get_count_v2=lambda: count,
        device_get_handle_by_index_v2=lambda i: f"h{i}",
        device_get_uuid=lambda handle: f"GPU-{handle}",
        device_get_memory_info_v2=memory,
    )


def old(count=1):
    """pynvml, whose texts are bytes in old releases."""
    return types.SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlMemory_v2=2,
        nvmlSystemGetDriverVersion=lambda: b"535.2",
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda i: f"h{i}",
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}".encode(),
        nvmlDeviceGetMemoryInfo=lambda handle, version: types.SimpleNamespace(used=version),
    )


@pytest.fixture
def bindings(monkeypatch):
    def have(new=None, pynvml=None):
        package = types.ModuleType("cuda.bindings")
        if new:
            package.nvml = new
        monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
        monkeypatch.setitem(sys.modules, "cuda.bindings", package)
        monkeypatch.delitem(sys.modules, "cuda.bindings.nvml", raising=False)  # a test before may have imported it
        monkeypatch.setitem(sys.modules, "pynvml", pynvml)

    return have


@pytest.mark.parametrize(
    "new, pynvml, used, driver",
    [
        (theirs(), None, {"GPU-h0": 7, "GPU-h2": 7}, "580.1"),
        (None, old(2), {"GPU-h0": 2, "GPU-h1": 2}, "535.2"),
        (theirs(0), old(), None, "580.1"),
        (None, None, {"GPU-s": 3 * MIB}, "GPU-s"),
    ],
)
def test_nvml_is_asked_by_the_binding_that_there_is(monkeypatch, bindings, new, pynvml, used, driver):
    bindings(new, pynvml)
    monkeypatch.setattr(devices, "query", lambda fields: [["GPU-s", "3"], ["GPU-t", "[N/A]"]])
    assert (devices.used(), devices.driver_version()) == (used, driver)


def test_a_driver_that_does_not_say_its_version_is_asked_by_its_program(monkeypatch, bindings):
    bindings(types.SimpleNamespace(init_v2=lambda: None))
    monkeypatch.setattr(devices, "query", lambda fields: [[fields, "x"]])
    assert devices.driver_version() == "driver_version"
    monkeypatch.setattr(devices, "query", lambda fields: [])
    bindings()
    assert devices.driver_version() == "" and devices.used() is None


@pytest.mark.parametrize(
    "there, ended, want",
    [
        (False, None, []),
        (True, subprocess.TimeoutExpired("x", 1), []),
        (True, OSError(), []),
        (True, (9, "a, b\n"), []),
        (True, (0, "a, b\n c ,d\n"), [["a", "b"], ["c", "d"]]),
    ],
)
def test_nvidia_smis_answer(monkeypatch, there, ended, want):
    def run(words, **more):
        assert words == ["nvidia-smi", "--query-gpu=x,y", "--format=csv,noheader,nounits"]
        if isinstance(ended, Exception):
            raise ended
        return types.SimpleNamespace(returncode=ended[0], stdout=ended[1])

    monkeypatch.setattr(shutil, "which", lambda name: name if there else None)
    monkeypatch.setattr(subprocess, "run", run)
    assert devices.query("x,y") == want


@pytest.mark.parametrize(
    "available, built, n, want",
    [
        (True, None, 92600, "9.26.0"),
        (False, "13.0", 91002, "9.10.2"),
        (True, "13.0", 8907, "0.89.7"),
        (False, None, 92600, ""),
        (True, "13.0", None, ""),
    ],
)
def test_the_version_of_cudnn(monkeypatch, available, built, n, want):
    monkeypatch.setattr(torch.backends.cudnn, "is_available", lambda: available)
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: n)
    monkeypatch.setattr(torch.version, "cuda", built)
    assert devices.cudnn_version() == want


# Failures.


def raised(error, cause=None, context=None):
    try:
        try:
            if context:
                raise context
        finally:
            raise error from cause if cause else None
    except BaseException as e:
        return e


def test_an_error_and_those_that_it_came_from():
    first, second = ValueError("1"), ValueError("2")
    e = RuntimeError("3")
    e.__cause__, e.__context__ = first, second
    e.__suppress_context__ = True
    assert failure.chain(e) == [e, first]
    e.__suppress_context__ = False
    first.inner_exception = e
    assert failure.chain(e) == [e, first, second], "each once"
    e.inner_exception = "no error"
    assert failure.chain(e) == [e, first, second]


class OutOfMemoryError(RuntimeError):
    pass


@pytest.mark.parametrize(
    "error, said",
    [
        (RuntimeError("x\n CUDA out of memory. Tried to\ny"), "CUDA out of memory. Tried to"),
        (RuntimeError("CUDA driver error: out of memory"), "CUDA driver error: out of memory"),
        (RuntimeError("RuntimeError: torch.OutOfMemoryError: CUDA out of memory. x"), "CUDA out of memory. x"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when"), "CUBLAS_STATUS_ALLOC_FAILED when"),
        (OutOfMemoryError("all is gone\nmore"), "all is gone"),
        (OutOfMemoryError(""), "no text"),
        (ValueError("CUDA out of memory"), ""),
        (RuntimeError("CUDA error: launch failure"), ""),
    ],
)
def test_whether_memory_ran_out(error, said):
    assert failure.out_of_memory(error) == said
    outer = KeyError("outer")
    outer.__cause__ = error
    assert failure.out_of_memory(outer) == said


SCRIPT = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "{own}", line 5, in forward
  File "{torch}/nn/functional.py", line 9, in relu
{last}
"""


@pytest.mark.parametrize(
    "last, want",
    [
        ("RuntimeError: ValueError: x", "ValueError: x (net_a.py:5)"),
        ("RuntimeError: no such shape", "RuntimeError: no such shape (net_a.py:5)"),
        ("nothing", "RuntimeError: The following operation failed in the TorchScript interpreter. (net_a.py:5)"),
    ],
)
def test_an_error_of_torchscript_is_what_failed_in_it(monkeypatch, tmp_path, last, want):
    monkeypatch.chdir(tmp_path)
    text = SCRIPT.format(own=tmp_path / "net_a.py", torch=os.path.dirname(torch.__file__), last=last)
    assert failure.describe(RuntimeError(text)) == want
    text = SCRIPT.format(own=torch.__file__, torch=os.path.dirname(torch.__file__), last=last)
    assert failure.describe(RuntimeError(text)) == want.removesuffix(" (net_a.py:5)"), "no place of the user's"


def test_an_error_has_the_innermost_place_of_the_users():
    def fails():
        torch.ones(2).view(3)

    line = fails.__code__.co_firstlineno + 1
    try:
        fails()
    except RuntimeError as e:
        assert failure.describe(e).startswith("RuntimeError: ") and failure.describe(e).endswith(f".py:{line})")
    assert failure.describe(ValueError("\n  a\nb")) == "ValueError: a"
    assert failure.describe(ValueError()) == "ValueError: no text"


@pytest.mark.parametrize(
    "text, on, said",
    [
        ("CUFFT_INTERNAL_ERROR", "t4", "; no pretend GPU emulates cufftB, whose memory only a real one knows"),
        ("CUFFT_INTERNAL_ERROR", "", ""),
        ("cusparse failed", "t4", ""),
        ("another", "t4", ""),
    ],
)
def test_the_last_call_of_a_library_that_a_pretend_gpu_refused_is_named(monkeypatch, text, on, said):
    from memshim import pretend

    calls = [types.SimpleNamespace(name=name) for name in ("cufftA", "cufftB", "cudnnX")]
    monkeypatch.setattr(pretend, "report", lambda: types.SimpleNamespace(refused=calls))
    monkeypatch.setenv("MEMSPEC_PRETEND", on)
    assert failure.not_stood_in_for(text) == said


def test_what_is_missing_has_the_place_that_wants_it():
    def wants():
        raise ModuleNotFoundError("No module named 'no_such_package_here'", name="no_such_package_here")

    try:
        wants()
    except ModuleNotFoundError as e:
        found, line = failure.describe(e), e.__traceback__.tb_lineno
    assert found.startswith("got no package no_such_package_here, want it installed beside PyTorch ")
    assert found.endswith(f"test_gpu_parts.py:{line})"), "the outermost of the user's"


# Queries.


def code(file, text, **there):
    """The functions of a file of that name."""
    exec(compile(text, file, "exec"), there)
    return there


@pytest.fixture
def queried(monkeypatch):
    monkeypatch.setattr(queries, "_asked", set())
    monkeypatch.setattr(queries, "_torch", "/lib/torch/")
    return queries._asked


@pytest.mark.parametrize(
    "files, want",
    [
        (["/app/x.py"], ""),
        (["/lib/torch/cuda/m.py:get_device_name", "/app/x.py"], "get_device_name"),
        (["/lib/torch/accelerator/m.py:get_memory_info", "/app/x.py"], "get_memory_info"),
        (["/lib/torch/cuda/m.py:is_bf16_supported", "/app/x.py"], None),
        (["/lib/torch/cuda/m.py:inner", "/lib/torch/cuda/m.py:mem_get_info", "/app/x.py"], "mem_get_info"),
        (["/lib/torch/cuda/m.py:mem_get_info", "/lib/torch/nn/x.py"], None),
        (["/lib/torch/cuda/m.py:mem_get_info", "/lib/torch/_dynamo/variables/x.py"], "mem_get_info"),
        (["/lib/torch/cuda/m.py:mem_get_info", "/lib/triton/x.py"], None),
        (["/lib/torch/cuda/m.py:mem_get_info", queries.OWN + "x.py"], None),
    ],
)
def test_who_queries(queried, files, want):
    frame = None
    for place in reversed(files):
        file, _, name = place.partition(":")
        frame = types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename=file, co_name=name), f_back=frame)
    assert queries._queried(frame) == want


@pytest.mark.parametrize(
    "function, caller, found, asked",
    [
        ("get_device_properties", "/app/x.py", queries.Properties, set()),
        ("get_device_properties", "/lib/torch/_dynamo/variables/x.py", int, {"memory", "name"}),
        ("get_device_name", "/app/x.py", int, {"name"}),
        ("get_device_capability", "/app/x.py", int, set()),
        ("get_device_properties", "/lib/torch/nn/x.py", int, set()),
    ],
)
def test_the_properties_of_a_device_are_watched(monkeypatch, queried, function, caller, found, asked):
    monkeypatch.setattr(torch.cuda, "_get_device_properties", lambda *of: 5, raising=False)
    queries._properties()
    inner = code(
        "/lib/torch/cuda/__init__.py", f"def {function}(): return ask(0)", ask=torch.cuda._get_device_properties
    )
    outer = code(caller, f"def call(): return {function}()", **{function: inner[function]})
    assert type(outer["call"]()) is found and queried == asked


@pytest.mark.parametrize("there", [True, False])
def test_what_a_program_may_query_by_is_replaced_once(monkeypatch, there):
    replaced, later = [], []
    monkeypatch.setattr(queries, "_installed", False)
    monkeypatch.setattr(queries, "_torch", "")
    monkeypatch.setattr(queries, "_asked", {"memory"})
    monkeypatch.setattr(queries, "_replace", lambda module, function, what: replaced.append((function, what)))
    monkeypatch.setattr(queries, "After", lambda module, act: later.append(module))
    monkeypatch.setattr(torch._C, "_accelerator_getMemoryInfo", print, raising=False)
    monkeypatch.setitem(vars(torch.cuda), "_cudart", object() if there else None)
    monkeypatch.setattr(torch.cuda, "_lazy_call", later.append)
    if there:
        monkeypatch.setitem(sys.modules, "pynvml", object())
    else:
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    queries.begin()
    queries.begin()
    nvml = [(name, what) for name, what in queries.NVML.items()]
    memory = [("_accelerator_getMemoryInfo", "memory"), *([("cudaMemGetInfo", "memory"), *nvml] if there else [])]
    assert replaced == memory and later == ([queries._properties] if there else ["pynvml"])
    assert queries.asked() == {} and os.path.join(queries._torch, "__init__.py") == torch.__file__
