"""The capture command, piece by piece: the case that its words make, what it refuses, and what of its
recordings is made again."""

import contextlib
import os

import pytest

from memshim.allocator import recording
from memshim.case import capture, memspec_yaml, process
from memshim.case.build import BuildError
from memshim.case.errors import ModelError, NoGPU
from memshim.origin import provenance
from memshim.pretend import restart, support


def words(*given, source="zoo.py:net"):
    a = capture.parser().parse_args([source, "-o", "out/net.rec", *given])
    a.words = [source, "-o", "out/net.rec", *given]
    return a


@pytest.fixture(autouse=True)
def no_compiling(monkeypatch):
    monkeypatch.setattr(capture, "compiling", lambda environ: [])


CASE = {
    "name": "net",
    "source": "zoo.py:net",
    "artifact": "",
    "dir": ".",
    "mode": "inference",
    "grad": "no_grad",
    "dtype": "",
    "autocast": "",
    "inputs": [],
    "lengths": {},
    "iteration_inputs": [],
    "alloc_conf": "",
    "cublas_workspace": "",
    "memory_fraction": 0,
    "runtime": "eager",
    "iterations": 0,
    "flags": {"tf32_matmul": False, "tf32_cudnn": True, "benchmark": False, "deterministic": False},
    "training": None,
    "command": ["python", "-m", "memshim", "capture", "zoo.py:net", "-o", "out/net.rec"],
}


def test_a_case_without_options():
    assert capture.case_of(words()) == CASE


@pytest.mark.parametrize("source", ["net.pt", "net.pt2"])
def test_an_archive_is_an_artifact(source):
    case = capture.case_of(words("--fresh", "--name", "n", source=source))
    assert (case["source"], case["artifact"], case["name"]) == ("", source, "n")
    assert case["command"][4:] == [source, "-o", "out/net.rec", "--name", "n"], "fresh is no part of it"


def test_a_case_with_options():
    given = "--autocast bfloat16 --dtype float64 --grad inference_mode --alloc-conf a:1 --cublas-workspace :16:8"
    case = capture.case_of(words(*given.split(), "--iterations", "5", "--input", "float32[B,3]", "--dim", "B=4"))
    assert {k: v for k, v in case.items() if v != CASE[k] and k != "command"} == {
        "autocast": "bfloat16",
        "dtype": "float64",
        "grad": "inference_mode",
        "alloc_conf": "a:1",
        "cublas_workspace": ":16:8",
        "iterations": 5,
        "inputs": ["float32[4,3]"],
    }


LENGTHS = ("--input", "x=float32[B,T]", "--dim", "B=2", "--lengths", "T=5,9,7")


@pytest.mark.parametrize("more", [(), ("--iterations", "3")])
def test_lengths_are_of_iterations(more):
    case = capture.case_of(words(*LENGTHS, *more))
    assert (case["inputs"], case["lengths"], case["iterations"]) == (["x=float32[2,9]"], {"T": [5, 9, 7]}, 3)
    assert case["iteration_inputs"] == [["x=float32[2,5]"], ["x=float32[2,9]"], ["x=float32[2,7]"]]
    step = capture.case_of(words(*LENGTHS, *more, "--mode", "training"))["training"]
    assert step["iterations"] == 3


@pytest.mark.parametrize(
    "given, want",
    [
        ((*LENGTHS, "--iterations", "2"), "got 3 lengths beside --iterations 2, want as many"),
        (("--input", "x=float32[B]", "--lengths", "T=5,9"), "got --lengths for T, which no --input names"),
        (("--input", "T=float32[B]", "--lengths", "T=5,9"), "got --lengths for T, which no --input names"),
        (("--clip", "1"), "got --clip in inference, want --mode training beside it"),
        (("--loss", "sum", "--accumulate", "2"), "got --loss in inference, want --mode training beside it"),
    ],
)
def test_words_that_make_no_case(given, want):
    with pytest.raises(BuildError, match=f"^{want}$"):
        capture.case_of(words(*given))


