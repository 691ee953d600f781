"""What cuDNN answers is what is committed: asked again where a library is installed, compared with
recordings where it is not.

The library is that of the torch of this Python, and those in the folders of MEMSPEC_CUDNN (as
--cudnn, separated by colons).
"""

import csv
import functools
import hashlib
import json
import os
import pickle
import sys
from pathlib import Path

import pytest

from memshim.workspace import profiles, query, torchwheel

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "testdata" / "workspace"
FACTS = ROOT.parent / "shared" / "facts"

sys.path.insert(0, str(ROOT / "pyshim" / "tools" / "truth"))
import ask_kinds  # noqa: E402
import ask_models  # noqa: E402
import ask_rows  # noqa: E402

VERSIONS = ("9.10.2", "9.26.0")


@functools.lru_cache
def library(version: str) -> tuple[str, tuple[str, ...]] | None:
    """Folder of the library and what it loads; None where it is not installed."""
    given = [d for d in os.environ.get("MEMSPEC_CUDNN", "").split(":") if d]
    try:
        found = torchwheel.find({"version": version}, given, Path.home() / ".cache" / "memspec")
    except torchwheel.NotFound:
        return None
    return found.folder, found.beside


def installed(version: str) -> tuple[str, tuple[str, ...]]:
    found = library(version)
    if not found:
        pytest.skip(f"cuDNN {version} is not installed; MEMSPEC_CUDNN names folders that have it")
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", ["kinds.workspace.json", "peaks.workspace.json"])
def test_committed_profiles_are_what_the_library_says(file, version):
    profile = profiles.load(GOLDEN / file)
    groups = [by for by in profile.answerers() if by[1] == version]
    if not groups:
        pytest.skip(f"{file} has no entries of {version}")
    folder, beside = installed(version)
    what, of = f"{file} {version}", state(folder, beside, GOLDEN / file)
    for by in groups:
        process = query.Process(folder, beside, by[2])
        for e in profile.entries(by)[:: every(what, of)]:
            want = {n: e[n] for n in ("bytes", "engine", "most") if n in e}
            got = {n: v for n, v in process.ask(e).items() if n != "most" or v}
            assert got == want, f"{' '.join(by)}: {profiles.key(e)}"
        process.close()
    all_heard(what, of)


HEARD = GOLDEN / "heard.json"  # by what was asked of whom, the library and the code by which all was
ASKING = ("cudnn.py", "deviceclass.py", "query.py")  # of memshim.workspace; its other modules find and keep


def state(folder: str, beside: tuple[str, ...], committed: Path) -> str:
    """Of the library, the code that asks it and what is committed. Of the driver that it finds, which is
    memshim's own, one of SOME answers would show a change."""
    digest = hashlib.sha256()
    for path in sorted({*Path(folder).glob("*.so*"), *map(Path, beside)}, key=lambda p: p.name):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
    for path in (*map(Path(query.__file__).with_name, ASKING), Path(ask_rows.__file__), committed):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


# Of answers that were all heard before, or would take five minutes, one of so many is asked for again.
SOME = 31
ALL = bool(os.environ.get("MEMSPEC_ASK"))


def every(what: str, of: str) -> int:
    """One of so many answers is asked for; all of them with MEMSPEC_ASK=1, and where HEARD has another
    state."""
    return SOME if not ALL and json.loads(HEARD.read_text()).get(what) == of else 1


