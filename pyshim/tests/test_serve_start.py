"""One start of an engine without an engine: what it is run with, what its words ask for, and what is made of
what its processes left."""

import json
import os
import sys
from types import SimpleNamespace as Object

import pytest
from served import FOUND, NO_CACHE

from memshim import pretend
from memshim.origin.dependencies import hashed_value
from memshim.serving import driver_memory, larger, report, start, watch
from memshim.serving.start import Recording, Start, Unusable, Wanted


@pytest.mark.parametrize(
    "program, runs",
    [
        (["vllm", "serve", "m"], ["-m", start.CLI, "serve", "m"]),
        (["-m", "vllm.entrypoints.openai.api_server"], ["-m", "vllm.entrypoints.openai.api_server"]),
        (["python", "-m", "vllm.entrypoints.openai.api_server"], ["-m", "vllm.entrypoints.openai.api_server"]),
        ([__file__, "--x"], [__file__, "--x"]),
        (["-c", "pass"], ["-c", "pass"]),
        (["python3", "a.py", "-x"], ["a.py", "-x"]),
        (["python"], []),
        (["vllm"], ["-m", start.CLI]),
    ],
)
def test_the_engine_is_run_by_this_python(program, runs):
    assert start.words(program) == [sys.executable, *runs]


@pytest.mark.parametrize(
    "program, said",
    [
        ([], "got no command, want -- vllm serve MODEL … or -- program.py"),
        (["sglang"], "got sglang, want vllm, a script (.py), -m MODULE or -c CODE"),
        (["folder.py"], "folder.py: no such file"),
    ],
)
def test_what_is_no_engine_is_refused(tmp_path, monkeypatch, program, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(Unusable) as e:
        start.words(program)
    assert str(e.value) == said


@pytest.mark.parametrize(
    "words, sizes",
    [
        ("", [1, 1, 1]),
        ("-tp 2 -pp 3 -dp 4", [2, 3, 4]),
        ("--tensor-parallel-size=2 --pipeline-parallel-size 3 --data_parallel_size=4", [2, 3, 4]),
        ("-tp 2 -tp=8", [8, 1, 1]),
        ("-tp 0 -pp -1 -dp 1", [1, 1, 1]),
        ("-pp", [1, 1, 1]),
        ("-tp= 2", [2, 1, 1]),
    ],
)
def test_what_the_words_say_of_gpus(words, sizes):
    assert start.parallel(["serve", *words.split()]) == sizes


@pytest.mark.parametrize(
    "program, gpus",
    [
        (["vllm", "serve", "m"], 1),
        (["vllm", "serve", "m", "--tensor-parallel-size", "2"], 2),
        (["vllm", "serve", "m", "-tp=4", "--pipeline_parallel_size=2"], 8),
        (["vllm", "serve", "m", "-dp", "2", "--tensor-parallel-size"], 2),
        (["vllm", "serve", "m", "-tp", "2", "-pp", "2", "--tensor-parallel-size", "4"], 8),  # the last counts
        (["program.py", "--tensor-parallel-size", "some"], 1),
    ],
)
def test_the_number_of_gpus_follows_from_the_engines_words(program, gpus):
    assert start.gpus(program) == gpus


@pytest.mark.parametrize("program, script", [(["sub/a.py", "x"], "sub/a.py"), (["vllm", "a.py"], "")])
def test_what_the_engines_processes_know_of_a_recording(tmp_path, monkeypatch, program, script):
    monkeypatch.chdir(tmp_path)
    asked = Recording("out/a.rec", "f", ["c"], [["d"], []])
    assert asked.wanted(program) == {
        "file": str(tmp_path / "out/a.rec"), "script": str(tmp_path / script) if script else "", "folder": "f",
        "command": ["c"], "depends": [["d"], []],
    }  # fmt: skip


def test_variables_of_a_recording_are_the_engines_own():
    """Those that say where it keeps and says things do not change what it takes; a case's are stated."""
    names = ["VLLM_USE_X", "VLLM_STATED", "VLLM_CACHE_ROOT", "VLLM_LOGGING_LEVEL", "VLLM_PORT", "OTHER", "MY_VLLM_X"]
    found = Recording("a", "f", [], [], {"VLLM_STATED": "1"}).variables(dict.fromkeys(names, "1"))
    assert found == {"VLLM_USE_X": hashed_value("VLLM_USE_X", "1")}


CARDS = [pretend.find("t4")] * 2


def test_the_variables_of_the_engines_processes(tmp_path, monkeypatch):
    """Of the pretend cards those that follow from the user's, the caches among them."""

    def variables(cards, environ):
        return {"CARDS": str(len(cards)), "SEEN": json.dumps(environ), "PYTHONPATH": "/shim"}

    monkeypatch.setattr(start.pretend.activate, "variables", variables)
    monkeypatch.setattr(start.pretend.activate, "options", lambda values, assume: {"OPTIONS": f"{values} {assume}"})
    user = {"PYTHONPATH": "/own", "X": "1", "HF_HUB_OFFLINE": "0", "VLLM_CACHE_ROOT": "/kept"}
    caches = {"VLLM_CACHE_ROOT": "/kept", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    found = start.environment(CARDS, tmp_path, [1, 2, 3], user, {"file": "a"}, 4)
    assert json.loads(found.pop(watch.WANTED)) == {
        "folder": str(tmp_path), "charged": [1, 2, 3], "recording": {"file": "a"}, "generate": 4,
    }  # fmt: skip
    assert json.loads(found.pop("SEEN")) == user | caches | {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}
    assert found == user | caches | {
        "CARDS": "2", "OPTIONS": "True None", "PYTHONPATH": f"{start.STARTUP}{os.pathsep}/shim",
        "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
    }  # fmt: skip
    wanted = json.loads(start.environment(CARDS, tmp_path, [], {})[watch.WANTED])
    assert (wanted["recording"], wanted["generate"]) == (None, 0)
    monkeypatch.setattr(start.pretend.activate, "variables", lambda cards, environ: {})
    assert start.environment(CARDS, tmp_path, [], {})["PYTHONPATH"] == start.STARTUP


@pytest.mark.parametrize(
    "fits, stage, asks", [(False, "weights", True), (False, start.AT_START, False), (True, "", False)]
)
def test_another_card_is_named_where_this_one_is_too_small(monkeypatch, fits, stage, asks):
    given = []
    monkeypatch.setattr(larger, "card", lambda *words: given.append(words) or "card")
    device = FOUND["device"] | {"count": 2, "memory": 7}
    found = FOUND | {"fits": fits, "error": {"stage": stage}, "model": "m", "device": device}
    assert Start(found, [], 1, b"", None, {"dtype": "auto"}).larger() == ("card" if asks else None)
    assert given == ([("m", 2, {"dtype": "auto"}, 7)] if asks else [])


def test_an_error_that_lists_everything_is_cut():
    assert start.short("x" * 240) == "x" * 240
    assert start.short("x" * 241) == "x" * 238 + " …"


UNKNOWN = NO_CACHE | {"fits": None, "device": NO_CACHE["device"] | {"name": "t4"}}


def error(**change):
    return {"moved": False, "text": "no such model", "stage": "", "kind": "ValueError"} | change


@pytest.mark.parametrize(
    "errors, code, log, why",
    [
        (
            [error(moved=True, text="Worker.x"), error()],
            1,
            b"",
            f"got vLLM {UNKNOWN['engine']['release']}, which has no Worker.x: its internals have moved; want one of "
            + ", ".join(report.TRIED),
        ),
        (
            [error(stage="weights")],
            1,
            b"",
            "the engine did not start on t4, of compute capability 7.5 (weights): ValueError: no such model",
        ),
        ([error()], 1, b"", "the engine did not start on t4, of compute capability 7.5: ValueError: no such model"),
        ([], 0, b"said", "the program ended and started no engine"),
        (
            [],
            3,
            b"\n".join(b"%d" % n for n in range(20)) + b"\n\n",
            "the engine ended with exit code 3 before it had a KV cache; its last lines:\n"
            + "\n".join(map(str, range(8, 20))),
        ),
        (
            [],
            -9,
            b"a\xff",
            "the engine ended with signal 9 before it had a KV cache; its last lines:\na\N{REPLACEMENT CHARACTER}",
        ),
    ],
)
def test_why_an_engine_has_no_cache(errors, code, log, why):
    assert Start(UNKNOWN, errors, code, log, None).why() == why


def test_of_an_engine_that_does_not_fit_that_is_why():
    assert Start(NO_CACHE, [error()], 0, b"", None).why() == report.unfit(NO_CACHE)


@pytest.fixture
def starts(monkeypatch):
    """Starts of an engine that asks for so many GPUs, none where it does not say."""
    w = Object(asks=[], ran=[], charged=[], devices=[])

    def charge(version, driver, workers, tensor):
        w.charged.append((version, driver, workers, tensor))
        return Object(bytes=10 * workers + tensor)

    def run(command, environ, folder, count, fixed):
        assert (folder.is_dir(), command) == (True, ["engine"])
        w.ran.append((environ, count, fixed))
        return 5

    monkeypatch.setattr(start, "words", lambda program: ["engine"])
    monkeypatch.setattr(start, "as_devices", lambda *given: w.devices.append(given) or CARDS[:1] * given[1])
    monkeypatch.setattr(driver_memory, "of", charge)
    monkeypatch.setattr(start, "environment", lambda cards, folder, charged, environ, *more: (charged, *more))
    monkeypatch.setattr(start, "run", run)
    monkeypatch.setattr(start, "asks", lambda folder: w.asks.pop(0))
    monkeypatch.setattr(start, "left", lambda folder, code, version, asked, cards: (code, version, asked, cards))
    return w


@pytest.mark.parametrize(
    "number, asks, ran",
    [
        (None, [0], [(2, False)]),
        (None, [2], [(2, False)]),
        (None, [4, 8], [(2, False), (4, True)]),
        (3, [8], [(3, True)]),
    ],
)
def test_an_engine_is_started_again_with_the_gpus_that_it_asks_for(starts, number, asks, ran):
    """Once, and where the user does not say how many there are."""
    asked = Wanted(["vllm", "-tp", "2"], "t4", "9GiB", number, None, 6)
    starts.asks = asks
    assert start.start(asked, "0.19") == (5, "0.19", asked, CARDS[:1] * ran[-1][0])
    assert [(count, fixed) for _, count, fixed in starts.ran] == ran
    assert starts.devices == [("t4", count, "9GiB") for count, _ in ran]
    assert [environ for environ, *_ in starts.ran] == [([11, 22, 21], None, 6)] * len(ran)
    assert starts.charged[:3] == [("0.19", CARDS[0].driver, *n) for n in ((1, 1), (2, 2), (2, 1))]


def test_a_start_that_is_recorded_says_so_to_the_engine(starts):
    starts.asks = [0]
    asked = Recording("a.rec", "f", ["c"], [])
    start.start(Wanted(["vllm"], "t4", None, None, asked), "0.19")
    assert starts.ran == [(([11, 22, 21], asked.wanted(["vllm"]), 0), 1, False)]


def arguments(folder, **said):
    (folder / watch.ARGUMENTS).write_text(json.dumps(said))


def engine(folder, pid, **figures):
    (folder / f"engine.{pid}.json").write_text(json.dumps(figures))


def test_an_engine_that_has_not_said_asks_for_no_number(tmp_path):
    assert start.asks(tmp_path) == 0
    arguments(tmp_path, gpus="4")
    assert start.asks(tmp_path) == 4


def test_figures_are_there_once_those_of_all_replicas_are(tmp_path):
    engine(tmp_path, 1, tokens=9)
    assert start.engines(tmp_path) == [], "how many there are is not known"
    arguments(tmp_path, replicas=2)
    assert start.engines(tmp_path) == []
    engine(tmp_path, 2, tokens=5)
    assert start.engines(tmp_path) == [{"tokens": 5}, {"tokens": 9}]
    engine(tmp_path, 3, tokens=7)
    assert len(start.engines(tmp_path)) == 3


@pytest.mark.parametrize(
    "said, figures, fixed, done",
    [
        (None, False, False, False),
        ({"gpus": 2, "replicas": 1}, False, False, False),
        ({"gpus": 2, "replicas": 1}, True, False, True),
        ({"gpus": 4, "replicas": 1}, False, False, True),
        ({"gpus": 4, "replicas": 1}, False, True, False),
        ({"gpus": 4, "replicas": 1}, True, True, True),
    ],
)
def test_an_engine_runs_until_its_figures_are_there_or_it_asks_for_other_gpus(
    tmp_path, monkeypatch, said, figures, fixed, done
):
    found = []

    def run(words, environ, output, until):
        output.write(b"said")
        found.extend([words, environ, until()])
        return 7, {7: -15, 8: 0}

    monkeypatch.setattr(start.launch, "run", run)
    if said:
        arguments(tmp_path, **said)
    if figures:
        engine(tmp_path, 1, tokens=9)
    assert start.run(["engine"], {"X": "1"}, tmp_path, 2, fixed) == -15
    assert found == [["engine"], {"X": "1"}, done] and (tmp_path / start.LOG).read_bytes() == b"said"


def test_of_workers_one_without_kernels_is_enough():
    workers = [{"rank": 0, watch.UNBUILT: True}, {"rank": 1, watch.UNBUILT: False}, {"rank": 2}]
    assert start.unbuilt(workers) is True
    assert workers == [{"rank": 0}, {"rank": 1}, {"rank": 2}]
    assert start.unbuilt(workers) is False


@pytest.fixture
def left(monkeypatch, tmp_path):
    """What is made of the files in a folder: the arguments of report.figures, and what the driver takes."""
    w = Object(folder=tmp_path, given=None, took=[])
    (tmp_path / start.LOG).write_bytes(b"log")

    def figures(*given):
        w.given = given
        return {"figures": 1}

    monkeypatch.setattr(report, "figures", figures)
    monkeypatch.setattr(report, "replicated", lambda replicas: replicas[0] | {"replicas": len(replicas)})
    monkeypatch.setattr(report, "graphs_in_budget", lambda workers: w.graphs)
    monkeypatch.setattr(driver_memory, "of", lambda *given: w.took.append(given) or "taken")
    monkeypatch.setattr(driver_memory, "graphs", lambda *given: ("graphs", *given))
    monkeypatch.setattr(driver_memory, "sampled", lambda *given: ("sampled", *given))
    monkeypatch.setattr(driver_memory, "together", lambda *given: ("together", *given))
    monkeypatch.setattr(start.importlib.metadata, "version", lambda name: f"{name} 2")
    w.graphs = 0
    w.asked = Wanted(["vllm"], "t4", None, None, None)
    w.start = lambda: start.left(tmp_path, 3, "0.19", w.asked, CARDS[:1])
    return w


def write(folder, name, what):
    (folder / name).write_text(json.dumps(what))


def test_what_an_engine_left_that_said_nothing(left):
    assert left.start() == Start({"figures": 1}, [], 3, b"log", None, {})
    assert left.took == [("0.19", CARDS[0].driver, 1, None)]
    assert left.given == ("0.19", "torch 2", ["vllm"], CARDS[:1], "taken", {}, [], None, None, None)


def test_the_error_that_counts_is_of_memory_then_the_earliest(left):
    errors = [{"unfit": False, "time": 1}, {"unfit": True, "time": 3}, {"unfit": False, "time": 0}]
    for pid, one in enumerate(errors):
        write(left.folder, f"error.{pid}.json", one)
    began = left.start()
    assert began.errors == [errors[1], errors[2], errors[0]] and left.given[8] == errors[1]
    arguments(left.folder, replicas=1)
    engine(left.folder, 1, tokens=5, tensor_parallel_size=1, captured=None)
    assert left.start().errors == began.errors and left.given[8] is None, "the cache is there all the same"


@pytest.mark.parametrize("unbuilt, made_up", [(False, ["weights"]), (True, ["kernels", "weights"])])
def test_what_an_engine_left(left, unbuilt, made_up):
    arguments(left.folder, replicas=2, made_up=["weights"], asked={"dtype": "auto"})
    for pid, tokens in ((1, 9), (2, 5)):
        engine(left.folder, pid, tokens=tokens, tensor_parallel_size=2, captured=None)
    for rank in range(4):
        write(left.folder, f"worker.{rank}.{9 - rank}.json", {"rank": rank, watch.UNBUILT: unbuilt and rank == 3})
    write(left.folder, watch.GENERATED, {"generated": 1})
    write(left.folder, watch.MADE, {"made": 1})
    assert left.start() == Start({"figures": 1}, [], 3, b"log", {"made": 1}, {"dtype": "auto"})
    assert left.took == [("0.19", CARDS[0].driver, 2, 2)], "of the workers of one replica"
    _, _, _, _, taken, said, workers, figures, failed, generated = left.given
    assert (taken, said["made_up"], failed, generated) == ("taken", made_up, None, {"generated": 1})
    assert workers == [{"rank": rank} for rank in range(4)]
    assert figures == {"tokens": 5, "tensor_parallel_size": 2, "captured": None, "replicas": 2}


@pytest.mark.parametrize("captured, graphs, together", [(True, 40, True), (True, 0, False), (False, 40, False)])
def test_graphs_that_come_off_the_cache_are_the_drivers_too(left, captured, graphs, together):
    left.graphs = graphs
    arguments(left.folder, replicas=1)
    engine(left.folder, 1, tokens=5, tensor_parallel_size=1, captured={"experts": 1, "sizes": 3} if captured else None)
    left.start()
    estimated = ("graphs", graphs, 1, CARDS[0].driver)
    assert left.given[4] == (("together", "taken", ("sampled", estimated, 3)) if together else "taken")
