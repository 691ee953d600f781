"""memshim fit and sweep: they record what memspec lacks, and no more."""

import contextlib
import json
import subprocess
import threading

import pretended
import pytest

import memshim
from memshim.case import process
from memshim.case.errors import ModelError
from memshim.judge import search

pytestmark = pytest.mark.usefixtures("forked_programs")

SPEC = """
version: 1
models:
  net:
    source: "net.py:net"
    inputs: ["float32[B,1024]"]
    device: t4
    budget: {allocated: 30MiB}
    cases: [{dims: {B: 1}}]
"""
NET = """
import torch
def net():
    return torch.nn.Linear(1024, 4096)
"""


class Recording:
    """A runner that writes nothing and knows what it was asked for."""

    def __init__(self):
        self.asked = []

    def capture(self, case, output, at, timeout, whole):
        self.wholes = [*getattr(self, "wholes", []), whole]
        self.asked.append((case["recording"], at, case["command"], case["alloc_conf"]))

    def close(self):
        pass


def case(name):
    return {"recording": name, "model": "net", "dims": {"B": 4}, "alloc_conf": "max_split_size_mb:64"}


def recorder(monkeypatch):
    made = Recording()
    monkeypatch.setattr(search.process, "runner", lambda several: made)
    return search.Recorder(["python", "-m", "memshim", "fit"]), made


def test_a_case_is_recorded_under_the_allocators_defaults_by_the_command_of_the_search(monkeypatch):
    of, made = recorder(monkeypatch)
    of.record([case("a"), case("b")])
    command = ["python", "-m", "memshim", "fit"]
    assert made.asked == [("a", "pretend", command, ""), ("b", "pretend", command, "")]


def test_what_is_recorded_is_shown_with_what_fits_so_far(monkeypatch):
    of, _ = recorder(monkeypatch)
    shown = []
    monkeypatch.setattr(search.progress.Progress, "start", lambda self, name: shown.append(name))
    of.record([case("a"), case("b") | {"bracket": "B=2 fits, B=9 does not"}])
    assert shown == ["recording net, B=4", "recording net, B=4, B=2 fits, B=9 does not"]


def test_a_recording_that_is_wanted_again_ends_the_search(monkeypatch):
    of, made = recorder(monkeypatch)
    of.record([case("a")])
    said = "net, B=4: got a recording that does not count as soon as it is made: net.py has changed"
    with pytest.raises(search.Unusable, match=said):
        of.record([case("a") | {"stale": "net.py has changed"}])
    assert len(made.asked) == 1


def test_a_run_that_ended_for_want_of_memory_is_made_whole_where_more_is_wanted_and_no_third_time(monkeypatch):
    of, made = recorder(monkeypatch)
    of.record([case("a")])
    of.record([case("a") | {"whole": True, "stale": "the recording ends where memory ran out"}])
    assert made.wholes == [False, True]
    with pytest.raises(search.Unusable, match="net, B=4: got a recording that does not count"):
        of.record([case("a") | {"whole": True, "stale": "the recording ends where memory ran out"}])


def test_a_search_without_end_is_refused(monkeypatch):
    of, made = recorder(monkeypatch)
    of.record([case(str(i)) for i in range(search.RECORDINGS)])
    with pytest.raises(search.Unusable, match="got more than 400 runs"):
        of.record([case("more")])


@pytest.mark.parametrize(
    ("on", "varied", "program", "said"),
    [
        ([], ["N=1..4"], ["train.py"], "got no --on"),
        (["t4", "l4"], ["N=1..4"], ["train.py"], "got --on twice"),
        (["t4"], ["N=1..4"], [], "got no program"),
        (["t4"], ["N"], ["train.py"], "--vary: got 'N', want a range such as N=1..512"),
        (["t4"], ["N=8..4"], ["train.py"], "--vary: got N=8..4, want a range"),
        (["t4"], ["N=0..4"], ["train.py"], "--vary: got N=0..4, want a range"),
    ],
)
def test_what_no_program_can_be_searched_by_is_refused(on, varied, program, said):
    with pytest.raises(search.Unusable, match=said), search.of_program(on, varied, program):
        pass


@pytest.mark.parametrize(
    ("world", "node", "ranks", "options"),
    [
        ("1..64", 0, {"world_size": 1}, ["--world-size=1..64"]),
        ("", 4, {"world_size": 4, "nproc_per_node": 4}, ["--world-size"]),
    ],
)
def test_a_program_for_many_gpus_is_searched_by_their_number(tmp_path, monkeypatch, world, node, ranks, options):
    monkeypatch.chdir(tmp_path)
    with search.of_program(["t4"], [], ["train.py"], world=world, nproc_per_node=node) as (name, found):
        assert (name, found[1:]) == ("train", options)
        assert json.loads((tmp_path / found[0]).read_text())["models"]["train"]["ranks"] == ranks


