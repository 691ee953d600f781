"""A size for each iteration: --lengths and lengths:."""

import captured
import pretended
import pytest

from memshim.allocator import recording
from memshim.case import inputs

NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(256, 2048), torch.nn.Linear(2048, 256)
    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))

def by_hand():
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [torch.randn(64, n, 256) for n in (32, 48, 56)]
    x, done = batches[0].cuda(), 0
    def step():
        nonlocal x, done
        if done:
            x = batches[done].cuda()
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        done += 1
    return step
"""
SPEC = """
version: 1
defaults: {device: t4, mode: training, budget: {reserved: 1GiB}}
models:
  net: {source: "net.py:Net", inputs: ["float32[64,T,256]"], optimizer: SGD, varies: [T], cases: [
    {name: growing, lengths: {T: [32, 48, 56]}}, {name: falling, lengths: {T: [56, 48, 32]}},
    {name: equal, lengths: {T: [56, 56, 56]}}]}
  hand: {source: "net.py:by_hand", cases: [{name: hand}]}
"""


def peaks(file):
    return [(p["allocated"], p["reserved"]) for p in recording.header(file)["phases"]][1:]


def test_an_iteration_of_each_length_is_that_of_a_loop_written_by_hand(tmp_path):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "memspec.yaml").write_text(SPEC)
    ended = captured.capture(tmp_path, "memspec.yaml")
    assert ended.returncode == 0, ended.stderr
    lengths = {}
    for file in (tmp_path / ".memspec").iterdir():
        header = recording.header(file)
        lengths[tuple(header["lengths"]["T"]) if "lengths" in header else "hand"] = peaks(file)
    growing, falling, equal = lengths[32, 48, 56], lengths[56, 48, 32], lengths[56, 56, 56]
    assert growing == lengths["hand"]
    most = [max(reserved for _, reserved in found) for found in (equal, falling, growing)]
    assert most[0] <= most[1] < most[2], "the order decides what is reserved"
    assert growing[2][0] == equal[2][0], "and not what is allocated at the longest"
    checked = captured.memshim(tmp_path, "check", "--on", "none").stdout
    assert "PASS growing" in checked and "INCONCLUSIVE equal" in checked and "fixed-lengths" in checked


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["T=1"], "got lengths 'T=1', want NAME=SIZE,SIZE"),
        (["T=a,b"], "got lengths 'T=a,b', want NAME=SIZE,SIZE"),
        (["T=1,2", "B=1,2,3"], "got 2 lengths of T, 3 lengths of B, want as many of each"),
    ],
)
def test_what_are_no_lengths(words, said):
    with pytest.raises(inputs.InputError, match=said):
        inputs.parse_lengths(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--iterations", "2"], "got 3 lengths beside --iterations 2, want as many"),
        (["--lengths", "S=1,2,3"], "got --lengths for S, which no --input names"),
    ],
)
def test_lengths_that_a_capture_cannot_have(tmp_path, words, said):
    given = ["net.py:Net", "--input", "float32[4,T]", "--lengths", "T=1,2,3", "-o", "a.rec", "--on", "t4", *words]
    assert said in captured.capture(tmp_path, *given).stderr
