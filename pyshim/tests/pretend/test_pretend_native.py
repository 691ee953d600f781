"""The C library by itself: without warnings, under sanitizers, against the public headers of both
CUDA majors."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from memshim.pretend import build
from memshim.program import process_reports

HERE = Path(__file__).parent / "native"
HEADERS = Path(__file__).parents[3] / ".cache" / "cuda-headers"
T4 = (
    "name=Tesla "
    "T4;major=7;minor=5;kernels=75;sms=40;threads_per_sm=1024;blocks_per_sm=16;shared_optin=65536;shared_per_sm=65536;"
    "shared_reserved=0;memory=1073741824;context=104857600"
)
H100 = (
    "name=NVIDIA H100 80GB "
    "HBM3;multicast=1;major=9;minor=0;kernels=90;sms=132;threads_per_sm=2048;blocks_per_sm=32;shared_optin=232448;"
    "shared_per_sm=233472;shared_reserved=1024;memory=2147483648"
)


# Each number of a card, all of them as large as they may be.
SMALL = "major minor kernels sms threads_per_sm blocks_per_sm registers_per_sm clock_khz memory_clock_khz bus_bits "
SMALL = [f"{key}={2147483637 + i}" for i, key in enumerate((SMALL + "multicast").split())]
LARGE = "shared_per_block shared_optin shared_per_sm shared_reserved context l2".split()
LARGE = [f"{key}={2**50 - i}" for i, key in enumerate(LARGE)]
WHOLE = ";".join(["name=a card", f"memory={2**50}", *SMALL, *LARGE])
WRONG = ["sms=2147483648", f"memory={2**50 + 1}", "sms=4x", "sms=-1", "sms=", "unknown=1"]
TESTS = (
    "unit misuse ends ranks groups formula attributes places nodes races collected kernels shareable rules host "
    "devices values captures launches calls dispatch messages recurrent ipc plans interpreter"
).split()
THREADS = ["unit", "values", "races"]  # those of threads, and what unit.c needs
# What tests have their own of: functions of other libraries, the list of these, and locks that
# are checked.
WRAPPED = "real_function dlsym dl_iterate_phdr pthread_mutex_lock pthread_mutex_unlock"
WRAPPED = [f"-Wl,--wrap={name}" for name in WRAPPED.split()]
INCOMPLETE = "MEMSPEC_PRETEND: got a device without major, sms"


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **options)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    for unit in [f for f in build.sources() if f.suffix == ".c"]:
        p = run(compiler, *build.FLAGS, *build.WARNINGS, "-fsyntax-only", unit)
        assert p.returncode == 0 and not p.stderr, f"{unit.name}\n{p.stderr}"


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    """The library's sources and its tests in one program, with sanitizers."""
    return made(tmp_path_factory.mktemp("native") / "unit", "address,undefined")


@pytest.fixture(scope="module")
def threaded(tmp_path_factory):
    """The same with the sanitizer that reports what threads touch without a lock."""
    return made(tmp_path_factory.mktemp("native") / "threaded", "thread", THREADS)


NO_THREAD_SANITIZER = "unexpected memory mapping"  # this kernel's addresses are none that it expects


@pytest.fixture(scope="module")
def forking(tmp_path_factory, threaded):
    """For what forks beside other threads: there the address sanitizer's own locks stay locked in
    the child."""
    if NO_THREAD_SANITIZER not in run(threaded).stderr:
        return threaded
    return made(tmp_path_factory.mktemp("native") / "forking", "undefined", THREADS)


def made(out, sanitizers, tests=TESTS):
    """Each source by itself, so that MEMSPEC_OBJECTS, a folder, keeps what did not change
    (pyshim/tools/mutants.py)."""
    units = [f for f in build.sources() if f.suffix == ".c"] + [HERE / f"{n}.c" for n in tests]
    flags = "-std=gnu11 -D_GNU_SOURCE -g1 -O0 -fno-sanitize-recover=all -Wall -Wextra -Werror -pthread".split()
    flags += ["-DPATIENCE=2", f"-fsanitize={sanitizers}", f"-I{build.SOURCES}"]
    headers = [f.read_bytes() for f in [*build.sources(), *sorted(HERE.glob("*.h"))] if f.suffix == ".h"]
    folder = Path(os.environ.get("MEMSPEC_OBJECTS", out.parent))
    objects = []
    for source in units:
        key = hashlib.sha256(b"\0".join([sanitizers.encode(), source.read_bytes(), *headers])).hexdigest()[:16]
        objects.append(folder / f"{source.stem}-{key}.o")
        if not objects[-1].exists():
            compiled(build.compiler(), *flags, "-c", source, "-o", objects[-1])
    compiled(build.compiler(), *flags, *objects, *WRAPPED, "-o", out, "-ldl")
    return out