PLAIN = {
    "optimizer": "", "arguments": {}, "loss": "sum", "accumulate": 1, "clip": None, "checkpoint": None, "iterations": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    "given, want",
    [
        ((), {}),
        (("--optimizer", "SGD(lr=0.1)"), {"optimizer": "SGD", "arguments": {"lr": 0.1}}),
        (("--loss", "mean", "--accumulate", "4", "--clip", "0.5"), {"loss": "mean", "accumulate": 4, "clip": 0.5}),
        (("--iterations", "7"), {"iterations": 7}),
        (("--accumulate", "1", "--loss", "output"), {"loss": "output"}),
        (("--checkpoint", "a.*, b,"), {"checkpoint": {"modules": ["a.*", "b"], "reentrant": False}}),
        (("--checkpoint", "reentrant: a.*"), {"checkpoint": {"modules": ["a.*"], "reentrant": True}}),
        (("--checkpoint", "reentrant:"), {}),
    ],
)
def test_a_training_step(given, want):
    assert capture.training_of(words("--mode", "training", *given)) == PLAIN | want


def test_how_compilers_are_set_is_of_the_command(monkeypatch):
    monkeypatch.undo()
    environ = {
        "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
        "AOT_INDUCTOR_X": "a\nb",
        "TORCHINDUCTOR_CACHE_DIR": "/x",
        "TRITON_LIBCUDA_PATH": "/y",
        "TORCH_COMPILE_DEBUG": "é",
        "HOME": "/",
    }
    found = ["env", r"AOT_INDUCTOR_X='a\nb'", "TORCHINDUCTOR_MAX_AUTOTUNE=1", "TORCH_COMPILE_DEBUG=é"]
    assert capture.compiling(environ) == found
    assert capture.compiling({"HOME": "/", "TORCHDYNAMO_CACHE_DIR": "/"}) == []


# The command.


class Runner:
    def __init__(self, said):
        self.said = said

    def capture(self, case, output, at, timeout, extra=None):
        self.said.append((case["name"], output, at, timeout, extra))
        if case["name"] in ("bad", "absent"):
            raise {"bad": ModelError, "absent": NoGPU}[case["name"]](f"no {case['name']}")
        return 2048

    def close(self):
        self.said.append("closed")


@pytest.fixture
def world(monkeypatch):
    class World:
        said: list = []
        cases: list = []
        current: set = set()

    w = World()
    w.said, w.current = [], set()
    monkeypatch.setattr(process, "Fresh", lambda: Runner(w.said))
    monkeypatch.setattr(process, "runner", lambda: w.said.append("warm") or Runner(w.said))
    monkeypatch.setattr(restart, "environment", lambda a: {"MEMSPEC": "env"})
    monkeypatch.setattr(restart, "case_device", lambda a: {"name": a.on[0]})
    monkeypatch.setattr(capture, "up_to_date", lambda file, case: file in w.current)
    monkeypatch.setattr(capture, "fresh", lambda file, case: file in w.current)
    monkeypatch.setattr(os.path, "getsize", lambda file: 1024)
    monkeypatch.setattr(memspec_yaml, "load", lambda *given: w.said.append(given) or w.cases)

    @contextlib.contextmanager
    def each(found, jobs, one, repeats):
        w.said.append((len(found), jobs, repeats))
        yield (one(c, Runner(w.said)) for c in found)

    class Each:
        def __init__(self, *given, **more):
            self.found = each(*given, **more).__enter__()

        def __iter__(self):
            return iter(self.found)

        def close(self):
            w.said.append("closed")

    monkeypatch.setattr(process, "each", Each)
    return w


