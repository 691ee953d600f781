"""memshim check, piece by piece, without memspec: which cases are run and where, what is compared, and what is
said."""

import json
import os
from types import SimpleNamespace

import pytest

from memshim import binary, progress
from memshim.case import capture, measure, memspec_yaml, pickles, process, record
from memshim.gpu import devices
from memshim.gpu.devices import Seen
from memshim.judge import check, report
from memshim.judge.check import Measured, Options
from memshim.judge.report import Comparison
from memshim.workspace import answers

CASE = {"name": "net", "source": "zoo.py:net", "device": {"memory": 16}}
GPU = {"uuid": "GPU-1"}
ONE, TWO, NONE = Seen((GPU,)), Seen((GPU, {"uuid": "GPU-2"})), Seen(why="no GPU here")
PROGRAM = "a program is recorded on a pretend GPU, and not measured"
RECORDING = "NOT RUN net: its prediction is a recording of a pretend GPU"


@pytest.fixture
def world(monkeypatch):
    """The GPU of a case is there where any is; runs give what is set; a comparison passes."""
    w = SimpleNamespace(ran=[], gives={"where": "cuda"}, compared=[], fresh=True, written=[])
    monkeypatch.setattr(
        report, "device_for", lambda case, seen: (seen.devices[0], "") if seen.devices else (None, seen.why)
    )
    monkeypatch.setattr(report, "recorded_line", lambda got: f"RECORDED {got['where']}")
    monkeypatch.setattr(record, "write", lambda got, folder: w.written.append(folder))
    monkeypatch.setattr(capture, "fresh", lambda file, case: w.fresh)
    w.comparison = Comparison("ok", [], [], None, "")
    monkeypatch.setattr(report, "compare", lambda *given: w.compared.append(given) or w.comparison)

    def run(case, at, timeout, stacks):
        w.ran.append((case["visible"], at, timeout, stacks))
        if isinstance(w.gives, Exception):
            raise w.gives
        return w.gives

    w.verify = lambda case=CASE, seen=NONE, **options: check.verify("s", case, seen, Options(**options), run)
    return w


@pytest.mark.parametrize(
    "options, seen, change, at",
    [
        ({}, NONE, {}, "pretend"),
        ({}, ONE, {}, "auto"),
        ({"when": "pretend"}, ONE, {}, "pretend"),
        ({"when": "pretend"}, NONE, {"device": {"memory": 0}}, "pretend"),
        ({"when": "always"}, NONE, {}, "auto"),
        ({"when": "real"}, ONE, {}, "auto"),
        ({"require_gpu": True}, ONE, {}, "cuda"),
        ({}, NONE, {"recording": "x.rec", "fresh": False}, "pretend"),
        ({"output": "out"}, NONE, {"recording": "x.rec"}, "pretend"),
        ({}, ONE, {"recording": "x.rec"}, "auto"),
    ],
)
def test_where_a_case_is_run(world, options, seen, change, at):
    world.fresh = change.pop("fresh", True)
    world.verify(CASE | change, seen, timeout=9, **options)
    assert world.ran == [("", at, 9, "all" if "output" in options else "python")]
    assert world.written == ([options["output"]] if "output" in options else [])


def test_of_several_gpus_the_cases_is_visible(world):
    world.verify(seen=TWO)
    world.verify(seen=TWO, when="pretend")
    assert [visible for visible, *_ in world.ran] == ["GPU-1", ""]


@pytest.mark.parametrize(
    "options, seen, change, want",
    [
        ({}, ONE, {"program": {"args": []}}, Measured("skipped", RECORDING, where="recorded")),
        (
            {"require_gpu": True},
            ONE,
            {"program": {"args": []}},
            Measured("inconclusive", f"INCONCLUSIVE net: {PROGRAM}"),
        ),
        ({}, NONE, {"device": {"memory": 0}}, Measured("skipped", "NOT MEASURED net: no GPU here")),
        ({}, NONE, {"source": ""}, Measured("skipped", "NOT MEASURED net: no GPU here")),
        ({"when": "real"}, NONE, {}, Measured("skipped", "NOT MEASURED net: no GPU here")),
        ({"require_gpu": True}, NONE, {}, Measured("inconclusive", "INCONCLUSIVE net: no GPU here")),
        (
            {"when": "always", "require_gpu": True},
            NONE,
            {},
            Measured("inconclusive", "INCONCLUSIVE net: no GPU here"),
        ),
        ({}, NONE, {"recording": "x.rec"}, Measured("skipped", RECORDING, where="recorded")),
    ],
)
def test_a_case_that_is_not_run(world, options, seen, change, want):
    assert world.verify(CASE | change, seen, **options) == want and world.ran == []


