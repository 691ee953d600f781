"""What is said of a case that was run: its outcome, which GPU it is for, and what a record without one may say."""

import pytest

from memshim.gpu import devices
from memshim.judge import report

GIB = 1 << 30
WANTED = {"device": {"name": "l4", "compute_capability": "8.9", "memory": 100 * GIB}}


def finding(warn=False, unknown=False):
    return {"warn": warn, "unknown": unknown}


@pytest.mark.parametrize(
    "findings, outcome",
    [
        ([], "pass"),
        ([finding(warn=True)], "warn"),
        ([finding(warn=True), finding(unknown=True)], "inconclusive"),
        ([finding(unknown=True), finding()], "fail"),
        ([finding(warn=True, unknown=True)], "inconclusive"),
    ],
)
def test_the_outcome_is_the_worst_finding(findings, outcome):
    assert report.Comparison("", [], findings, None, "").outcome == outcome


def test_the_peak_is_that_of_the_metric():
    rows = [
        {"phase": "steady", "metric": "reserved", "measured": 1},
        {"phase": "peak", "metric": "allocated", "measured": 2},
        {"phase": "peak", "metric": "reserved", "measured": 3},
    ]
    compared = report.Comparison("", rows, [], None, "")
    assert (compared.peak("reserved"), compared.peak("allocated"), compared.peak("requested")) == (3, 2, None)


def gpu(name="NVIDIA L4", of="8.9", total=100 * GIB, **more):
    return {"name": name, "compute_capability": of, "total": total, **more}


def seen(*found, why="no GPU here"):
    return devices.Seen(list(found), why)


@pytest.mark.parametrize("total", [96 * GIB, 104 * GIB])
def test_a_gpu_of_nearly_the_memory_is_the_cases(total):
    other, right = gpu(of="9.0"), gpu(total=total)
    assert report.device_for(WANTED, seen(other, right)) == (right, "")


@pytest.mark.parametrize("total", [96 * GIB - 1, 104 * GIB + 1])
def test_a_gpu_of_another_memory_is_not(total):
    assert report.device_for(WANTED, seen(gpu(total=total)))[0] is None


def test_a_case_without_a_memory_takes_any_of_its_capability():
    case = {"device": WANTED["device"] | {"memory": 0}}
    assert report.device_for(case, seen(gpu(total=1)))[1] == ""
    assert report.device_for(case, seen(gpu(of="9.0")))[0] is None


def test_why_a_case_does_not_run_here():
    said = [
        report.device_for(WANTED, here)[1]
        for here in (
            seen(),
            seen(gpu("A", "8.0")),
            seen(gpu("A", "8.0"), gpu("A", "8.0"), gpu("B", "8.0", integrated=True)),
            seen(gpu("A MIG 1g", "8.0", total=5 * GIB)),
        )
    ]
    assert said == [
        "no GPU here",
        "this GPU is A, the case is for l4",
        "the GPUs here are A, B (integrated), the case is for l4",
        "this GPU is A MIG 1g with 5.00 GiB, the case is for l4",
    ]


PHASES = [
    {"name": "first", "requested": 1024, "reserved": 4096},
    {"name": "steady", "requested": 2048, "reserved": 4096},
]


def test_a_record_of_no_real_gpu_says_so():
    of = {"case": "net", "phases": PHASES, "oom": None, "device": {"name": "t4"}}
    assert report.recorded_line(of | {"where": "cpu"}) == (
        "RECORDED net on CPU tensors (no GPU): first pass 1.0 KiB, steady pass 2.0 KiB; never compared with the "
        "allocator's numbers"
    )
    assert report.recorded_line(of | {"where": "pretend", "oom": {"text": "tried 1 GiB"}}) == (
        "RECORDED net on a pretend GPU (t4): first pass 4.0 KiB, steady pass 4.0 KiB reserved; out of memory: tried "
        "1 GiB; no measurement of a real one"
    )