def test_the_numbers_of_gpus_are_the_next_word_or_memspecs_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    ended = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(search, "run", lambda *given, **named: asked.append((given[1][2:], named)) or ended)
    search.fit(["--on", "t4", "--world-size", "2..4", "--jobs", "2", "--", "train.py"])
    search.fit(["--on", "t4", "--world-size", "--", "train.py"])
    search.fit(["pretrain", "memspec.yaml", "--world-size", "2..4"])
    assert asked == [
        (["--world-size=2..4"], {"jobs": 2}),
        (["--world-size"], {"jobs": 1}),
        (["--world-size", "2..4"], {"jobs": 1}),
    ]


def test_several_cases_are_recorded_at_a_time(monkeypatch):
    both = threading.Barrier(2, timeout=10)

    class Waiting(Recording):
        def capture(self, case, *rest, **more):
            both.wait()  # until another case is recorded, too
            super().capture(case, *rest, **more)

    made = [Waiting(), Waiting()]
    left = iter(made)
    monkeypatch.setattr(search.process, "runner", lambda several: next(left))
    search.Recorder(["fit"], jobs=2).record([case(name) for name in "abcd"])
    assert sorted(name for one in made for name, *_ in one.asked) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_named_and_the_others_end(monkeypatch, jobs):
    class Failing(Recording):
        closed = False

        def capture(self, case, *rest, **more):
            raise ModelError("rank 0 ended with 1: got 4 heads")

        def close(self):
            self.closed = True

    made = [Failing() for _ in range(jobs)]
    left = iter(made)
    monkeypatch.setattr(search.process, "runner", lambda several: next(left))
    ranks = {"program": {"ranks": {"world_size": 3}}}
    with (
        pytest.raises(ModelError, match="^net, B=4, world_size=3: rank 0 ended with 1: got 4 heads$"),
        contextlib.closing(search.Recorder(["fit"], jobs)) as of,
    ):
        of.record([case("a") | ranks, case("b") | ranks])
    assert all(one.closed for one in made)


def test_a_program_is_a_case_while_it_is_searched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with search.of_program(["t4"], ["N=1..512", "T=128"], ["-m", "pkg.train", "--batch", "{N}"]) as (name, options):
        assert (name, options[1:]) == ("pkg.train", ["--dim", "N", "--most", "512"])
        assert json.loads((tmp_path / options[0]).read_text())["models"] == {
            "pkg.train": {
                "device": "t4",
                "module": "pkg.train",
                "args": ["--batch", "{N}"],
                "dims": {"N": 1, "T": 128},
                "budget": {},
            }
        }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("vary", "options"),
    [
        (["N=8,16,32", "T=128"], ["--dim", "N=8,16,32"]),
        (["T=128", "N=8..32"], ["--dim", "N=8..32"]),
        (["N=8..32..8", "T=128"], ["--dim", "N=8..32..8"]),
    ],
)
def test_a_swept_program_has_the_values_that_memspec_reads(tmp_path, monkeypatch, vary, options):
    monkeypatch.chdir(tmp_path)
    with search.of_program(["t4"], vary, ["train.py", "{N}"], sweeps=True) as (name, found):
        assert (name, found[1:]) == ("train", options)
        assert json.loads((tmp_path / found[0]).read_text())["models"]["train"]["dims"] == {"N": 8, "T": 128}
    with (
        pytest.raises(search.Unusable, match="--vary: got 'N', want a range such as N=1..512, or values such as N=1,2"),
        search.of_program(["t4"], ["N"], ["train.py"], sweeps=True),
    ):
        pass