@pytest.mark.parametrize(
    "error, seen, options, want",
    [
        (measure.NoGPU("gone"), ONE, {}, Measured("skipped", "NOT MEASURED net: gone")),
        (
            measure.NothingToRun("no source"),
            ONE,
            {"require_gpu": True},
            Measured("inconclusive", "INCONCLUSIVE net: no source"),
        ),
        (measure.MeasureError("bad"), ONE, {}, Measured("error", "ERROR net measured: bad")),
        (
            measure.MeasureError("bad"),
            NONE,
            {},
            Measured("error", "ERROR net run on a pretend GPU: bad", where="pretend"),
        ),
    ],
)
def test_a_run_that_fails(world, error, seen, options, want):
    world.gives = error
    assert world.verify(seen=seen, **options) == want and world.compared == []


def test_a_run_elsewhere_is_not_compared(world):
    world.gives = {"where": "cpu"}
    assert world.verify(when="always") == Measured("skipped", "RECORDED cpu", {"where": "cpu"})
    assert world.verify(seen=ONE).outcome == "skipped" and world.compared == []
    world.gives = {"where": "pretend"}
    assert world.verify() == Measured("pass", "ok", {"where": "pretend"}, world.comparison)
    assert world.verify(seen=ONE).text == "RECORDED pretend" and len(world.compared) == 1


def test_a_run_is_compared_with_the_prediction(world):
    assert world.verify(seen=ONE, extra=("--workspace", "w")) == Measured(
        "pass", "ok", {"where": "cuda"}, world.comparison
    )
    assert world.compared == [("s", {"where": "cuda"}, ["--workspace", "w"])]
    world.comparison = world.comparison._replace(why_not="no prediction")
    assert world.verify(seen=ONE) == Measured("skipped", "NOT MEASURED net: no prediction", {"where": "cuda"})


def test_what_was_measured_as_json():
    c = Comparison("", ["r"], ["f"], {"e": 1}, "")
    assert Measured("pass", "t", {"where": "cuda"}, c, "x").as_json() == {
        "outcome": "pass", "text": "t", "where": "cuda", "rows": ["r"], "findings": ["f"], "events": {"e": 1},
    }  # fmt: skip
    assert Measured("error", "t", where="pretend").as_json() == {
        "outcome": "error", "text": "t", "where": "pretend", "rows": [], "findings": [], "events": None,
    }  # fmt: skip


# The command.


@pytest.fixture
def command(monkeypatch):
    """The command with cases that passed, and runs that are given."""
    w = SimpleNamespace(checks=[], called=[], cases=["pass"], results=[], fresh=True, asked=None, captured=[])

    class Queried:
        count = 0
        arguments: list = []

        def __enter__(self):
            w.asked = self
            self.arguments = w.arguments
            self.count = w.count
            return self

        def __exit__(self, *error):
            pass

        def lines(self):
            return w.lines

    w.arguments, w.count, w.lines = [], 0, []
    monkeypatch.setattr(answers, "Queried", Queried)

    def checked(spec, cases, extra, asked):
        w.checks.append((spec, cases, list(extra)))
        return {
            "schema": 4,
            "cases": [{"name": "größe", "outcome": o, "findings": [{"metric": "reserved"}]} for o in w.cases],
        }

    monkeypatch.setattr(memspec_yaml, "check", checked)
    monkeypatch.setattr(memspec_yaml, "selected", lambda spec, cases: [spec, *cases])
    monkeypatch.setattr(memspec_yaml, "load", lambda spec, cases: w.loaded)
    w.loaded = [CASE]
    monkeypatch.setattr(binary, "call", lambda *words: w.called.append(words) or ("verdict\n", w.err, 0))
    w.err = ""
    monkeypatch.setattr(capture, "of_spec", lambda spec, found: [{"recording": "x.rec"}])
    monkeypatch.setattr(capture, "fresh", lambda file, case: w.fresh)
    monkeypatch.setattr(capture, "refresh", lambda *given: w.captured.append(given[3]) or ["memshim: net cannot"])
    monkeypatch.setattr(process, "runner", lambda: SimpleNamespace(close=lambda: w.captured.append("closed")))
    monkeypatch.setattr(devices, "look", lambda: w.seen)
    w.seen = ONE

    class All:
        def __init__(self, cases, jobs, one):
            w.jobs = jobs
            self.left = [one(case, None) for case in cases] if w.verified else []

        def __iter__(self):
            return iter(w.results)

        def close(self):
            pass

    w.verified = []
    monkeypatch.setattr(process, "measure_all", All)
    monkeypatch.setattr(check, "verify", lambda *given: w.verified.append(given))
    monkeypatch.setattr(
        progress,
        "Progress",
        lambda n: type(
            "Bar",
            (),
            {
                "__enter__": lambda s: s,
                "__exit__": lambda s, *e: None,
                "say": lambda s, text, to: print(text, file=to),
                "start": lambda s, name: None,
            },
        )(),
    )
    return w


