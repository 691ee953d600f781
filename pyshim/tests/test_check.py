"""A case run for real and compared with its prediction. What a GPU would answer is a stub; the
comparison is memspec's own."""

import json

import pytest

from memshim import binary
from memshim.case import measure, memspec_yaml, process, record, request
from memshim.gpu import devices
from memshim.gpu.devices import Seen
from memshim.judge import check
from memshim.judge.check import Options, verify

T4 = {
    "name": "Tesla T4",
    "total": 15_633_219_584,
    "compute_capability": "7.5",
    "uuid": "GPU-1",
    "torch": "2.15.0+cu132",
}
MIB = 1 << 20


@pytest.fixture
def case(project):
    (project / "memspec.yaml").write_text(
        (project / "memspec.yaml")
        .read_text()
        .replace("device: none", "device: t4")
        .replace("allocated: 1MiB", "allocated: 100MiB")
    )
    return memspec_yaml.load("memspec.yaml", ["net[B=1]"])[0]


@pytest.fixture
def answer(case):
    """A record that says what is predicted; more is added to the peaks."""
    predicted = memspec_yaml.check("memspec.yaml", ["net[B=1]"])["cases"][0]["report"]

    def give(more=None, **change):
        at = {"baseline": predicted["baseline"], **{p["name"]: p["peak"] for p in predicted["passes"]}}
        phases = [record.phase(name, 0, dict.fromkeys(record.METRICS, 0) | sizes) for name, sizes in at.items()]
        for p in phases[1:]:
            for metric, n in (more or {}).items():
                p[metric] += n
        for p in phases:
            p["active"] = p["allocated"]
        return {
            "schema": 1,
            "case": case["name"],
            "runtime": "eager",
            "where": "cuda",
            "built": "source",
            "device": {k: T4[k] for k in ("name", "total", "compute_capability")} | {"driver": "1"},
            "torch": T4["torch"],
            "cuda": "13.2",
            "cudnn": "9.26.0",
            **{k: case[k] for k in record.FROM_CASE},
            "weights": predicted["weights"],
            "phases": phases,
            "context": 150 * MIB,
            "oom": None,
            "events": [],
            "stacks": [],
            "frames": [],
        } | change

    return give


@pytest.fixture
def measured(monkeypatch):
    """Sets what running a case gives."""

    def give(value):
        def run(*a, **kw):
            if isinstance(value, Exception):
                raise value
            return value

        for kind in (process.Fresh, process.Server):
            monkeypatch.setattr(kind, "measure", run)

    return give


def test_agreement_passes(case, answer, measured):
    measured(answer())
    got = verify("memspec.yaml", case, Seen((T4,)), Options())
    assert got.outcome == "pass" and not got.comparison.findings
    assert {(r["phase"], r["metric"], r["difference"]) for r in got.comparison.rows} >= {
        ("first", "allocated", 0),
        ("peak", "reserved", 0),
    }