def compiled(*command):
    p = run(*command)
    if p.returncode and "cannot find" in p.stderr:
        pytest.skip(f"no sanitizers here: {p.stderr.strip().splitlines()[-1]}")
    assert p.returncode == 0, p.stderr


@pytest.mark.parametrize(
    "name",
    [
        "devices",
        "memory",
        "lot",
        "expandable",
        "values",
        "spans",
        "marks",
        "own_code",
        "captures",
        "refusals",
        "collectives",
        "threads",
        "wrong_addresses",
        "wrong_handles",
        "wrong_sizes",
        "spanning",
        "managed",
        "no_addresses",
        "kept_groups",
        "communicators",
        "absent_counts",
        "formulas",
        "attributes",
        "places",
        "nodes",
        "collected",
        "architectures",
        "image_forms",
        "registered_kernels",
        "shareable",
        "transforms",
        "solvers",
        "pinned",
        "addresses",
        "pools",
        "calls",
        "driver_addresses",
        "reservations",
        "ipc",
        "cudnn_plans",
        "audit_events",
        "stack_texts",
        "launches",
    ],
)
def test_unit(unit, forking, name):
    unit = forking if name == "threads" else unit
    p = run(unit, name, env={"MEMSPEC_PRETEND": f"{T4}\n{H100}"})
    assert (p.returncode, p.stdout) == (0, "ok\n"), (
        f"{p.stderr}\nreproduce: MEMSPEC_PRETEND='{T4}\n{H100}' {unit} {name}"
    )
    # calls that nothing stands in for, and images for other cards, a line each
    refused = {"refusals": 2, "formulas": 2, "no_addresses": 1, "communicators": 1, "ipc": 1, "cudnn_plans": 3}
    refused |= {"reservations": 1, "architectures": 1, "image_forms": 13, "registered_kernels": 3, "shareable": 3}
    assert len(p.stderr.splitlines()) == refused.get(name, 0), p.stderr
    wrong = "memspec: the kernels of unit are for sm_75, not for a NVIDIA H100 80GB HBM3 (sm_90): their launch fails\n"
    assert name != "architectures" or p.stderr == wrong


PYTHON, CPU = "/libtorch_python.so", "/libtorch_cpu.so"


