"""Predicted against measured: what it comes to, and how it is told."""

import json

import pytest

from memshim import cases, check, gpu, measure, record, report
from memshim.check import Options, verify

T4 = {"name": "Tesla T4", "total": 15_633_219_584, "compute_capability": "7.5", "torch": "2.15.0+cu132"}
MIB = 1 << 20


def case_of(**change):
    return {
        "name": "m[B=1]", "spec": "memspec.yaml:9", "device": {"name": "t4", "memory": 15_633_219_584, "compute_capability": "7.5"},
        "runtime": "eager", "mode": "inference", "grad": "no_grad", "dtype": "", "autocast": "", "torch": "2.15", "alloc_conf": "",
        "cublas_workspace": "", "memory_fraction": 0, "tolerance": 0.01, "artifact": "m.pt", "source": "zoo.py:m", "inputs": ["x=float32[1]"],
        "flags": {"tf32_matmul": False, "tf32_cudnn": True, "benchmark": False, "deterministic": False}, "error": "",
        "budgets": [{"metric": "allocated", "limit": 110 * MIB, "level": "fail", "text": "110MiB", "path": "p", "spec": "memspec.yaml:10"}]} | change


def predicted_of(allocated=100 * MIB, reserved=120 * MIB):
    sizes = {"requested": allocated - 5, "allocated": allocated, "reserved": reserved}
    return {"outcome": "pass", "error": "", "findings": [], "report": {
        "baseline": {"requested": 9 * MIB, "allocated": 10 * MIB, "reserved": 20 * MIB}, "peak": sizes,
        "passes": [{"name": "first", "peak": sizes}, {"name": "steady", "peak": sizes}]}}


def record_of(allocated=100 * MIB, reserved=120 * MIB, **change):
    c = case_of()
    at = lambda name, a, r: record.phase(name, 0, {"requested": a, "allocated": a, "reserved": r, "active": a, "inactive_split": 0})
    return {"schema": 1, "case": c["name"], "runtime": "eager", "where": "cuda", "built": "source",
            "device": {"name": "Tesla T4", "total": 15_633_219_584, "compute_capability": "7.5", "driver": "1"}, "torch": "2.15.0+cu132",
            "cuda": "13.2", "cudnn": "9.26.0", **{k: c[k] for k in record.FROM_CASE}, "weights": 9 * MIB, "context": 150 * MIB, "oom": None,
            "phases": [at("baseline", 10 * MIB, 20 * MIB), at("first", allocated, reserved), at("steady", allocated - 1, reserved)],
            "events": [], "stacks": [], "frames": []} | change


@pytest.fixture
def measured(monkeypatch):
    """Sets what running a case gives."""
    def give(answer):
        def run(*a, **kw):
            if isinstance(answer, Exception):
                raise answer
            return answer
        monkeypatch.setattr(measure, "measure", run)
    return give


@pytest.mark.parametrize("allocated, outcome, why", [
    (100 * MIB, "pass", "equal"),
    (101 * MIB, "pass", "exactly at the tolerance passes"),
    (101 * MIB + 1, "fail", "an under-estimate beyond it"),
    (99 * MIB, "pass", "exactly at the tolerance, the other way"),
    (99 * MIB - 1, "fail", "an over-estimate beyond it"),
])
def test_tolerance(measured, allocated, outcome, why):
    measured(record_of(allocated))
    got = verify(case_of(), predicted_of(), T4, Options())
    assert got.outcome == outcome, why
    for f in got.comparison.findings:
        assert f.under == (allocated > 100 * MIB)


def test_the_table(measured):
    measured(record_of(103 * MIB, 118 * MIB))
    got = verify(case_of(), predicted_of(), T4, Options())
    assert got.text.splitlines()[0] == ("FAIL m[B=1] measured on Tesla T4, torch 2.15.0+cu132: measured allocated 103.0 MiB, predicted 100.0 MiB: "
                                        "under-estimated by 3.0 MiB (+3.0%), tolerance 0.01")
    assert "measured reserved 118.0 MiB, predicted 120.0 MiB: over-estimated by 2.0 MiB (-1.7%)" in got.text
    row = next(line for line in got.text.splitlines() if line.startswith("  first pass allocated"))
    assert row.split() == ["first", "pass", "allocated", "104857600", "B", "108003328", "B", "+3145728", "B", "(+3.0%)", "UNDER-ESTIMATED"]
    assert "UNDER" not in next(line for line in got.text.splitlines() if line.startswith("  first pass reserved"))


@pytest.mark.parametrize("budget, outcome, text", [
    ({"metric": "allocated", "limit": 100 * MIB}, "pass", ""),
    ({"metric": "allocated", "limit": 100 * MIB - 1}, "fail", "measured allocated 100.0 MiB, budget 100.0 MiB (memspec.yaml:10): over by 1 B"),
    ({"metric": "weights", "limit": 8 * MIB}, "fail", "measured weights 9.0 MiB, budget 8.0 MiB"),
    ({"metric": "delta", "limit": 89 * MIB}, "fail", "measured delta 90.0 MiB"),
    ({"metric": "total", "limit": 269 * MIB}, "fail", "measured total 270.0 MiB"),
    ({"metric": "total", "limit": 1, "level": "warn"}, "warn", "measured total"),
])
def test_a_measured_budget(measured, budget, outcome, text):
    measured(record_of())
    b = {"level": "fail", "text": "", "path": "", "spec": "memspec.yaml:10"} | budget
    got = verify(case_of(budgets=[b]), predicted_of(), T4, Options())
    assert got.outcome == outcome and text in got.text