def all_heard(what: str, of: str) -> None:
    """Write HEARD, with MEMSPEC_ASK=1."""
    if ALL:
        known = json.loads(HEARD.read_text()) if HEARD.exists() else {}
        HEARD.write_text(json.dumps(known | {what: of}, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize("device_class", ask_rows.CLASSES)
@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_what_the_library_says(version, device_class):
    """1800 calls a version and direction, of all classes; one process a class."""
    folder, beside = installed(version)
    known, asked = ask_rows.load(), 0
    what, of = f"{device_class} {version}", state(folder, beside, ask_rows.OUT)
    step = every(what, of)
    process = query.Process(folder, beside, device_class)
    for name, answers in known["answers"].items():
        answered, _, direction = name.partition(" ")
        if answered == version:
            want = {group: answer for group, answer in answers.items() if group.split()[0] == device_class}
            given = {}
            for number, (group, row) in enumerate(want.items()):
                lines = list(zip(known["convolutions"], row, strict=True))
                given[group] = {line: answer for i, (line, answer) in enumerate(lines) if (i + number) % step}
            assert ask_rows.ask(known["convolutions"], process, device_class, direction or "forward", given) == want
            asked += sum(map(len, want.values()))
    assert (
        asked
        == len(known["convolutions"])
        * len(ask_rows.GROUPS)
        // len(ask_rows.CLASSES)
        * {"9.10.2": 1, "9.26.0": 3}[version]
    )
    process.close()
    all_heard(what, of)


# Without MEMSPEC_ASK, of the classes that rows.json does not have.
EVERY = 1 if ALL else SOME


@pytest.mark.parametrize("version", VERSIONS)
def test_models_are_what_the_library_says(version):
    folder, beside = installed(version)
    known, processes, asked = ask_models.load(), {}, 0
    for number, (group, answers) in enumerate(known["answers"].items()):
        answered, device_class, dtype, layout, direction = group.split()
        if answered != version or EVERY > 1 and device_class in ask_rows.CLASSES:
            continue
        if device_class not in processes:
            processes[device_class] = query.Process(folder, beside, device_class)
        pairs = list(zip(ask_models.lines(known), answers.split(), strict=True))
        for line, want in pairs[number % EVERY :: EVERY]:
            c = ask_models.call(line, dtype, layout, direction)
            assert ask_models.answer(processes[device_class], c, layout) == want, f"{group}: {line}"
            asked += 1
    for process in processes.values():
        process.close()
    assert asked > 100


def test_the_file_of_models_is_as_its_tool_writes_it():
    assert ask_models.text(ask_models.load()) == ask_models.OUT.read_text()


def row(r: dict) -> str:
    return " ".join(r[column] for column in ("x", "w", "stride", "pad", "dilation", "groups"))


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_those_of_the_tables(version):
    """The committed answers hold every row of the tables that they were first found with. The
    tables lie beside this checkout, not in it. They were asked again as PyTorch asks, those of
    9.26.0 with a driver in sight, those of 9.10.2 with NVRTC too: other engines for 123 and 130
    depthwise convolutions."""
    path = FACTS / f"cudnn-scratch-{version}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    known = ask_rows.load()
    at = {line: i for i, line in enumerate(known["convolutions"])}
    count, moved = 0, 0
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            got = known["answers"][version][f"sm{r['sm']} {r['dtype']} {r['layout']}"][at[row(r)]]
            count += 1
            if got == ("-" if r["path"] == "native" else f"{r['workspace']}/{r['engine']}"):
                continue
            moved += 1
            assert got == "0/5" and r["groups"] == r["x"].split("x")[1], r
    assert count == 1872 == len(ask_rows.GROUPS) * len(at)
    assert moved == {"9.10.2": 130, "9.26.0": 123}[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_committed_peaks_agree_with_the_rows(version):
    """The float32 contiguous rows of the five models, class by class, against the committed
    profile: it needs no library."""
    profile, known = profiles.load(GOLDEN / "peaks.workspace.json"), ask_rows.load()
    compared = 0
    for device_class in ask_rows.CLASSES:
        for line, want in zip(known["convolutions"], known["answers"][version][f"{device_class} float32 contiguous"]):
            hit = profile.get(("cudnn", version, device_class), ask_rows.call(line, "float32", "contiguous"))
            if hit:
                assert f"{hit['bytes']}/{hit['engine']}" == want, line
                compared += 1
    assert compared == 4 * 69


# The workspaces of run_conv_plan in a recording on a GPU (JasperSolt/EoR_NN snapshot.pickle,
# February 2025; the GPU is not named).
RECORDED = (82880, 51328, 205056, 204928, 84032, 50168)


def test_the_workspaces_are_those_of_the_recording():
    """In the order of the recording, each once. It belongs to others and lies beside this checkout,
    not in it."""
    path = FACTS.parent / "corpus" / "snapshots" / "JasperSolt__EoR_NN__snapshot.pickle"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")

    class Plain(pickle.Unpickler):
        def find_class(self, module, name):
            raise pickle.UnpicklingError(f"got {module}.{name}, want plain data")

    with open(path, "rb") as f:
        events = Plain(f).load()["device_traces"][0]
    allocated = [
        e["size"]
        for e in events
        if e["action"] == "alloc" and any("run_conv_plan" in x["name"] for x in e.get("frames") or [])
    ]
    assert len(allocated) > len(RECORDED)
    assert tuple(dict.fromkeys(allocated)) == RECORDED


@pytest.mark.parametrize("device_class", ["sm70", "sm75-small", "sm75-large", "sm86", "sm89"])
def test_recorded_workspaces_byte_for_byte(device_class):
    profile = profiles.load(GOLDEN / "kinds.workspace.json")
    by = ("cudnn", "9.10.2", device_class)
    assert tuple(profile.get(by, c)["bytes"] for c in ask_kinds.recorded()) == RECORDED


def test_the_recording_keeps_devices_apart():
    """On sm 80 another engine takes the first: five of six."""
    profile = profiles.load(GOLDEN / "kinds.workspace.json")
    got = [profile.get(("cudnn", "9.10.2", "sm80"), c)["bytes"] for c in ask_kinds.recorded()]
    assert [g == w for g, w in zip(got, RECORDED)] == [False, True, True, True, True, True]


def test_every_kind_has_an_answer():
    profile = profiles.load(GOLDEN / "kinds.workspace.json")
    for version in VERSIONS:
        for device_class in ask_kinds.CLASSES:
            for c in ask_kinds.kinds():
                # as it is asked, for any card
                compiled = version == "9.10.2" and c["direction"] == "wgrad" and c.get("groups", 1) > 1
                # no such kernels before sm 80
                refused = device_class == "sm75-small" and c["dtype"] == "bfloat16" and not compiled
                assert (profile.get(("cudnn", version, device_class), c) is None) == refused, profiles.key(c)


def test_flags_change_the_choice():
    profile = profiles.load(GOLDEN / "kinds.workspace.json")
    by = ("cudnn", "9.10.2", "sm89")
    x, w = [8, 64, 56, 56], [64, 64, 3, 3]

    def ask(direction, **other):
        return profile.get(by, ask_kinds.call(direction, x, w, **other))

    assert ask("forward")["engine"] == 55
    assert ask("forward", allow_tf32=False) == ask("forward", allow_tf32=False) | {
        "engine": 12,
        "bytes": 100 * 64 * 64 + 4 * 64,
    }, "Winograd"
    timed = ask("forward", benchmark=True)
    assert timed["bytes"] == ask("forward")["bytes"] < timed["most"]
    half = ask("forward", dtype="float16"), ask("forward", dtype="float16", last=True)
    assert half[0]["bytes"] > 0 and half[1]["bytes"] == 0, "channels last needs no transposition"


def test_bfloat16_before_sm80_is_refused():
    folder, beside = installed("9.26.0")
    process = query.Process(folder, beside, "sm75-small")
    with pytest.raises(query.Refusal, match=r"asking for configurations \(there are none\): cudnnStatus_t 3000"):
        process.ask(ask_kinds.call("forward", [1, 8, 8, 8], [8, 8, 3, 3], "bfloat16"))
    assert process.ask(ask_kinds.call("forward", [1, 8, 8, 8], [8, 8, 3, 3], "float16"))["bytes"] >= 0, (
        "the process goes on"
    )
    process.close()


def test_a_class_that_crashes_the_library_is_lost_and_named():
    folder, beside = installed("9.10.2")
    process = query.Process(folder, beside, "sm100")
    with pytest.raises(query.Lost, match=r"^crashed \(SIGSEGV\)"):
        process.ask(ask_kinds.call("forward", [1, 64, 56, 56], [64, 64, 3, 3]))


@pytest.mark.skipif(not query.driver(), reason="nothing can stand in for a driver here")
def test_answers_are_those_of_a_machine_with_a_driver():
    """PyTorch's convolution on a pretend T4 takes nothing (python -m truth oracle torchvision
    mnasnet0_5); cuDNN that sees no driver would take 2,410,366 B."""
    folder, beside = installed("9.26.0")
    process = query.Process(folder, beside, "sm75-small")
    depthwise = ask_kinds.call("forward", [4, 48, 56, 56], [48, 1, 3, 3], "float16", groups=48)
    assert process.ask(depthwise | {"padding": [1, 1]}) == {"bytes": 0, "engine": 5}
    process.close()