@pytest.mark.parametrize(
    "given, want",
    [
        ([], [("net", "out/net.rec", "cuda", 1800.0, None), "closed"]),
        (["--on", "t4", "--timeout", "9"], ["warm", ("net", "out/net.rec", "pretend", 9.0, None), "closed"]),
        (
            ["--on", "t4", "--count", "2"],
            ["warm", ("net", "out/net.rec", "pretend", 1800.0, {"MEMSPEC": "env"}), "closed"],
        ),
        (
            ["--on", "t4", "--memory", "1GiB"],
            ["warm", ("net", "out/net.rec", "pretend", 1800.0, {"MEMSPEC": "env"}), "closed"],
        ),
    ],
)
def test_a_source_is_captured(world, capsys, given, want):
    assert capture.main(["zoo.py:net", "-o", "out/net.rec", *given]) == 0
    assert world.said == want and capsys.readouterr() == ("out/net.rec (2.0 KiB)\n", "")


def test_a_recording_that_is_up_to_date_is_not_made_again(world, capsys):
    world.current = {"out/net.rec"}
    assert capture.main(["zoo.py:net", "-o", "out/net.rec", "--on", "t4"]) == 0
    assert capsys.readouterr().out == "out/net.rec is up to date (1.0 KiB); --fresh runs it again\n" and not world.said
    assert capture.main(["zoo.py:net", "-o", "out/net.rec", "--on", "t4", "--fresh"]) == 0 and len(world.said) == 3
    assert capture.main(["zoo.py:net", "-o", "out/net.rec"]) == 0 and len(world.said) == 5, "a real GPU is asked"


@pytest.mark.parametrize("name, code", [("bad", 2), ("absent", 3)])
def test_a_source_that_cannot_be_captured(world, capsys, name, code):
    assert capture.main(["zoo.py:net", "-o", "x.rec", "--name", name]) == code
    assert capsys.readouterr() == ("", f"memshim capture: no {name}\n") and world.said[-1] == "closed"


@pytest.mark.parametrize(
    "given, want",
    [
        (["zoo.py:net", "-o", "x", "--case", "a"], "got --case beside zoo.py:net, want it beside a memspec.yaml"),
        (["zoo.py:net", "-o", "x", "--shard", "1/2"], "got --shard beside zoo.py:net, want it beside a memspec.yaml"),
        (["zoo.py:net", "-o", "x", "--jobs", "2"], "got --jobs beside zoo.py:net, want it beside a memspec.yaml"),
        (["zoo.py:net"], "got no -o FILE, want the recording to write"),
        (["a.yaml", "--iterations", "1"], "argument --iterations: got 1, want 2 or more: the first, and a steady one"),
    ],
)
def test_words_that_are_wrong(world, capsys, given, want):
    with pytest.raises(SystemExit) as e:
        capture.main(given)
    assert e.value.code == 2 and want in capsys.readouterr().err and not world.said


def test_two_iterations_are_enough(world):
    assert capture.main(["zoo.py:net", "-o", "x.rec", "--iterations", "2"]) == 0


@pytest.mark.parametrize(
    "given, want",
    [
        (["--dim", "B=1"], "got --dim beside a memspec.yaml, want none: the cases say how they run (--on DEVICE "
         "records them on another card)"),
        (["-o", "x", "--input", "y"], "got -o beside a memspec.yaml, want none"),
        (["--input", "y"], "got --input beside"),
        (["--lengths", "T=1"], "got --lengths beside"),
        (["--memory", "1GiB"], "got --memory beside"),
        (["--count", "2"], "got --count beside"),
        (["--mode", "training"], "got --mode beside"),
        (["--on", "t4", "--on", "t4"], "got --on 2 times beside a memspec.yaml, want it once: a case has one device"),
        ([], "a.yml: got no case with a program:, or with a source: and without an artifact:, want one to capture"),
    ],
)  # fmt: skip
def test_what_cases_refuse(world, capsys, given, want):
    world.cases = [{"name": "net"}]
    assert capture.main(["a.yml", *given]) == 2
    assert capsys.readouterr().err.startswith(f"memshim capture: {want}")


def case(name, recording=None, **more):
    return {"name": name, "recording": recording or f"{name}.rec", "alloc_conf": "x", "memory_fraction": 0.5, **more}


