"""Advice of several GPUs: how the one rank that runs is judged, and what stands beside them."""

import contextlib
import subprocess
import sys

import pretended
import pytest
from test_advise import NET

from memshim.case import process
from memshim.judge import advise
from memshim.judge.remedies import Remedy

pytestmark = pytest.mark.usefixtures("forked_programs")


@pytest.mark.parametrize(
    "notes, reserved, metric, kept",
    [
        ([], 80, "reserved", "yes"),
        ([], 120, "reserved", "no"),
        ([], 80, "total", "undecided"),
        (["value-read"], 80, "reserved", "undecided"),
        (["timing-decides"], 80, "reserved", "undecided"),
        (["workspace-unknown"], 80, "reserved", "undecided"),
        (["workspace-unknown"], 120, "reserved", "no"),
    ],
)
def test_one_rank_of_several_is_judged_by_its_own_peaks(notes, reserved, metric, kept):
    header = {"phases": [{"allocated": 1, "reserved": reserved}], "oom": None, "notes": [{"id": n} for n in notes]}
    case = {"budgets": [{"metric": metric, "limit": 100}], "device": {"memory": 0, "context": 0}}
    assert advise._of_rank((), advise.NOTHING._replace(header=header), case).kept == kept


HALVED, LESS = (Remedy(kind, kind, (), "") for kind in ("half", "less"))
MANY = [Remedy("many GPUs", f"over {n}", (), "", ("in backward",), n) for n in (2, 4, 8)]


def trial(load, *of, kept=advise.BROKEN, why=""):
    return advise.Trial(of, kept, 1, 1, load, advise.NOTHING, why)


def over_gpus(found, singles, together=(), runs=9):
    """What is tried, and what is left of it. found: by what is tried, its outcome or why it fails."""
    seen = []

    def attempt(*of):
        seen.append(" + ".join(r.what for r in of))
        said = found.get(seen[-1], advise.BROKEN)
        outcomes = (advise.KEPT, advise.BROKEN)
        return trial(1.0, *of, kept=said) if said in outcomes else trial(0, *of, why=said)

    out = advise._over_gpus(attempt, trial(2.0), [trial(l, r) for r, l in singles], list(together), MANY, runs)
    return seen, [t.what for t in out]


def test_what_saves_most_is_run_over_the_most_gpus_and_over_fewer_while_it_is_kept():
    singles = [(LESS, 1.6), (HALVED, 1.2)]
    assert over_gpus({}, singles) == (["half + over 8"], ["half + over 8"])
    found = {"half + over 8": advise.KEPT, "half + over 4": advise.KEPT}
    wanted = ["half + over 8", "half + over 4", "half + over 2"]
    assert over_gpus(found, singles) == (wanted, wanted)
    assert over_gpus(found, singles, runs=2)[0] == wanted[:2]
    both = trial(1.1, HALVED, LESS)
    assert over_gpus({}, singles, [both])[0] == ["half + less + over 8"]


def test_what_does_not_run_over_gpus_is_left_out_there():
    singles = [(HALVED, 1.2), (LESS, 1.6)]
    found = {"half + over 8": "got mixed tensors"}
    assert over_gpus(found, singles) == (["half + over 8", "less + over 8"], ["less + over 8"])
    inside = Remedy("in backward", "in backward", (), "")
    assert over_gpus({}, [(inside, 1.1), (LESS, 1.6)])[0] == ["less + over 8"]
    assert over_gpus({}, [(LESS, 2.5)])[0] == [], "it saves nothing"


SPEC = """
version: 1
models:
  net:
    source: net.py:Net
    inputs: ["float32[256,64]"]
    mode: training
    iterations: 2
    optimizer: AdamW
    loss: mean
    device: t4
    budget: {allocated: 1MiB}
"""
BY_HAND = """
import functools, torch, torch.utils.checkpoint, torch.distributed as dist, net
from torch.distributed.fsdp import fully_shard
torch.cuda.set_device(0)
dist.init_process_group("nccl")
model = net.Net()
for block in [*model.layers]: fully_shard(block)
fully_shard(model)
x = torch.randn(256, 64).cuda()
for block in [*model.layers]:
    block.forward = functools.partial(torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("peaks", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), flush=True)
"""
CHECKPOINT = Remedy("checkpoint", "checkpoint", ("checkpoint: [layers.*]",), "")
SHARDED = Remedy("many GPUs", "FSDP2", (), "", (), 8, ("layers.*",))


def test_changes_beside_several_gpus_are_a_rank_of_the_program_that_has_both(tmp_path, monkeypatch):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hand.py").write_text(BY_HAND)
    (tmp_path / "memspec.yaml").write_text(SPEC)
    words = [sys.executable, "-m", "memshim", "run", "--on", "t4", "--world-size", "8", "--rank", "0", "--", "hand.py"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    (peaks,) = [[int(n) for n in line.split()[1:]] for line in ended.stdout.splitlines() if line.startswith("peaks ")]
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(process.runner()) as runner:
        found = advise.Trials("memspec.yaml", "net", ["memshim"], runner).attempt(CHECKPOINT, SHARDED)
    assert [found.allocated, found.reserved] == peaks, found.why
    assert found.contents.header["work"]["collectives"] == 3 * 3


def test_a_case_that_does_not_fit_is_run_once(tmp_path, monkeypatch):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "memspec.yaml").write_text(SPEC.replace("[256,64]", "[1048576,64]").replace("{allocated: 1MiB}", "{}"))
    monkeypatch.chdir(tmp_path)
    runs = []
    with contextlib.closing(process.runner()) as runner:
        run = runner.run
        monkeypatch.setattr(runner, "run", lambda *given: runs.append(given[1]["name"]) or run(*given))
        base = advise.Trials("memspec.yaml", "net", ["memshim"], runner).run()
    assert (base.kept, base.ran_out, runs) == ("no", False, ["net"])
    assert base.allocated > 64 << 30, "what it would take"
