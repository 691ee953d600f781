"""memshim run --record: what its recordings hold of a program's tensors."""

import json
import sys
from collections import Counter

import pretended
import pytest
import warm
from captured import decode

from memshim import binary

pytest.importorskip("torch")

TRAIN = """
import torch
torch.manual_seed(0)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)
        self.register_buffer("scale", torch.ones(512))

    def forward(self, x):
        return self.down(torch.relu(self.up(x))) * self.scale

def main():
    model = torch.nn.Sequential(Block(), Block()).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    kept = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
    for i in range(3):
        x, y = torch.randn(256, 512, device="cuda"), torch.randn(256, 512, device="cuda")
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

{before}
main()
{after}
"""
PARAMETERS = 2 * 4 * (2 * 512 * 2048 + 2048 + 512)
HISTORY = 'torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=1000000)'
PRINT = """import json
print(json.dumps([[e["action"], e["size"]] for e in torch.cuda.memory._snapshot()["device_traces"][0]]))"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of a training script, its recording and the live report."""
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(TRAIN.format(before="", after=""))
    p = warm.run(
        [
            sys.executable,
            "-m",
            "memshim",
            "run",
            "--on",
            "t4",
            "--record",
            "train.rec",
            "--json",
            "out.json",
            "--top",
            "0",
            "--",
            "train.py",
        ],
        cwd=folder,
    )
    assert p.returncode == 0, p.stderr
    return folder


def explained(folder, by=None, command="explain"):
    words = [command, "train.rec", "--device", "t4", "--format", "json", *(["--by", by] if by else [])]
    said = binary.call(*(str(folder / w) if w == "train.rec" else w for w in words))
    assert said.code == 0, said.out + said.err
    return json.loads(said.out)


def test_categories_and_modules(recorded):
    """By arithmetic: a float32 for each parameter, as many gradients, and two of AdamW's; the
    activations are what autograd saves."""
    header, events = decode(recorded / "train.rec")
    assert header["mode"] == "training" and [f["name"] for f in header["phases"][1]["phases"]][:3] == [
        "forward",
        "backward",
        "step",
    ]
    made = Counter()
    for e in events:
        if e["action"] == "alloc":
            made[e["category"], e["module"].partition(".")[0]] += e["size"]
    for block in "01":
        assert made["parameter", block] == PARAMETERS // 2 and made["buffer", block] == 4 * 512
        assert made["optimizer_state", block] == 2 * PARAMETERS // 2, "its steps are on the host"
        assert made["gradient", block] == 3 * PARAMETERS // 2, "zero_grad frees them: of each of three iterations"
    assert {k for k in made if k[0] == "optimizer_state"} == {("optimizer_state", "0"), ("optimizer_state", "1")}
    assert made["input", ""] == 3 * 4 * 256 * 512, "the target is given to no module"
    assert made["untraced", ""] == (3 << 20) + 3 * 4 * 256 * 512
    of_up = {e["op"] for e in events if e["module"] == "0.up" and e["category"] == "activation"}
    assert of_up == {"aten::linear"}


def test_the_peak_is_the_live_reports(recorded):
    """Lines as the live report has them, and categories that add up."""
    (live,) = json.loads((recorded / "out.json").read_text())["processes"][0]["devices"]
    rows = explained(recorded, "line")["cases"][0]["rows"]
    lines = Counter()
    for r in live["lines"]["rows"]:
        lines["train.py:%d" % r["line"] if r["file"] else r["location"]] += r["mem"]
    blocks = {k: v for k, v in lines.items() if not k.startswith("rounding")}
    assert {r["where"].rpartition("/")[2] for r in rows} == set(blocks)
    assert sum(r["flat"] for r in rows) == live["allocated"] == sum(lines.values())
    held = {r["where"]: r["flat"] for r in explained(recorded, "category")["cases"][0]["rows"]}
    assert sum(held.values()) == live["allocated"]
    assert (
        held["parameter"] == PARAMETERS and held["optimizer_state"] == 2 * PARAMETERS and held["buffer"] == 2 * 4 * 512
    )
    said = binary.call("estimate", str(recorded / "train.rec"), "--device", "t4")
    assert "eager, training" in said.out and "baseline" not in said.out


def test_attribution_moves_no_allocation(recorded):
    """The program alone, which keeps the history itself, does what is recorded."""
    (recorded / "alone.py").write_text(TRAIN.format(before=HISTORY, after=PRINT))
    p = warm.run([sys.executable, "alone.py"], cwd=recorded, env=pretended.environment("t4"))
    assert p.returncode == 0, p.stderr
    alone = [tuple(e) for e in json.loads(p.stdout) if e[0] != "snapshot"]
    found = [(e["action"], e["size"]) for e in decode(recorded / "train.rec")[1]]
    assert found[: len(alone)] == alone and len(alone) > 100
