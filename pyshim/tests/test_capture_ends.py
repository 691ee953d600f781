"""memshim capture of what reads values that no kernel computed: the run is repeated with other
values, and the figure has the ends that those show."""

import json

import pytest
from captured import capture, decode

from memshim import binary
from memshim.case import process

torch = pytest.importorskip("torch")

ZOO = """
import torch
from torch import nn

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(1024, 1024)

    def forward(self, x):
        return self.l(x)

class Logged(Plain):
    def forward(self, x):
        y = self.l(x)
        self.seen = y.mean().item()  # logged
        return y

class Branch(Plain):
    def forward(self, x):
        y = self.l(x).abs() + 1
        if y.mean() > 0.5:  # branch
            return torch.cat([y] * 100)
        return y

class Refuses(Plain):
    def forward(self, x):
        y = self.l(x)
        n = y.long().sum().item()  # number
        if n > 0:
            raise ValueError(f"got {n}, want none")
        return y

class Many(Plain):
    def forward(self, x):
        y = self.l(x)
        a = y.mean() > 0
        if a: x = x + 1  # first
        if a: x = x + 1
        if a: x = x + 1
        if a: x = x + 1
        if a: x = x + 1
        return torch.cat([y, x]) if a else y

class Counts(Plain):
    def forward(self, x):
        y = self.l(x)
        return torch.zeros(y.long().sum().item(), 1024, device=y.device)  # size
"""
LINE = {line.rpartition("# ")[2]: i for i, line in enumerate(ZOO.splitlines(), 1) if "# " in line}
X = 4 << 20  # bytes of x, and of a result


pytestmark = pytest.mark.usefixtures("pretend_gpu")


@pytest.fixture
def count(monkeypatch):
    """How many processes ran."""
    runs, run = [], process.Server.run

    def counted(self, folder, case, job, extra):
        runs.append(extra[process.VALUES])
        return run(self, folder, case, job, extra)

    monkeypatch.setattr(process.Server, "run", counted)
    return runs


def captured(folder, name):
    p = capture(folder, f"zoo.py:{name}", "--input", "float32[1024,1024]", "--on", "t4", "-o", f"{name}.rec", "--fresh")
    assert p.returncode == 0, p.stderr
    return decode(folder / f"{name}.rec")[0]


def judged(folder, name, allocated):
    """The case of memspec check, with its exit code."""
    (folder / "memspec.yaml").write_text(
        f"version: 1\ndefaults: {{device: t4}}\nmodels: {{it: {{artifact: {name}.rec, budget: {{allocated: "
        f"{allocated}}}}}}}\n"
    )
    said = binary.call("check", str(folder / "memspec.yaml"), "--format", "json")
    return said.code, json.loads(said.out)["cases"][0]


def test_what_reads_no_value_runs_once(folder, count):
    assert "values" not in captured(folder, "Plain")
    assert count == ["balanced"]


def test_a_value_that_decides_nothing_leaves_the_figure_exact(folder, count):
    header = captured(folder, "Logged")
    assert count == ["balanced", "least", "most", "skewed"]
    assert header["values"] == {"lines": [], "runs": [{"values": v, "as": "balanced"} for v in count[1:]]}
    (note,) = header["notes"]
    assert (note["id"], note["file"], note["line"]) == ("value-compared", "zoo.py", LINE["logged"])
    code, case = judged(folder, "Logged", "64MiB")
    assert code == 0 and case["report"]["quality"] == "exact"


def test_a_branch_has_two_ends(folder, count):
    """A budget between what the branch takes and what it does not take is undecided; N2 of the
    tests of new users."""
    header = captured(folder, "Branch")
    assert len(count) == 4
    assert header["values"]["lines"] == [{"file": "zoo.py", "line": LINE["branch"], "function": "forward"}]
    verdicts = {size: judged(folder, "Branch", size) for size in ("600MiB", "300MiB", "8MiB")}
    assert [code for code, _ in verdicts.values()] == [0, 3, 1]
    undecided = verdicts["300MiB"][1]
    assert f"zoo.py:{LINE['branch']}" in undecided["findings"][0]["why"]
    (other,) = undecided["report"]["other_values"]
    assert (
        other["values"] == "most" and other["allocated"] >= 100 * X > 8 * X >= undecided["report"]["peak"]["allocated"]
    )


def test_a_run_that_fails_with_other_values_has_no_known_end(folder):
    header = captured(folder, "Refuses")
    failed = [r for r in header["values"]["runs"] if "failed" in r]
    assert [r["values"] for r in failed] == ["most"] and "got" in failed[0]["failed"]
    code, case = judged(folder, "Refuses", "1GiB")
    assert code == 3 and f"zoo.py:{LINE['number']} (forward)" in case["findings"][0]["why"]


def test_an_integer_of_no_known_range_has_no_upper_end(folder):
    captured(folder, "Counts")
    code, case = judged(folder, "Counts", "1GiB")
    assert code == 3 and "an integer of no known range" in case["findings"][0]["why"]


def test_of_more_than_four_lines_the_first_is_named(folder):
    header = captured(folder, "Many")
    assert [x["line"] for x in header["values"]["lines"]] == [LINE["first"] + i for i in range(6)]
    code, case = judged(folder, "Many", "1GiB")
    assert (
        code == 3
        and f"6 lines read values that no kernel computed before what is taken differs, the first "
        f"zoo.py:{LINE['first']}"
        in case["findings"][0]["why"]
    )


ASSUMED = f"""
version: 1
defaults: {{device: t4}}
models:
  it:
    source: zoo.py:Branch
    inputs: ["float32[1024,1024]"]
    budget: {{allocated: 300MiB}}
    cases:
      - {{name: line, assume: {{"zoo.py:{LINE["branch"]}": false}}}}
      - {{name: function, assume: {{"zoo.py:forward": balanced}}}}
      - {{name: taken, assume: {{"zoo.py:Branch.forward": true}}}}
      - {{name: elsewhere, assume: {{"zoo.py:reverse": balanced}}}}
"""


def test_what_a_case_assumes_of_a_line_or_a_function_is_not_varied_and_is_said(folder):
    (folder / "memspec.yaml").write_text(ASSUMED)
    p = capture(folder, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    said = binary.call("check", str(folder / "memspec.yaml"), "--format", "json")
    cases = {c["name"]: c for c in json.loads(said.out)["cases"]}
    assert {name: c["outcome"] for name, c in cases.items()} == {
        "line": "pass",
        "function": "pass",
        "taken": "fail",
        "elsewhere": "inconclusive",
    }
    for name in ("line", "function", "taken"):
        (note,) = [n for n in cases[name]["report"]["notes"] if n["id"] != "dependencies-unchecked"]
        assert (
            note["id"] == "value-stated"
            and note["text"].endswith("as assume: says")
            and note["first"]["line"] == LINE["branch"]
        ), note
        assert cases[name]["report"]["quality"] == "exact"
