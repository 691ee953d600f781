"""What is said of an error in one line."""

import ctypes
import inspect
import os
import shutil
import subprocess

import captured
import pretended
import pytest

from memshim.gpu import failure


def test_triton_that_is_missing_is_named():
    """As PyTorch's compiler says it, and as Python does where the compiler imports it: each wrapped
    in an error of the compiler's own."""
    exc = pytest.importorskip("torch._inductor.exc")

    def refused(missing):
        try:
            try:
                raise missing
            except BaseException as e:
                raise exc.InductorError(e, None) from e
        except exc.InductorError as e:
            return failure.describe(e)

    said = "got no package triton, want one: torch.compile makes its kernels with it (pip install triton)"
    assert refused(exc.TritonMissing(None)).startswith(said)
    assert refused(ModuleNotFoundError("No module named 'triton'", name="triton")).startswith(said)
    assert refused(
        RuntimeError("ModuleNotFoundError: No module named 'triton'\n\nSet TORCHDYNAMO_VERBOSE=1")
    ).startswith(said)
    assert "triton, want one" not in refused(ModuleNotFoundError("No module named 'tritonclient'", name="tritonclient"))
    assert "triton, want one" not in refused(RuntimeError("no triton in sight"))


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("Cannot find a working triton installation. Either the package", "got no package triton"),
        ("Failed to find C compiler. Please specify", "got no C compiler"),
        ("No kernel", "Wrapped: backend='inductor' raised:"),
    ],
)
def test_a_cause_that_dynamo_keeps_as_an_attribute(cause, said):
    """As before 2.7: raised from None, its cause's text not in the first line."""

    class Wrapped(RuntimeError):
        inner_exception = RuntimeError(cause)

    assert failure.describe(Wrapped(f"backend='inductor' raised:\nRuntimeError: {cause}")).startswith(said)


def test_a_compiler_that_is_missing_is_named(monkeypatch, tmp_path):
    """As Triton and Inductor say it where PATH has none, in an error of the compiler's own."""
    exc = pytest.importorskip("torch._inductor.exc")
    building = pytest.importorskip("triton.runtime.build")
    cpp_builder = pytest.importorskip("torch._inductor.cpp_builder")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)

    def refused(call):
        try:
            try:
                call()
            except Exception as e:
                raise exc.InductorError(e, None) from e
        except exc.InductorError as e:
            return failure.describe(e)
        return "nothing"

    # more from release to release
    wants = sum(p.default is p.empty for p in inspect.signature(building._build).parameters.values())
    said = refused(lambda: building._build("launcher", str(tmp_path / "main.c"), str(tmp_path), *[[]] * (wants - 3)))
    assert said.startswith(
        "got no C compiler (cc, gcc or clang), want one: Triton builds what launches its kernels with it (apt-get "
        "install gcc, or CC)"
    ), said
    cpp_builder.cpp_compiler_search.cache_clear()
    said = refused(lambda: cpp_builder.cpp_compiler_search(("g++-of-no-kind",)))
    assert said.startswith(
        "got no C++ compiler (g++), want one: torch.compile and AOTInductor build their code for the host with it "
        "(apt-get install g++, or CXX)"
    ), said


def test_a_library_that_was_built_for_another_pytorch_is_named(tmp_path):
    """As the loader says it of one that asks for a function which this release does not have."""
    torch = pytest.importorskip("torch")
    if not (cc := shutil.which("cc")):
        pytest.skip("no C compiler here")

    def refused(symbol):
        (tmp_path / "kernels.c").write_text(f"int {symbol}(void);\nint call(void) {{ return {symbol}(); }}\n")
        library = tmp_path / f"kernels{len(symbol)}.so"
        subprocess.run([cc, "-shared", "-fPIC", "-o", library, tmp_path / "kernels.c"], check=True)
        try:
            ctypes.CDLL(str(library), mode=os.RTLD_NOW)
        except OSError as e:
            return failure.missing(e)
        return "loaded"

    said = f", which was built for another PyTorch than {torch.__version__}, want its wheel for this one"
    for symbol in ("_ZN2at4_ops9long_gone4callEv", "_ZNK3c1010TensorImpl4goneEv", "_ZN5torch3jit4goneEv"):
        assert refused(symbol) == f"got kernels{len(symbol)}.so{said}"
    assert refused("_ZN5other3c10E") == refused("flat2at3") == "", "somebody else's"


def test_a_call_that_no_pretend_gpu_stands_in_for_is_named(tmp_path):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "zoo.py").write_text(
        "import torch\nclass Sparse(torch.nn.Module):\n"
        "    def forward(self, x): return torch.mm(torch.eye(4, device=x.device).to_sparse_csr(), x)\n"
    )
    p = captured.memshim(tmp_path, "capture", "zoo.py:Sparse", "--input", "float32[4,64]", "--on", "t4", "-o", "x.rec")
    assert (
        p.returncode == 2
        and "; no pretend GPU emulates cusparseCreate, whose memory only a real one knows (zoo.py:3)" in p.stderr
    ), p.stderr


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as e:
        return e


OfflineModeIsEnabled = type("OfflineModeIsEnabled", (ConnectionError,), {})  # huggingface_hub's


@pytest.mark.parametrize(
    "error, said",
    [
        (ModuleNotFoundError("No module named 'flash_no'", name="flash_no.ops"), "got no package flash_no, want it"),
        (raised(ImportError("FA"), ModuleNotFoundError("", name="flash_no")), "got no package flash_no, want it"),
        (ModuleNotFoundError("No module named 'torch.gone'", name="torch.gone"), ""),  # the package is there
        (raised(RuntimeError("it is"), ValueError("another")), ""),
        (
            OSError("Error no file named model.safetensors, or pytorch_model.bin, found in directory models/own."),
            "got models/own without weights, want them there, or the model of its config alone: from_config(",
        ),
        (OSError("[Errno 2] No such file or directory: 'model.safetensors'"), ""),
        (
            raised(ConnectionError("Couldn't reach 'imdb' on the Hub (OfflineModeIsEnabled)")),
            "got no answer of the network (Couldn't reach 'imdb' on the Hub (OfflineModeIsEnabled)), want what the "
            "program loads on this machine",
        ),
        (raised(OSError("not available"), OfflineModeIsEnabled("no")), "got no answer of the network (not available)"),
        (OSError("We couldn't connect to 'https://hub' to load the files\nCheck"), "got no answer of the network (We"),
        (ConnectionError("reset by peer"), ""),
    ],
    ids=[
        "a package",
        "a package that another wants",
        "a module of a package that is there",
        "another error",
        "a folder without weights",
        "a file that is not there",
        "a data set",
        "what the Hub's client says",
        "a model",
        "a connection that broke",
    ],
)
def test_what_is_not_on_this_machine_is_named(error, said):
    found = failure.missing(error)
    assert found.startswith(said) if said else not found, found