def test_cases_are_captured_once_each(world, capsys):
    world.cases = [case("a"), case("b"), case("c", "a.rec"), {"name": "d"}, case("bad"), case("absent")]
    world.current = {"b.rec"}
    assert capture.main(["x/a.yaml", "--case", "q", "--jobs", "2", "--on", "t4"]) == 2
    assert capsys.readouterr() == (
        "a.rec (2.0 KiB)\nb.rec is up to date (1.0 KiB); --fresh runs it again\n",
        "memshim capture: bad: no bad\nmemshim capture: absent: no absent\n",
    )
    assert world.said == [
        ("x/a.yaml", ["q"], "t4", ""),
        (4, 2, True),
        *((name, f"{name}.rec", "pretend", 1800.0, None) for name in ("a", "bad", "absent")),
        "closed",
    ]


def test_the_case_that_runs_is_shown(world, monkeypatch):
    shown = []

    class Bar:
        def __init__(self, total):
            shown.append(total)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            shown.append("end")

        def start(self, name):
            shown.append(name)

    monkeypatch.setattr(capture.progress, "Progress", Bar)
    world.cases, world.current = [case("a"), case("b")], {"b.rec"}
    assert capture.main(["a.yaml"]) == 0
    assert capture.refresh("a.yaml", world.cases, Runner(world.said)) == []
    assert shown == [2, "a", "b", "end", 1, "capturing a", "end"]
    assert world.said[0] == ("a.yaml", [], "", "") and world.said[1] == (2, 1, True)
    assert world.said[-1] == ("a", "a.rec", "pretend", 1800.0, None)


@pytest.mark.parametrize(
    "error, said",
    [
        (restart.Unusable("no card"), "no card"),
        (BuildError("no source"), "no source"),
        (capture.inputs.InputError("no size"), "no size"),
        (memspec_yaml.SpecError("no case"), "no case"),
        (capture.binary.BinaryError("no binary"), "no binary"),
    ],
)
@pytest.mark.parametrize("source, where", [("a.yaml", "_of_spec"), ("a.py:f", "_of_source")])
def test_what_cannot_be_used_is_said(monkeypatch, capsys, error, said, source, where):
    def fails(a):
        raise error

    monkeypatch.setattr(capture, where, fails)
    assert capture.main([source, "-o", "x.rec"]) == 2
    assert capsys.readouterr() == ("", f"memshim capture: {said}\n")


def test_a_gpu_that_is_absent_is_undecided_unless_a_case_fails(world, capsys):
    world.cases = [case("absent")]
    assert capture.main(["a.yaml", "--fresh"]) == 3
    assert capture._say([NoGPU("x"), ModelError("y"), "z"], {}) == 2
    assert capture._say([ModelError("y"), NoGPU("x")], {0: "n"}) == 2 and capture._say(["z"], {}) == 0
    world.cases = []
    assert capture.main(["a.yaml", "--shard", "2/8"]) == 0
    assert capsys.readouterr().out.endswith("a.yaml: no case to capture is in part 2/8\n")


def test_a_case_is_recorded_under_the_allocators_defaults():
    found = capture.of_spec("x/a.yaml", [case("a", model="m"), {"name": "b"}, case("c", "a.rec")])
    assert found == [
        case("a", model="m")
        | {
            "command": ["python", "-m", "memshim", "capture", "a.yaml", "--case", "a"],
            "alloc_conf": "",
            "memory_fraction": 0,
        }
    ]


def test_what_is_missing_or_stale_is_captured(world):
    world.current = {"b.rec"}
    found = [case("a"), case("b"), case("bad"), {"name": "d"}]
    assert capture.refresh("a.yaml", found, Runner(world.said), 5.0) == ["memshim: bad cannot be captured: no bad"]
    assert world.said == [("a", "a.rec", "pretend", 5.0, None), ("bad", "bad.rec", "pretend", 5.0, None)]