PEAK = {"phase": "peak", "metric": "reserved", "measured": 7}
PASS = Measured("pass", "ok", {"where": "cuda"}, Comparison("", [PEAK], [], None, ""))
FAIL = Measured("fail", "bad", {"where": "pretend"}, PASS.comparison)


@pytest.mark.parametrize(
    "results, said, code",
    [
        ([], "", 0),
        ([PASS], "ok\nrun for real, 1 case: 1 pass\n", 0),
        ([FAIL, FAIL], "bad\nbad\nrun on a pretend GPU, 2 cases: 2 fail\n", 1),
        ([PASS, FAIL], "ok\nbad\nrun, some on a pretend GPU, 2 cases: 1 pass, 1 fail\n", 1),
        ([Measured("skipped", "no", where="recorded")], "", 0),
        (
            [Measured("error", "e", where="pretend"), Measured("skipped", "no", where="recorded")],
            "e\nrun on a pretend GPU, 1 case: 1 error\n",
            2,
        ),
        ([Measured("skipped", "why")], "why\nrun for real, 1 case: 1 skipped\n", 0),
    ],
)
def test_runs_are_counted_by_where_they_were(command, capsys, results, said, code):
    command.results = results
    assert check.main([]) == code
    assert capsys.readouterr().out == "verdict\n" + said


def test_the_words_of_memspec(command, capsys):
    command.arguments, command.err = ["--answers", "a"], "a warning"
    assert check.main(["s.yaml", "--case", "n", "--workspace", "w", "--no-measure"]) == 0
    assert command.checks == [("s.yaml", ["n"], ["--workspace", "w"])]
    assert command.called == [("check", "s.yaml", "n", "--workspace", "w", "--answers", "a")]
    assert capsys.readouterr() == ("verdict\n", "a warning\n")


@pytest.mark.parametrize("words, trusts", [([], ""), (["--trust"], "1")])
def test_pickles_are_trusted_where_that_is_said(command, monkeypatch, words, trusts):
    monkeypatch.setenv(pickles.TRUST, "")
    assert check.main(words) == 0
    assert os.environ[pickles.TRUST] == trusts


def test_what_cudnn_answered_is_said(command, capsys):
    command.count, command.lines = 3, ["cuDNN 9 is not here"]
    check.main(["a b.yaml", "--on", "none"])
    assert capsys.readouterr().err == (
        "memshim: cuDNN 9 is not here\nmemshim: cuDNN answered 3 calls that no workspace profile has; python -m "
        "memshim workspace 'a b.yaml' keeps the answers for memspec check\n"
    )


@pytest.mark.parametrize(
    "words, fresh, checks, captured",
    [
        ([], False, 2, [1800.0, "closed"]),
        (["--on", "pretend", "--timeout", "9"], False, 2, [9.0, "closed"]),
        ([], True, 1, []),
        (["--on", "real"], False, 1, []),
        (["--on", "none"], False, 1, []),
    ],
)
def test_recordings_that_are_stale_are_captured_first(command, capsys, words, fresh, checks, captured):
    command.fresh = fresh
    check.main(words)
    assert (len(command.checks), command.captured) == (checks, captured)
    assert ("memshim: net cannot\n" in capsys.readouterr().err) is bool(captured)


@pytest.mark.parametrize(
    "outcomes, code",
    [
        ([], 0),
        (["pass", "warn", "skipped"], 0),
        (["pass", "inconclusive"], 3),
        (["inconclusive", "error"], 2),
        (["error", "inconclusive", "fail"], 1),
    ],
)
def test_the_exit_code_is_of_the_worst_outcome(outcomes, code):
    assert check.exit_code(outcomes) == code


