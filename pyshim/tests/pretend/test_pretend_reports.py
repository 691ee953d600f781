"""What a program on a pretend GPU is shown of values that no kernel computed, and of parameters
without a gradient."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, warnings
import memshim
memshim.pretend("t4")
before_torch = memshim.pretend.report()
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 4)
        self.experts = nn.ModuleList([nn.Linear(64, 64) for _ in range(4)])
        self.never = nn.Linear(64, 8)

    def forward(self, x):
        index, out = self.gate(x).argmax(-1), x * self.gate.weight.sum()
        for e, expert in enumerate(self.experts):
            out = out + (expert(x[index == e]).sum() if e < 3 else 0)
        return out

def step(model):
    optimizer = torch.optim.SGD(model.parameters())
    model(torch.randn(16, 64, device="cuda")).sum().backward()
    optimizer.step()
    found = memshim.pretend.report().without_gradient
    return found and found._asdict()

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    known = torch.ones(3, device="cuda").sum().item()
    quiet = len(seen)
    unknown = torch.randn(4096, 4096, device="cuda").sum().item()  # the line
    torch.randn(4096, device="cuda").mean().item()
print(json.dumps({"known": known, "quiet": quiet,
                  "warnings": [[w.category.__name__, w.filename, w.lineno, str(w.message)] for w in seen],
                  "used": step(nn.Linear(64, 64).cuda()), "unused": step(Model().cuda()),
                  "before_torch": [before_torch.mode, before_torch.reads],
                  "report": memshim.pretend.report().as_json()["without_gradient"]}))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMSPEC_")}
    p = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=600)
    assert p.returncode == 0, p.stderr[-3000:]
    return json.loads(p.stdout) | {"program": str(program)}


def test_a_report_before_torch_is_imported_is_empty(seen):
    assert seen["before_torch"] == ["balanced", []]


def test_the_first_read_of_an_unknown_value_is_one_warning(seen):
    assert seen["known"] == 3 and seen["quiet"] == 0
    [(category, file, line, text)] = seen["warnings"]
    assert (category, file) == ("UnknownValue", seen["program"])
    assert PROGRAM.splitlines()[line - 1].endswith("# the line")
    assert "kernels compute nothing on a pretend GPU" in text and "memshim.pretend.report()" in text


def test_parameters_without_a_gradient_are_reported(seen):
    assert seen["used"] is None
    assert seen["unused"] == {
        "bytes": 4 * (64 * 64 + 64 + 64 * 8 + 8) + 4 * 4,
        "parameters": 5,
        "modules": ["gate", "experts.3", "never"],
        "others": 0,
    }
    assert seen["report"] == seen["unused"]