# Whether a recording is up to date.


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A recording that this command made just now, of a source beside it."""
    header = {
        "made": {"command": ["c"], "versions": {"torch": "2"}, "files": [{"path": "../zoo.py"}], "parameters": [1]}
    }
    file = tmp_path / ".memspec" / "a.rec"
    file.parent.mkdir()
    file.write_text("")
    os.utime(file, (2e9, 2e9))
    monkeypatch.setattr(recording, "header", lambda one: header)
    monkeypatch.setattr(provenance, "versions", lambda torch: {"torch": torch})
    monkeypatch.setattr(support, "torch_here", lambda: type("Here", (), {"version": "2"}))
    monkeypatch.setattr(provenance, "differences", lambda *given: [])
    monkeypatch.setattr(capture, "_changed", lambda: 1e9)
    return str(file), {"source": "zoo.py:net", "dir": str(tmp_path), "command": ["c"]}, header["made"]


def test_what_the_same_command_made_is_up_to_date(made, monkeypatch):
    file, case, recorded = made
    assert capture.up_to_date(file, case)
    asked = []
    monkeypatch.setattr(provenance, "differences", lambda *given: asked.append(given) or [])
    assert capture.fresh(file, case | {"depends": {"ignore": ["x"]}})
    assert asked == [(file, recorded | {"parameters": []}, None, case["dir"], capture.Depends(("x",)))]


@pytest.mark.parametrize(
    "change",
    [
        lambda made, case, patch: case.update(command=["d"]),
        lambda made, case, patch: made.update(versions={"torch": "3"}),
        lambda made, case, patch: made.update(files=[{"path": "../other.py"}]),
        lambda made, case, patch: made.pop("command"),
        lambda made, case, patch: patch.setattr(capture, "_changed", lambda: 2e9),
        lambda made, case, patch: patch.setattr(provenance, "differences", lambda *given: ["a.py has changed"]),
        lambda made, case, patch: patch.setattr(recording, "header", lambda one: open("/absent")),
    ],
    ids=["command", "versions", "source", "unrecorded", "memshim", "files", "absent"],
)
def test_what_is_not_up_to_date(made, monkeypatch, change):
    file, case, recorded = made
    change(recorded, case, monkeypatch)
    assert not capture.up_to_date(file, case)


@pytest.mark.parametrize(
    "source, files, want",
    [
        ("pack.zoo:net", [{"path": "x.py"}], True),
        ("pack.zoo:net", [], False),
        (":net", [{"path": "x.py"}], False),
        ("absent.py:net", [{"path": "../zoo.py"}], False),
        ("zoo.py:net", [{"path": "x.py"}, {"path": "../zoo.py"}], True),
    ],
)
def test_whether_a_recording_holds_the_source(made, source, files, want):
    file, case, _ = made
    assert capture._of_the_source({"files": files}, file, case | {"source": source}) is want
    assert capture._of_the_source({}, file, {"program": {"args": []}}), "an installed module has no file"


def test_the_recordings_of_all_ranks_count(monkeypatch):
    monkeypatch.setattr(capture.program_case, "files", lambda file: ["1", "2"])
    monkeypatch.setattr(capture, "_up_to_date_file", lambda one, case: one == "1")
    assert not capture.up_to_date("a", {})
    monkeypatch.setattr(capture, "_up_to_date_file", lambda one, case: True)
    assert capture.up_to_date("a", {})
    monkeypatch.setattr(capture.program_case, "files", lambda file: {}["ranks"])
    assert not capture.up_to_date("a", {}) and not capture.fresh("a", {}), "its list cannot be read"


def test_memshim_changed_when_its_last_file_did(tmp_path, monkeypatch):
    for name, at in (("case/process.py", 1e9), ("a.c", 3e9), ("b.h", 2e9), ("c.json", 4e9)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (at, at))
    monkeypatch.setattr(capture.process, "__file__", str(tmp_path / "case/process.py"))
    assert capture._changed() == 3e9