def test_the_json_has_what_was_measured(command, capsys):
    command.cases, command.results = ["pass", "warn"], [PASS, FAIL]
    assert check.main(["--format", "json"]) == 1
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert out == json.dumps(said, indent=2, ensure_ascii=False) + "\n" and "größe" in out
    assert (said["schema"], said["exit"], err, command.called) == (4, 1, "ok\nbad\n", [])
    assert [c["measured"]["outcome"] for c in said["cases"]] == ["pass", "fail"]
    assert [c["findings"] for c in said["cases"]] == [[{"metric": "reserved", "measured": 7}], [{"metric": "reserved"}]]
    command.results = []
    assert check.main(["--format", "json", "--no-measure"]) == 0
    assert [c["measured"] for c in json.loads(capsys.readouterr().out)["cases"]] == [None, None]


@pytest.mark.parametrize(
    "words, seen, loaded, runs",
    [
        ([], NONE, [CASE], True),
        ([], NONE, [CASE | {"source": ""}], False),
        (["--on", "real"], NONE, [CASE], False),
        (["--measure"], NONE, [CASE | {"source": ""}], True),
        (["--require-gpu"], NONE, [CASE | {"source": ""}], True),
        ([], ONE, [CASE | {"source": ""}], True),
        (["--on", "pretend"], NONE, [CASE | {"source": ""}], True),
    ],
)
def test_without_a_gpu_nothing_may_be_run(command, capsys, words, seen, loaded, runs):
    command.seen, command.loaded, command.results = seen, loaded, [PASS]
    check.main(words)
    out, err = capsys.readouterr()
    assert ("run for real" in out) is runs
    said = "not measured: no GPU here (--measure runs the cases on CPU tensors, --require-gpu makes this exit 3)\n"
    assert (said in err) is not runs


def test_how_cases_are_run(command, tmp_path):
    command.verified = [None]  # they are
    words = ["--jobs", "3", "-o", str(tmp_path / "a/b"), "--timeout", "9", "--require-gpu", "--workspace", "w"]
    check.main(words)
    assert command.jobs == 3 and (tmp_path / "a/b").is_dir()
    want = Options("auto", True, str(tmp_path / "a/b"), 9.0, ("--workspace", "w"), 3)
    assert command.verified[1:] == [("memspec.yaml", CASE, ONE, want, None)]
    check.main(["--on", "pretend"])
    assert command.verified[-1][2:4] == (Seen(), Options("pretend"))


@pytest.mark.parametrize(
    "words, said",
    [
        (["--on", "pretend"], "got --require-gpu beside --on pretend, want one of them"),
        (["--on", "none"], "got --require-gpu beside --no-measure or --on none, want one of them"),
        (["--no-measure"], "got --require-gpu beside --no-measure or --on none, want one of them"),
    ],
)
def test_a_gpu_cannot_be_required_where_none_is_used(command, capsys, words, said):
    with pytest.raises(SystemExit):
        check.main(["--require-gpu", *words])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, said", [(memspec_yaml.SpecError("a.yaml:1: x"), "a.yaml:1: x\n"), (binary.BinaryError("b"), "memshim: b\n")]
)
def test_errors_of_memspec_are_wrong_input(command, monkeypatch, capsys, error, said):
    def fails(*given):
        raise error

    monkeypatch.setattr(memspec_yaml, "check", fails)
    assert check.main([]) == 2 and capsys.readouterr() == ("", said)


# A comparison.


@pytest.mark.parametrize(
    "where, measured, want",
    [
        ("cuda", [{"rows": ["r"], "findings": ["f"], "events": {"e": 1}}], (["r"], ["f"], {"e": 1}, "")),
        ("pretend", [], ([], [], None, "one; two")),
    ],
)
def test_memspec_compares(monkeypatch, where, measured, want):
    asked = []
    skipped = [{"why": "one"}, {"why": "two"}]
    monkeypatch.setattr(record, "write", lambda got, folder: asked.append(folder))
    monkeypatch.setattr(memspec_yaml, "selected", lambda spec, cases: [spec, *cases])
    monkeypatch.setattr(
        memspec_yaml,
        "ask",
        lambda *words: asked.append(words) or {"cases": [{"measured": measured, "skipped": skipped, "error": "e"}]},
    )

    def call(*words):
        folder = asked[0]
        return f"FAIL net\n  memspec verify \\\n    --measured \\\n  {folder} s\n  {folder}/net.json\n1 case\n\n", "", 0

    monkeypatch.setattr(binary, "call", call)
    found = report.compare("s", {"case": "net", "where": where}, ["--x"])
    assert found == Comparison("FAIL net\n  memspec verify s\n  net.json", *want)
    more = ["--on", "pretend"] if where == "pretend" else []
    assert list(asked[1]) == ["verify", "s", "net", "--measured", asked[0], "--x", *more]
    skipped.clear()
    if not measured:
        assert report.compare("s", {"case": "net", "where": where}).why_not == "e"