@pytest.mark.parametrize("sign, under", [(+1, True), (-1, False)])
def test_disagreement_fails_and_an_under_estimate_is_marked(case, answer, measured, sign, under):
    (r,) = (p for p in answer()["phases"] if p["name"] == "first")
    measured(answer({"allocated": sign * r["allocated"] // 2}))
    got = verify("memspec.yaml", case, Seen((T4,)), Options())
    assert got.outcome == "fail"
    assert [f["under"] for f in got.comparison.findings if "predicted" in f["text"] and f["metric"] == "allocated"] == [
        under
    ]
    assert got.text.splitlines()[-1].strip() == "reproduce  memspec verify --case 'net[B=1]' memspec.yaml"
    assert "memshim-" not in got.text, "no temporary folder is printed"
    text = " ".join(got.text.split())  # in one line, however wide it was laid out
    assert (
        "UNDER-ESTIMATED by" in text
    ) is under and "Tesla T4, torch 2.15.0+cu132 (net[B=1].eager.tesla-t4.json)" in text


def test_a_measured_budget(case, answer, measured, project):
    text = (project / "memspec.yaml").read_text().replace("defaults: {", "defaults: {tolerance: 100%, ")
    (project / "memspec.yaml").write_text(text)
    case = memspec_yaml.load("memspec.yaml", ["net[B=1]"])[0]
    (r,) = (p for p in answer()["phases"] if p["name"] == "first")
    measured(answer({"reserved": 1, "allocated": 1}))
    got = verify("memspec.yaml", case, Seen((T4,)), Options())
    assert got.outcome == "fail", "the budget is 2 MiB reserved, and that is what is predicted"
    assert [f["metric"] for f in got.comparison.findings] == ["reserved"] and r["reserved"] == 2 * MIB


def test_out_of_memory_fails(case, answer, measured):
    one = answer(oom={"phase": "first", "text": "Tried to allocate 9 GiB"})
    measured(one | {"phases": one["phases"][:1]})
    got = verify("memspec.yaml", case, Seen((T4,)), Options())
    assert got.outcome == "fail" and "Tried to allocate 9 GiB" in got.text


@pytest.mark.parametrize(
    "device, options, change, outcome, why",
    [
        (Seen(why="no GPU here"), Options("real"), {}, "skipped", "no GPU here"),
        (
            Seen(why="no GPU here"),
            Options(),
            measure.NoGPU("got macOS, want Linux"),
            "skipped",
            "NOT MEASURED net[B=1]: got macOS, want Linux",
        ),
        (
            Seen(why="no GPU here"),
            Options(),
            {},
            "skipped",
            "RECORDED net[B=1]",
        ),  # a record of a GPU is no pretend GPU's
        (Seen((T4,)), Options("pretend"), {}, "skipped", "RECORDED net[B=1]"),
        (Seen(why="no torch here"), Options(require_gpu=True), {}, "inconclusive", "no torch here"),
        (
            Seen(({**T4, "name": "NVIDIA H200", "compute_capability": "9.0"},)),
            Options("real"),
            {},
            "skipped",
            "this GPU is NVIDIA H200, the case is for t4",
        ),
        (Seen(({**T4, "total": 8 << 30},)), Options(require_gpu=True), {}, "inconclusive", "the case is for t4"),
        (Seen((T4,)), Options(), {"torch": "2.11.0"}, "skipped", 'torch "2.11.0", the case says "2.15"'),
        (Seen((T4,)), Options(), {"alloc_conf": "x:1"}, "skipped", 'alloc_conf "x:1"'),
        (Seen((T4,)), Options(), measure.NothingToRun("give source:"), "skipped", "give source:"),
        (Seen((T4,)), Options(require_gpu=True), measure.NothingToRun("give source:"), "inconclusive", "give source:"),
        # a mistake never passes
        (Seen((T4,)), Options(), measure.CaseError("zoo.py: got no nett"), "error", "zoo.py: got no nett"),
        (
            Seen(
                (
                    T4 | {"name": "A100 MIG 1g.10gb", "total": 10 << 30},
                    T4 | {"name": "Orin", "integrated": True, "compute_capability": "8.7"},
                )
            ),
            Options("real"),
            {},
            "skipped",
            "the GPUs here are A100 MIG 1g.10gb with 10.00 GiB, Orin (integrated), the case is for t4",
        ),
        (Seen((T4,)), Options(), measure.ModelError("ValueError: no"), "error", "ValueError: no"),
        (Seen(why="no torch here"), Options("always"), measure.NoTorch("got no torch"), "error", "got no torch"),
    ],
)
def test_what_is_not_compared_says_why(case, answer, measured, device, options, change, outcome, why):
    measured(change if isinstance(change, Exception) else answer(**change))
    got = verify("memspec.yaml", case, device, options)
    assert got.outcome == outcome and why in got.text and got.comparison is None


@pytest.mark.parametrize("seen, options", [(Seen(why="no GPU here"), Options()), (Seen((T4,)), Options("pretend"))])
def test_a_pretend_gpu_is_compared_and_never_called_a_measurement(case, answer, measured, seen, options):
    """Where the case's GPU is not here, and where it is asked for: then no GPU is touched."""
    (r,) = (p for p in answer()["phases"] if p["name"] == "first")
    measured(answer({"allocated": r["allocated"]}, where="pretend"))
    got = verify("memspec.yaml", case, seen, options)
    assert got.outcome == "fail" and got.as_json()["where"] == "pretend"
    text = " ".join(got.text.split())
    assert (
        "peak allocated on a pretend GPU " in text
        and "no GPU: a pretend " in text
        and "measured" not in text.replace("--measured", "")
    )


@pytest.mark.parametrize(
    "options, text",
    [
        (Options("pretend"), "ERROR net[B=1] run on a pretend GPU: zoo.py: got no net"),
        (Options("always"), "ERROR net[B=1] measured: zoo.py: got no net"),
    ],
)
def test_a_failure_on_a_pretend_gpu_is_no_measurements(case, options, text):
    def fails(*_):
        raise measure.MeasureError("zoo.py: got no net")

    got = check.verify("memspec.yaml", case, Seen(why="no GPU here"), options, fails)
    where = "pretend" if options.when == "pretend" else ""
    assert got == check.Measured("error", text, where=where) and got.as_json()["where"] == where


def test_a_command_whose_only_run_failed_on_a_pretend_gpu_says_so(project, capsys, monkeypatch):
    """Its last line too, which said that it was run for real."""

    def fails(*_):
        raise measure.MeasureError("zoo.py: got no net")

    monkeypatch.setattr(process.Fresh, "measure", fails)
    assert check.main(["--case", "net[B=1]", "--on", "pretend"]) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "run on a pretend GPU, 1 case: 1 error"


def test_cases_that_say_no_source_or_no_card_are_not_pretended(case):
    assert check.pretendable(case)
    assert not check.pretendable(case | {"source": ""}) and not check.pretendable(
        case | {"device": {"name": "none", "memory": 0}}
    )


def test_a_case_without_a_prediction_is_not_compared(case, answer, measured, project):
    measured(answer())
    (project / "net.pt").unlink()
    got = verify("memspec.yaml", case, Seen((T4,)), Options())
    assert got.outcome == "skipped" and "there is no prediction" in got.text


def test_the_command_without_a_gpu(project, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert check.main(["--case", "net[B=1]"]) == 0
    out = capsys.readouterr()
    assert out.out.splitlines()[-1] == "1 case: 1 pass" and "not measured: no GPU here" in out.err
    assert check.main([]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "4 cases: 2 pass, 1 warn, 1 fail"
    assert check.main(["--case", "net[B=1]", "--require-gpu"]) == 3
    assert "INCONCLUSIVE net[B=1]: no GPU here" in capsys.readouterr().out
    assert check.main(["absent.yaml"]) == 2
    assert "absent.yaml: no such file or directory" in capsys.readouterr().err


def test_json_keeps_memspecs_schema(case, answer, measured, capsys, monkeypatch):
    """With or without what was measured."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(binary.call("schema", "check")[0])
    runs = [Seen(why="no GPU here"), Seen((T4,))]
    for seen in runs:
        measured(answer({"reserved": MIB}))
        monkeypatch.setattr(devices, "look", lambda: seen)
        check.main(["--format", "json", "--on", "real"])
        said = json.loads(capsys.readouterr().out)
        jsonschema.validate(said, schema)
        assert [c["measured"] is None for c in said["cases"]] == [not seen.devices] * 4
    assert said["cases"][0]["measured"]["outcome"] == "fail" and said["cases"][0]["measured"]["where"] == "cuda"


def test_the_command_records_on_cpu_tensors(project, capsys, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(
        process.Fresh, "measure", lambda self, case, *a: json.loads(record.dump(request.run(case, "cpu")))
    )
    assert check.main(["--case", "net[B=1]", "--measure", "-o", "records"]) == 0
    assert "RECORDED net[B=1] on CPU tensors (no GPU)" in capsys.readouterr().out
    assert (project / "records" / "net[B=1].eager.cpu.json").is_file()


def test_the_command_with_a_gpu(case, answer, measured, capsys, monkeypatch):
    (first,) = (p for p in answer()["phases"] if p["name"] == "first")
    measured(answer({"reserved": 2 * MIB}))
    monkeypatch.setattr(devices, "look", lambda: Seen((T4,)))
    assert check.main(["--case", "net[B=1]"]) == 1
    assert "run for real, 1 case: 1 fail" in capsys.readouterr().out
    assert check.main(["--case", "net[B=1]", "--format", "json"]) == 1
    got = json.loads(capsys.readouterr().out)
    assert got["exit"] == 1 and got["cases"][0]["measured"]["outcome"] == "fail"
    assert {f["metric"]: f["measured"] for f in got["cases"][0]["findings"]} == {
        "allocated": first["allocated"],
        "reserved": first["reserved"] + 2 * MIB,
    }
    assert {(r["phase"], r["metric"]): r["difference"] for r in got["cases"][0]["measured"]["rows"]}[
        "first", "reserved"
    ] == 2 * MIB
    assert check.main(["--case", "net[B=1]", "--no-measure"]) == 0
    assert "run for real" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "program, error",
    [
        (None, "memshim: got MEMSPEC=/absent/memspec, which is no program that can be run\n"),
        ("echo not JSON", "memshim: {0}: got an answer that is not memspec's: not JSON\n"),
        ("exit 0", "memspec check memspec.yaml said nothing\n"),
        ("echo 'memspec: unknown command' >&2; exit 2", "memspec: unknown command\n"),
    ],
)
def test_a_memspec_that_is_none(project, capsys, monkeypatch, program, error):
    fake = project / "fake"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("MEMSPEC", str(fake) if program else "/absent/memspec")
    for command in (check.main, measure.main):
        assert command([]) == 2
        assert capsys.readouterr().err == error.format(fake).replace(
            "check", "cases" if command is measure.main else "check"
        )


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    import io

    from memshim.progress import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, live in ((Terminal(), True), (io.StringIO(), False)):
        out = io.StringIO()
        with Progress(2, stream) as bar:
            bar.start("a")
            bar.say("done", out)
        assert ("1 of 2: a" in stream.getvalue()) is live and out.getvalue() == "done\n"
        assert not live or stream.getvalue().endswith("\r\033[K"), "nothing of it stays"