def test_a_total_without_a_known_context_is_not_judged(measured):
    measured(record_of(context=None))
    b = {"metric": "total", "limit": 1, "level": "fail", "text": "", "path": "", "spec": ""}
    assert verify(case_of(budgets=[b]), predicted_of(), T4, Options()).outcome == "pass"


def test_out_of_memory_fails(measured):
    measured(record_of(oom={"phase": "first", "text": "Tried to allocate 9 GiB"}))
    got = verify(case_of(), predicted_of(), T4, Options())
    assert got.outcome == "fail" and "out of memory in the first pass: Tried to allocate 9 GiB" in got.text


@pytest.mark.parametrize("device, options, answer, outcome, why", [
    (None, Options(), record_of(), "skipped", "no GPU here"),
    (None, Options(require_gpu=True), record_of(), "inconclusive", "no GPU here"),
    (T4 | {"name": "NVIDIA H200", "compute_capability": "9.0"}, Options(), record_of(), "skipped", "this GPU is NVIDIA H200, the case is for t4"),
    (T4 | {"total": 8 << 30}, Options(require_gpu=True), record_of(), "inconclusive", "the case is for t4"),
    (None, Options("always"), record_of(where="cpu"), "skipped", "on CPU tensors (no GPU)"),
    (T4, Options(), record_of(torch="2.11.0"), "skipped", "torch 2.11.0, the case says 2.15"),
    (T4, Options(), record_of(alloc_conf="x:1"), "skipped", "alloc_conf 'x:1', the case says ''"),
    (T4, Options(), measure.MeasureError("give source:"), "skipped", "give source:"),
    (T4, Options(require_gpu=True), measure.MeasureError("give source:"), "inconclusive", "give source:"),
    (T4, Options(), measure.ModelError("ValueError: no"), "error", "ValueError: no"),
])
def test_what_is_not_compared_says_why(measured, device, options, answer, outcome, why):
    measured(answer)
    got = verify(case_of(), predicted_of(), device, options)
    assert got.outcome == outcome and why in got.text and got.comparison is None


def test_a_case_without_a_prediction_is_not_compared(measured):
    measured(record_of())
    got = verify(case_of(), {"outcome": "error", "error": "m.pt: no such file", "findings": [], "report": None}, T4, Options())
    assert got.outcome == "skipped" and "there is no prediction: m.pt: no such file" in got.text


@pytest.mark.parametrize("outcomes, code", [([], 0), (["pass", "warn", "skipped"], 0), (["error", "fail"], 1), (["inconclusive", "error"], 2), (["inconclusive"], 3)])
def test_exit_codes(outcomes, code):
    assert check.exit_code(outcomes) == code


@pytest.mark.parametrize("torch, wanted, same", [("2.15.0+cu132", "2.15", True), ("2.1.0", "2.15", False), ("2.15.1", "2.15.0", False), ("2.15.0a0+git", "2.15.0", True)])
def test_torch_releases(torch, wanted, same):
    assert (report.why_not(case_of(torch=wanted), record_of(torch=torch)) == "") is same


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


def test_the_command_records_on_cpu_tensors(project, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert check.main(["--case", "net[B=1]", "--measure", "-o", "records"]) == 0
    assert "RECORDED net[B=1] on CPU tensors (no GPU)" in capsys.readouterr().out
    assert (project / "records" / "net[B=1].eager.cpu.json").is_file()


def test_the_command_with_a_gpu(project, capsys, monkeypatch, measured):
    """What a GPU would answer is a stand-in; the prediction is memspec's own."""
    (project / "memspec.yaml").write_text((project / "memspec.yaml").read_text().replace("device: none", "device: t4"))
    case = cases.load("memspec.yaml", ["net[B=1]"])[0]
    prediction = cases.check("memspec.yaml", ["net[B=1]"])["cases"][0]["report"]["peak"]
    got = record_of(prediction["allocated"], prediction["reserved"] + 2 * MIB)
    got["phases"][0] |= prediction | {"allocated": 5, "reserved": 5}  # less than a pass takes
    measured(got | {k: case[k] for k in record.FROM_CASE})
    monkeypatch.setattr(gpu, "first", lambda: T4)
    assert check.main(["--case", "net[B=1]", "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit"] == 1
    one = answer["cases"][0]
    assert one["measured"]["outcome"] == "fail"
    assert [(f["metric"], f["measured"]) for f in one["findings"]] == [("allocated", prediction["allocated"]), ("reserved", prediction["reserved"] + 2 * MIB)]
    assert {r["what"]: r["difference"] for r in one["measured"]["rows"]}["first pass reserved"] == 2 * MIB
