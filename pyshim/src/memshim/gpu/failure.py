"""What went wrong, in one line: an error reported by its cause, and whether the cause is that the
device has no memory left."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback

from memshim.frames import inside, shorten

_SCRIPT = "The following operation failed in the TorchScript interpreter."
_SCRIPT_PLACE = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in ', re.M)
_NAMED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Warning): ")

# How libraries say it: the caching allocator; CUDA itself, by the runtime and by the driver;
# cuBLAS, cuDNN and the others, which take their own memory. Some reach Python as a plain
# RuntimeError.
_OUT_OF_MEMORY = re.compile(
    r"CUDA out of memory|CUDA(?: driver)? error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|"
    r"CU[A-Z]+_STATUS_ALLOC_FAILED|CUFFT_ALLOC_FAILED|NCCL .*out of memory"
)


def chain(e: BaseException) -> list[BaseException]:
    """An error and those that it came from: Dynamo before 2.7 keeps the compiler's as an attribute
    alone."""
    out: list[BaseException] = []
    pending: list[BaseException | None] = [e]
    while pending:
        at = pending.pop()
        if at is not None and at not in out:
            out.append(at)
            inner = getattr(at, "inner_exception", None)
            pending += [
                at.__context__ if not at.__suppress_context__ else None,
                at.__cause__,
                inner if isinstance(inner, BaseException) else None,
            ]
    return out


def out_of_memory(e: BaseException) -> str:
    """What is said of the memory that was not there, in one line; empty where that was not the
    cause."""
    for at in chain(e):
        kind = type(at).__name__
        if isinstance(at, RuntimeError):
            text = next((line for line in str(at).splitlines() if _OUT_OF_MEMORY.search(line)), "")
            if text or kind == "OutOfMemoryError":
                said = text.strip() or first_line(at)
                while kind_of := _NAMED.match(said):  # TorchScript puts its own and that of the error before it
                    said = said[kind_of.end() :]
                return said
    return ""


_NO_TRITON = (
    "ModuleNotFoundError: No module named 'triton'",
    "TritonMissing:",
    "Cannot find a working triton installation.",  # before 2.7 an error without a class
)


def without_triton(e: BaseException) -> bool:
    """Whether the cause is that there is no Triton: PyTorch says so of some ways into its compiler,
    Python of others, and Dynamo reports Python's in its own error, Inductor before 2.11 PyTorch's."""
    return any(
        type(at).__name__ == "TritonMissing"
        or isinstance(at, ModuleNotFoundError)
        and at.name == "triton"
        or str(at).startswith(_NO_TRITON)
        for at in chain(e)
    )


# Who says that a compiler is not there, and what is said of it: Triton, before it builds what
# launches its kernels, and Inductor.
_COMPILERS = {
    "Failed to find C compiler": "got no C compiler (cc, gcc or clang), want one: Triton builds what launches its "
    "kernels with it (apt-get install gcc, or CC)",
    "No working C++ compiler found": "got no C++ compiler (g++), want one: torch.compile and AOTInductor build their "
    "code for the host with it (apt-get install g++, or CXX)",
}


def without_compiler(e: BaseException) -> str:
    """What is said where the cause is that a C or C++ compiler is missing; empty where it is
    not."""
    return next((said for at in chain(e) for text, said in _COMPILERS.items() if text in first_line(at)), "")


# How the loader says that a library was linked with another PyTorch: a function of namespace at, c10 or torch.
_OTHER_PYTORCH = re.compile(r"(?P<file>[^\s:]+): undefined symbol: _Z\w*?(?:2at|3c10|5torch)\d")


def of_another_pytorch(e: BaseException) -> str:
    """What is said where the cause is a library that was built for another PyTorch; empty where it is
    not."""
    for at in chain(e):
        if isinstance(at, (ImportError, OSError)) and (found := _OTHER_PYTORCH.search(str(at))):
            import torch

            file = os.path.basename(found["file"])
            return (
                f"got {file}, which was built for another PyTorch than {torch.__version__}, want its wheel for this one"
            )
    return ""


def without_package(e: BaseException) -> str:
    """What is said where the cause is an import of a package that is not installed; empty where it is
    not. What was imported for want of another is not the cause."""
    at: BaseException | None = e
    while at is not None:
        if isinstance(at, ModuleNotFoundError) and at.name:
            package = at.name.partition(".")[0]
            if package not in sys.modules and importlib.util.find_spec(package) is None:
                import torch

                return (
                    f"got no package {package}, want it installed beside PyTorch {torch.__version__}: where it has "
                    "kernels, in a wheel for this release"
                )
        at = at.__cause__
    return ""


# How what loads models and data says that it found nothing on this machine and reached no server: huggingface_hub,
# datasets, transformers; and what they load with.
_OFFLINE = {"OfflineModeIsEnabled", "LocalEntryNotFoundError", "NameResolutionError", "gaierror"}
_UNREACHED = re.compile(r"Couldn't reach |We couldn't connect to |Couldn't find cache for ")
_NO_WEIGHTS = re.compile(r"no file named .*(?:\.safetensors|\.bin)\b.* found in directory (?P<folder>\S+?)\.?(?:\s|$)")


def without_network(e: BaseException) -> str:
    """What is said where the cause is that a program loads from the network; empty where it is not."""
    if any(type(at).__name__ in _OFFLINE or _UNREACHED.match(first_line(at)) for at in chain(e)):
        return (
            f"got no answer of the network ({first_line(e)}), want what the program loads on this machine: a folder, "
            "or a cache that was filled before (HF_HOME)"
        )
    return ""


def without_weights(e: BaseException) -> str:
    """What is said where the cause is a model's folder without weights; empty where it is not."""
    for at in chain(e):
        if isinstance(at, OSError) and (found := _NO_WEIGHTS.search(str(at))):
            return (
                f"got {found['folder']} without weights, want them there, or the model of its config alone: "
                "from_config(AutoConfig.from_pretrained(…))"
            )
    return ""