@pytest.mark.parametrize(
    "name, libraries", [("dispatch", CPU + PYTHON), ("elsewhere", CPU), ("onward_elsewhere", PYTHON)]
)
def test_unit_of_operators_by_their_library(unit, name, libraries):
    """A kernel is PyTorch's or Python's by the name of the file that it lies in: here the program's own."""
    p = run(libraries, name, executable=unit, env={"MEMSPEC_PRETEND": f"{T4}\n{H100}"})
    assert (p.returncode, p.stdout, p.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("name", ["recurrent", "recorded_solvers"])
def test_unit_of_what_an_h100_asked_for(unit, name):
    measured = Path(__file__).parents[3] / "testdata" / "measured"
    p = run(unit, name, env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", "MEASURED": str(measured)})
    assert (p.returncode, p.stdout, p.stderr) == (0, "ok\n", "")


def test_what_the_log_says(unit):
    p = run(unit, "logged", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", "MEMSPEC_PRETEND_LOG": "1"})
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr
    assert re.sub("0x[0-9a-f]+", "ADDRESS", p.stderr).splitlines() == [
        "memspec: device 0: 1024 bytes at ADDRESS",
        "memspec: device 0: ADDRESS freed",
        "memspec: device 0: 4096 bytes of managed memory at ADDRESS",
        "memspec: 2097152 bytes of addresses reserved at ADDRESS",
        "memspec: cuNoSuchCall is not there",
        "memspec: unsized: a size",
        "memspec: estimated: a formula",
    ]


def test_no_two_threads_touch_the_same_without_a_lock(threaded):
    p = run(threaded, "races", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}"})
    if NO_THREAD_SANITIZER in p.stderr:
        pytest.skip("no sanitizers here: this kernel's addresses are none that the thread sanitizer expects")
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr


def test_what_ranks_that_are_processes_send(unit, tmp_path):
    """Sums, gatherings, groups and splits of two, and of one that is out of step, late, silent or gone."""
    p = run(unit, "ranks", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", process_reports.FIGURES: str(tmp_path)})
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr
    for said, times in (
        ("rank 1 of 2 has sent nothing for 2 s: what it would send, rank 0 does not know", 2),  # late, silent
        ("rank 1 of 2 has sent nothing for 10 s: the receive of rank 0 fails", 1),
        ("rank 1 of 2 has ended, and rank 0 waits for a message from it", 1),
    ):
        assert [line for line in p.stderr.splitlines() if said in line] == [f"memspec: {said}"] * times, p.stderr


def test_unit_of_what_ranks_write_for_each_other(unit, tmp_path):
    p = run(unit, "messages", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", process_reports.FIGURES: str(tmp_path)})
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr
    assert p.stderr.splitlines() == [
        "memspec: what a rank sends is lost from here on: No space left on device",
        "memspec: rank 1 of 2 has ended, and rank 0 waits for a message from it",
    ]


def test_figures_stay_whatever_ends_a_process(unit, tmp_path):
    p = run(unit, "ends", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", process_reports.FIGURES: str(tmp_path)})
    assert (p.returncode, p.stdout, p.stderr) == (0, "ok\n", "")
    files = sorted(tmp_path.iterdir(), key=lambda f: int(f.name.split(".")[0]))
    assert all(f.name.endswith(".0.figures") and f.stat().st_mode & 0o777 == 0o600 for f in files)
    found = [process_reports.read_figures(f) for f in files]
    assert [f.command for f in found] == [[str(unit), "ends"]] * 5, "a process that takes nothing has no file"
    at_once, left, killed, parent, child = found
    mib = 1 << 20
    context = 100 * mib  # T4's
    assert at_once[1:3] == (process_reports.EXITED_AT_ONCE, 3)
    assert at_once.cards == [
        process_reports.Card("Tesla T4", 0, 1 << 30, context, context + 4 * mib, context + 20 * mib, 0, 0, 0, 6 * mib)
    ]
    assert left[1:3] == (process_reports.EXITED, 4)
    assert left.cards == [
        process_reports.Card("NVIDIA H100 80GB HBM3", 1, 2 << 30, 0, 5 * mib, 5 * mib, 3 * mib, 4 * mib, 0, 0)
    ]
    assert (killed.end, killed.cards[0].most) == (process_reports.RUNNING, context + 6 * mib)
    assert (parent[1:3], parent.cards[0].most) == ((process_reports.EXITED, 0), context + 7 * mib)
    assert (child[1:3], child.cards[0].most) == ((process_reports.EXITED_AT_ONCE, 0), 8 * mib), (
        "a child of one that had a context"
    )


def test_a_folder_without_room_for_figures(unit, tmp_path):
    """The process goes on; one line says what is lost. A folder that is gone is one that its
    command has removed."""
    for folder, said in (
        (tmp_path / "gone", ""),
        (Path("/dev/full"), "Not a directory; what this process takes is lost if it ends by a signal or by _exit\n"),
    ):
        p = run(unit, "memory", env={"MEMSPEC_PRETEND": f"{T4}\n{H100}", process_reports.FIGURES: str(folder)})
        assert (
            (p.returncode, p.stdout) == (0, "ok\n")
            and p.stderr.endswith(said)
            and p.stderr.count("\n") == said.count("\n")
        )


@pytest.mark.parametrize(
    "description, visible, name, said",
    [
        (
            f"{T4}\n{H100}",
            "1,0,5,0",
            "visible",
            "CUDA_VISIBLE_DEVICES=1,0,5,0: got 5, but the pretend devices are 0 to 1",
        ),
        (
            f"{T4}\n{H100}",
            "GPU-6d656d73-7065-632d-7072-6574656e6431,0,GPU-7",
            "visible",
            "CUDA_VISIBLE_DEVICES=GPU-6d656d73-7065-632d-7072-6574656e6431,0,GPU-7: got GPU-7",
        ),
        (T4, "", "none", ""),
        (T4, "-1", "none", "CUDA_VISIBLE_DEVICES=-1: got -1, but the pretend devices are 0 to 0"),
        (None, None, "none", ""),
        ("rubbish", None, "none", "MEMSPEC_PRETEND: got rubbish, want key=value"),
        (
            "name=x;sms=99999999999999999999999",
            None,
            "none",
            "MEMSPEC_PRETEND: got sms=99999999999999999999999, want a known key and a number",
        ),
        (
            "name=x;major=7;memory=9;context=10;sms=1;threads_per_sm=1",
            None,
            "none",
            "MEMSPEC_PRETEND: got a device without major, sms",
        ),
        ("\n".join([T4] * 17), None, "none", "MEMSPEC_PRETEND: got more than 16 devices"),
        (f"{T4}\n{H100}", " 1, 0,5", "visible", "CUDA_VISIBLE_DEVICES= 1, 0,5: got 5, but"),
        (f"{T4}\n{H100}", "1", "second", ""),
        (f"{T4}\n{H100}", "1,2", "second", "CUDA_VISIBLE_DEVICES=1,2: got 2, but the pretend devices are 0 to 1"),
        (f"{T4}\n{H100}", "1,GPX-", "second", "CUDA_VISIBLE_DEVICES=1,GPX-: got GPX-, but"),
        (f"{T4}\nrubbish", None, "none", "MEMSPEC_PRETEND: got rubbish, want key=value"),
        (WHOLE, None, "described", ""),
        *((f"{WHOLE};{wrong}", None, "none", f"MEMSPEC_PRETEND: got {wrong}, want a known key") for wrong in WRONG),
        *((f"{WHOLE};{key}=0", None, "none", INCOMPLETE) for key in ("major", "sms", "threads_per_sm", "memory")),
    ],
)
def test_descriptions(unit, description, visible, name, said):
    env = {k: v for k, v in (("MEMSPEC_PRETEND", description), ("CUDA_VISIBLE_DEVICES", visible)) if v is not None}
    p = run(unit, name, env=env)
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr
    assert p.stderr.startswith(f"memspec: {said}") if said else not p.stderr


def test_functions_by_name():
    """As PyTorch asks for the driver's: the newest form where there are several, the absence reported
    by the result."""
    source = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
def ask(name):
    f, result = ctypes.c_void_p(), ctypes.c_int(-1)
    given = name.encode(), ctypes.byref(f), 12000, ctypes.c_ulonglong(0), ctypes.byref(result)
    assert lib.cudaGetDriverEntryPointByVersion(*given) == 0
    return f.value, result.value
address = lambda name: ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
assert ask("cuMemCreate") == (address("cuMemCreate"), 0)
assert ask("cuMemGetAddressRange") == (address("cuMemGetAddressRange_v2"), 0)
assert ask("cuNoSuchCall") == (None, 1)
"""
    p = run(sys.executable, "-c", source, build.library() / build.LIBRARY)
    assert p.returncode == 0, p.stderr


# ---- the public headers ----


def includes(major):
    """Where the public headers of a major lie."""
    found = {
        12: [HEADERS / "12" / "nvidia" / p / "include" for p in ("cuda_runtime", "cuda_cupti", "nvml_dev")],
        13: [HEADERS / "13" / "nvidia" / "cu13" / "include"],
    }[major]
    if not all(f.is_dir() for f in found):
        pytest.skip("no CUDA headers here: make .cache/cuda-headers/.stamp")
    if major == 13:
        site = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
        found += [site / "cu13" / "include", site / "cudnn" / "include", site / "nccl" / "include"]
        if not (site / "cu13" / "include" / "cuda.h").is_file():
            pytest.skip("the torch here is not of CUDA 13")
    return [f"-I{f}" for f in found]


@pytest.fixture(scope="module")
def crt(tmp_path_factory):
    """crt/ by itself, for CUDA 12, whose runtime includes it; and the prototypes of what nvcc's
    host code calls, which are written for C++."""
    folder = HEADERS / "13" / "nvidia" / "cu13" / "include" / "crt"
    if not folder.is_dir():
        pytest.skip("no CUDA headers here: make .cache/cuda-headers/.stamp")
    out = tmp_path_factory.mktemp("crt")
    (out / "crt").symlink_to(folder)
    declared = {}
    for name in ("host_runtime.h", "device_functions.h"):
        pattern = (
            r"^(?:extern\s+)?(?:\"C\"\s+)?((?:[\w*]+\s+)*?[\w*]+\s*\**)\s*CUDARTAPI\s+(__cuda\w+)\(([^;{]*?)\)\s*;"
        )
        for kind, function, parameters in re.findall(pattern, (folder / name).read_text(), re.MULTILINE):
            kind = re.sub(r"__host__|__device__|extern|\"C\"", "", kind).strip()
            declared[function] = f"{kind} {function}({re.sub(r'=[^,)]*', '', parameters)});"
    wanted = "GetKernel LaunchKernel PushCallConfiguration PopCallConfiguration RegisterFunction"
    assert {f"__cuda{name}" for name in wanted.split()} <= declared.keys()
    declared = {f: d for f, d in declared.items() if "Reference" not in d}  # textures and surfaces: not defined here
    of_12 = {
        f: d
        for f, d in declared.items()
        if f not in ("__cudaGetKernel", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz")
    }
    for major, functions in (12, of_12), (13, declared):
        (out / f"prototypes_{major}.h").write_text(
            "#include <cuda_runtime_api.h>\n" + "\n".join(functions.values()) + "\n"
        )
    return out


def check_prototypes(unit, major, crt, *more):
    flags = "-std=gnu11 -D_GNU_SOURCE -DPUBLIC_HEADERS -fsyntax-only -Wall -Werror".split()
    flags += [f"-I{build.SOURCES}", *includes(major)]
    if major == 12:
        flags += [f"-I{crt}"]
    if Path(unit).name == "runtime_launch.c":
        flags += ["-include", crt / f"prototypes_{major}.h"]
    return run(build.compiler(), *flags, *more, unit)


@pytest.mark.parametrize("major", [12, 13])
def test_every_function_has_its_public_prototype(major, crt):
    """Compiled against the public headers, a function of another type is an error."""
    units = [f for f in build.sources() if f.suffix == ".c"]
    if major == 12:
        # what is used of these is the same in both
        units = [
            f for f in units if f.name not in ("cublas.c", "cudnn.c", "cudnn_formula.c", "nccl.c", "nccl_memory.c")
        ]
    for unit in units:
        p = check_prototypes(unit, major, crt)
        assert p.returncode == 0, f"{unit.name}\n{p.stderr}"


@pytest.mark.parametrize(
    "wrong",
    [
        "cudaError_t cudaMalloc(void *p) { return p ? 0 : 1; }",
        "CUresult cuMemMap(CUdeviceptr p) { return p ? 0 : 1; }",
        "void __cudaRegisterFatBinaryEnd(int module) { (void)module; }",
    ],
)
def test_a_wrong_type_is_seen(tmp_path, crt, wrong):
    unit = tmp_path / "runtime_launch.c"
    unit.write_text(f'#include "pretend.h"\n{wrong}\n')
    p = check_prototypes(unit, 13, crt)
    assert "conflicting types" in p.stderr


@pytest.mark.parametrize("major", [12, 13])
def test_layouts_and_numbers(major, tmp_path, crt):
    """Sizes, offsets and numbers by our declarations are those of the public headers."""
    printed = []
    for name, flags in (
        ("own", []),
        ("public", ["-DPUBLIC_HEADERS", *includes(major), *([f"-I{crt}"] if major == 12 else [])]),
    ):
        p = run(
            build.compiler(),
            "-std=gnu11",
            f"-DMAJOR={major}",
            f"-I{build.SOURCES}",
            *flags,
            HERE / "abi.c",
            "-o",
            tmp_path / name,
        )
        assert p.returncode == 0, p.stderr
        printed.append(run(tmp_path / name).stdout.splitlines())
    assert len(printed[0]) > 150 and printed[0] == printed[1]


# ---- building ----


def test_the_library_is_small():
    assert os.path.getsize(build.library() / build.LIBRARY) < 200 << 10


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "PREBUILT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(
        build.BuildError,
        match=r"got no C compiler \(cc, gcc or clang\), want one to build the pretend GPU from .*native, once; "
        r"memshim's wheel carries it built",
    ):
        build.library()
    monkeypatch.setenv("CC", "no-such-cc -O2")
    with pytest.raises(build.BuildError, match=r"got no C compiler \(no-such-cc\)"):
        build.library()


def test_a_build_that_fails_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    monkeypatch.setattr(build, "PREBUILT", tmp_path)
    monkeypatch.setattr(build, "cache", lambda: tmp_path / "cache")
    (tmp_path / "broken.c").write_text("int main(void) { return x; }\n")
    with pytest.raises(build.BuildError, match="the pretend GPU does not compile(.|\n)*broken.c:1"):
        build.library()
    assert not list((tmp_path / "cache").iterdir()), "nothing is left behind"


def test_built_once(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "cache", lambda: tmp_path)
    monkeypatch.setattr(build, "PREBUILT", tmp_path / "none")
    monkeypatch.setattr(build, "FLAGS", [f if f != "-O2" else "-O0" for f in build.FLAGS])
    first = build.library()
    assert (first / build.NVML).is_file()
    monkeypatch.setattr(build, "compile_into", None)
    assert build.library() == first, "the second time it is there"
    load = "import ctypes, sys; first, second = [ctypes.CDLL(p) for p in sys.argv[1:]]; print(second.nvmlInit_v2())"
    p = run(sys.executable, "-c", load, first / build.LIBRARY, first / build.NVML)
    assert p.stdout == "0\n", f"NVML's functions are the other library's: {p.stderr}"
