"""memshim run --record --check-values: what a recording says of values that the program read."""

import json
import subprocess
import sys

import pretended
import pytest
import warm
from captured import decode

from memshim import binary
from memshim.case.iterations import _of_estimated, _of_unsized

pytest.importorskip("torch")

PROGRAM = """
import torch

kept = torch.empty(4 << 20, dtype=torch.uint8, device="cuda")
loss = torch.randn(64, device="cuda").sum()
{reads}
"""
PRINTS = "print(loss.item())"
BRANCHES = """if loss.item() > 0:
    more = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")"""
FAILS = "torch.empty(8, device='cuda')[:int(loss.item() > 0)].cpu()[0]"


@pytest.fixture
def run(tmp_path):
    if why := pretended.missing():
        pytest.skip(why)

    def of(reads: str, *flags: str):
        (tmp_path / "p.py").write_text(PROGRAM.format(reads=reads))
        p = warm.run(
            [sys.executable, "-m", "memshim", "run", "--on", "t4", "--record", "a.rec", *flags, "--", "p.py"],
            cwd=tmp_path,
        )
        return p, decode(tmp_path / "a.rec")[0]

    return of


@pytest.fixture
def check(tmp_path):
    def of(limit: str) -> tuple[str, str]:
        """The outcome and why."""
        (tmp_path / "memspec.yaml").write_text(
            f"version: 1\nmodels:\n  p: {{artifact: a.rec, device: t4, budget: {{allocated: {limit}}}}}\n"
        )
        p = subprocess.run(
            [binary.find(), "check", "--format", "json"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        case = json.loads(p.stdout)["cases"][0]
        return case["outcome"], case["findings"][0].get("why", "")

    return of


def test_a_value_that_was_read_leaves_a_budget_undecided(run, check):
    """The verdict names the command that runs the program with other values."""
    _, record = run(PRINTS)
    assert "values" not in record and record["notes"][0]["id"] == "value-read"
    outcome, why = check("8MiB")
    assert outcome == "inconclusive" and why.endswith(
        "to make it exact: python -m memshim run --on t4 --record a.rec --check-values -- p.py"
    )
    assert check("2MiB")[0] == "fail", "what is over is over"


def test_a_value_that_decides_nothing(run, check):
    p, record = run(PRINTS, "--check-values")
    assert (
        p.returncode == 0
        and [r["as"] for r in record["values"]["runs"]] == ["balanced"] * 3
        and record["values"]["lines"] == []
    )
    assert [n["id"] for n in record["notes"]] == ["value-compared"]
    assert check("8MiB") == ("pass", "")


def test_a_value_that_decides_has_two_ends(run, check):
    _, record = run(BRANCHES, "--check-values")
    assert [(line["file"], line["line"]) for line in record["values"]["lines"]] == [("p.py", 6)]
    assert check("8MiB")[0] == "inconclusive" and "between 4.0 MiB and 68.0 MiB" in check("8MiB")[1]
    assert check("100MiB")[0] == "pass"
    assert check("2MiB")[0] == "fail"


def test_a_run_that_fails_with_other_values_has_no_end(run, check):
    _, record = run(FAILS.replace("> 0", "<= 0"), "--check-values")
    assert any("failed" in r for r in record["values"]["runs"])
    assert check("100MiB")[0] == "inconclusive" and "no end is known" in check("100MiB")[1]


def test_a_run_that_did_not_end_well_leaves_no_recording(tmp_path):
    """Its recording is of a part of the run, by which a budget would pass. One that ran out of memory
    says so itself."""
    if why := pretended.missing():
        pytest.skip(why)

    def run(end: str) -> subprocess.CompletedProcess:
        program = f"import os, signal, torch\nkept = torch.empty(4 << 20, dtype=torch.uint8, device='cuda')\n{end}\n"
        (tmp_path / "p.py").write_text(program)
        words = ["run", "--on", "t4", "--record", "a.rec", "--", "p.py"]
        return warm.run([sys.executable, "-m", "memshim", *words], cwd=tmp_path)

    # SIGINT is ignored by what a shell starts in the background
    interrupted = "signal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)"
    for end, code in (("1 / 0", 1), (interrupted, 130), ("os._exit(7)", 7)):
        p = run(end)
        assert p.returncode == code and not (tmp_path / "a.rec").exists(), p.stderr
        if code != 7:
            assert "recording        none: a.rec is not written, as the program did not end well" in p.stderr
    p = run("torch.empty(64 << 30, dtype=torch.uint8, device='cuda')")
    assert p.returncode != 0 and decode(tmp_path / "a.rec")[0]["oom"], p.stderr


def test_what_is_not_known_of_libraries():
    """Inside of PyTorch's allocator any figure may be too low; outside of it the total alone."""
    assert _of_unsized("NCCL's own buffers")["id"] == "outside-unknown"
    assert _of_unsized("cuDNN's workspace and reserve of batch norm in training, channels last: taken as 0") == {
        "id": "workspace-unknown",
        "text": "cuDNN's workspace and reserve of batch norm in training, channels last",
    }
    assert _of_estimated("workspace-estimate: the workspace of cuDNN's convolutions is by formula") == {
        "id": "workspace-estimate",
        "text": "the workspace of cuDNN's convolutions is by formula",
    }