def missing(e: BaseException) -> str:
    """What is said where the cause is that something is not on this machine: Triton, a compiler, a
    library's wheel for this PyTorch, a package, a model's weights, what the network has; empty where it
    is not."""
    if without_triton(e):
        return "got no package triton, want one: torch.compile makes its kernels with it (pip install triton)"
    causes = without_compiler, of_another_pytorch, without_package, without_weights, without_network
    return next((said for cause in causes if (said := cause(e))), "")


def not_stood_in_for(text: str) -> str:
    """Where a library's error is a pretend GPU's, the call that it refused: PyTorch names the
    library's status alone."""
    library = next((name for name in ("cufft", "cusolver", "cusparse", "cudnn") if name in text.lower()), "")
    if not library or not os.environ.get("MEMSPEC_PRETEND"):
        return ""
    from memshim import pretend

    calls = [c.name for c in pretend.report().refused if c.name.startswith(library)]
    return f"; no pretend GPU emulates {calls[-1]}, whose memory only a real one knows" if calls else ""


def describe(e: BaseException) -> str:
    """An error on one line, with the innermost place outside PyTorch and memshim. TorchScript's is
    reported by what failed in it."""
    text = str(e)
    if said := missing(e):
        at = next(
            (
                f"{shorten(f.filename)}:{f.lineno}"
                for f in traceback.extract_tb(e.__traceback__)
                if not inside(f.filename)
            ),
            "",
        )
    elif text.startswith(_SCRIPT):
        last = next((line.strip() for line in reversed(text.splitlines()) if _NAMED.match(line.strip())), "")
        places = [f"{shorten(m['file'])}:{m['line']}" for m in _SCRIPT_PLACE.finditer(text) if not inside(m["file"])]
        said, at = strip(last) or f"{type(e).__name__}: {_SCRIPT}", places[-1] if places else ""
        if not _NAMED.match(said):
            said = f"{type(e).__name__}: {said}"
    else:
        said = f"{type(e).__name__}: {first_line(e)}{not_stood_in_for(text)}"
        at = next(
            (
                f"{shorten(f.filename)}:{f.lineno}"
                for f in reversed(traceback.extract_tb(e.__traceback__))
                if not inside(f.filename)
            ),
            "",
        )
    return said + (f" ({at})" if at else "")


def first_line(e: BaseException) -> str:
    return next((line.strip() for line in str(e).splitlines() if line.strip()), "no text")


def strip(line: str) -> str:
    """TorchScript puts its own kind of error before the one that was raised."""
    return line.strip().removeprefix("RuntimeError: ")