PROGRAM = """
import sys
import torch
model = torch.nn.Linear(1024, 1024, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
for _ in range(3):
    model(torch.randn(int(sys.argv[1]), 1024, device="cuda")).relu().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_swept_program_shows_what_grows_and_each_pass(tmp_path, monkeypatch, capfd):
    if why := pretended.missing():
        pytest.skip(why)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    words = ["--on", "t4", "--vary", "N=1024,2048", "--format", "json", "-o", "peaks.csv", "--", "train.py", "{N}"]
    assert search.sweep(words) == 0, capfd.readouterr()
    found = json.loads(capfd.readouterr().out)
    assert [p["value"] for p in found["points"]] == [1024, 2048]
    for point in found["points"]:
        first, steady = point["passes"]
        assert (first["name"], steady["name"]) == ("first", "steady")
        assert max(first["allocated"], steady["allocated"]) == point["allocated"]
        assert steady["allocated"] > first["allocated"]  # the momentum is there from the start
    by = {share["category"]: share["bytes"] for share in found["grows"]["by"]}
    assert (found["grows"]["from"], found["grows"]["to"]) == (1024, 2048)
    assert sum(by.values()) == found["points"][1]["allocated"] - found["points"][0]["allocated"] > 0
    assert "N=2048" in (tmp_path / "peaks.csv").read_text()


def test_an_engines_command_is_a_case_that_serves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["vllm", "serve", "models/tiny", "--max-model-len", "{L}"]
    with search.of_program(["t4"], ["L=1024..8192"], words, world="1..8") as (name, options):
        assert (name, options[1:]) == ("vllm", ["--dim", "L", "--most", "8192", "--world-size=1..8"])
        model = json.loads((tmp_path / options[0]).read_text())["models"]["vllm"]
        assert model == {"device": "t4", "serve": words, "args": [], "dims": {"L": 1024}, "budget": {}}
    with (
        pytest.raises(search.Unusable, match="got --nproc-per-node beside vllm, want it without"),
        search.of_program(["t4"], [], words, nproc_per_node=4),
    ):
        pass


def test_the_largest_size_of_a_source_is_that_of_its_runs(tmp_path, monkeypatch, capfd):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "memspec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    asked = ["net[B=1]", "--dim", "B", "--multiple-of", "128", "--most", "1024", "--format", "json"]
    assert search.fit(asked) == 0, capfd.readouterr()
    (found,) = json.loads(capfd.readouterr().out)["dims"]
    # the weights take 16,793,600 B, cuBLASLt's workspace 1 MiB, a row 4 KiB and its result 16 KiB
    assert (found["largest"], found["next"]["value"], found["next"]["predicted"]) == (
        640,
        768,
        16_793_600 + (1 << 20) + 768 * 20480,
    )
    made = sorted((tmp_path / ".memspec").iterdir())
    assert len(made) == found["tried"] <= 8
    times = [f.stat().st_mtime_ns for f in made]
    assert memshim.fit("net[B=1]", dim="B", multiple_of=128, most=1024)["dims"] == [found]
    assert [f.stat().st_mtime_ns for f in sorted((tmp_path / ".memspec").iterdir())] == times  # nothing was run
    (tmp_path / "net.py").write_text(NET.replace("4096", "8192"))
    capfd.readouterr()
    assert search.fit(asked) == 1  # the weights alone take 32 MiB: recorded again


LARGE_NET = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(64, 1024))
        with open("made.log", "a") as f:
            f.write("made ")
    def forward(self, x):
        return x.unsqueeze(1) * self.weight
"""


def test_a_value_that_does_not_fit_is_run_once_and_again_for_a_card_with_more_memory(tmp_path, monkeypatch, capfd):
    if why := pretended.missing():
        pytest.skip(why)
    runs = []
    run = process.Server.run
    monkeypatch.setattr(process.Server, "run", lambda *given: runs.append(given[2]["dims"]["B"]) or run(*given))
    (tmp_path / "net.py").write_text(LARGE_NET)
    spec = SPEC.replace("net.py:net", "net.py:Net").replace("{allocated: 30MiB}", "{}").replace("t4", "a100-sxm-40gb")
    (tmp_path / "memspec.yaml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    step = 1 << 14  # of B: the result takes 4 GiB, the input 64 MiB
    words = ["net[B=1]", "--dim", "B", "--multiple-of", str(step), "--most", str(30 * step), "--format", "json"]
    assert search.fit(words) == 0, capfd.readouterr()
    (found,) = json.loads(capfd.readouterr().out)["dims"]
    assert (found["largest"], found["next"]["value"]) == (9 * step, 10 * step)
    assert found["next"]["why"] == "the device's memory ends"
    assert sorted(runs) == sorted(set(runs)) and len(runs) == found["tried"]
    assert (tmp_path / "made.log").read_text() == "made ", "the model is made once for all of them"
    runs.clear()
    assert search.fit([*words, "--devices", "a100-sxm-40gb,a100-sxm-80gb"]) == 0
    assert [d["largest"] for d in json.loads(capfd.readouterr().out)["devices"]] == [9 * step, 19 * step]
    assert 16 * step in runs, "its recording ended where 40 GiB did"


def test_what_memspec_says_of_a_case_that_is_not_there_is_the_error(tmp_path, monkeypatch):
    (tmp_path / "memspec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match='got no case "other"'):
        memshim.fit("other", dim="B")
