"""memshim advise: what it tries, and that its figures are those of the program with the line in it."""

import json
import sys

import captured
import pretended
import pytest
import warm

from memshim.allocator import recording
from memshim.allocator.recording import Contents, Site
from memshim.judge import advise, advise_report, remedies
from memshim.judge.remedies import Remedy

NET = """
import functools, torch
from torch.utils.checkpoint import checkpoint

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(64, 4096), torch.nn.Linear(4096, 64)
    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""

# the same by hand, as somebody writes it who follows the advice
BY_HAND = """
import functools, os, torch, torch.utils.checkpoint, net

def loop(change=None, optimizer=torch.optim.AdamW, parts=1, inside=False, half=None, cast=torch.float32):
    model = net.Net().to(cast)
    model.to("cuda")
    x = torch.randn(256 // parts, 64, dtype=cast).cuda()
    if change is not None:
        change(model)
    optimizer = None if inside else optimizer(model.parameters())
    scaler = torch.amp.GradScaler() if half == torch.float16 else None
    def step():
        for _ in range(parts):
            with torch.autocast("cuda", dtype=half, enabled=half is not None):
                loss = model(x).mean()
            if parts > 1:
                loss = loss / parts
            (scaler.scale(loss) if scaler else loss).backward()
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        elif not inside:
            optimizer.step()
        if not inside:
            optimizer.zero_grad()
    return step

def plain(): return loop()
def all_blocks():
    def change(model):
        for block in [*model.layers]: block.forward = functools.partial(torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False)
    return loop(change)
def second_blocks():
    def change(model):
        for block in [*model.layers[::2]]: block.forward = functools.partial(torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False)
    return loop(change)
def half_batch(): return loop(parts=2)
def quarters(): return loop(parts=4)
def weights(): return loop(cast=torch.bfloat16)
def bf16(): return loop(half=torch.bfloat16)
def one_by_one(): return loop(optimizer=functools.partial(torch.optim.AdamW, foreach=False))
def fused(): return loop(optimizer=functools.partial(torch.optim.AdamW, fused=True))
def efficient():
    step = loop()
    def within():
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION): step()
    return within
def set_to(text):
    torch.cuda.memory._set_allocator_settings(text)
    return loop()
def expandable(): return set_to("expandable_segments:True")
def unsplit(): return set_to("max_split_size_mb:128")
def small_workspace():
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
    return loop()
def in_backward():
    def change(model):
        for p in model.parameters(): p.register_post_accumulate_grad_hook(lambda _, one=torch.optim.AdamW([p]): one.step() or one.zero_grad())
    return loop(change, inside=True)
def autocast(): return loop(half=torch.float16)
"""  # noqa: E501

VERBATIM = ("checkpoint all blocks", "optimizer in backward")
KINDS = {
    "checkpoint all blocks": "all_blocks",
    "B=128, accumulated 2 times": "half_batch",
    "optimizer in backward": "in_backward",
    "autocast in float16": "autocast",
}

ATTENDING = NET.replace(
    "return x + self",
    "x = x + torch.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3)[0, 0]; return x + self",
)
KINDS_OF_AMPERE = {
    "checkpoint every second block": "second_blocks",
    "B=64, accumulated 4 times": "quarters",
    "weights in bfloat16": "weights",
    "autocast in bfloat16": "bf16",
    "AdamW with foreach=False": "one_by_one",
    "AdamW with fused=True": "fused",
    "efficient attention": "efficient",
    "expandable_segments:True": "expandable",
    "max_split_size_mb:128": "unsplit",
    "cuBLAS workspace :16:8": "small_workspace",
}

SPEC = """
version: 1
defaults: {device: t4, mode: training, iterations: 2, budget: {allocated: 50MiB}}
models:
  net:
    source: net.py:Net
    inputs: ["float32[B,64]"]
    dims: {B: 256}
    optimizer: AdamW
    cases: [{}]
"""


def peaks(file):
    phases = recording.header(file)["phases"]
    return {m: max(p[m] for p in phases) for m in ("allocated", "reserved")}


def test_each_line_of_advice_is_a_run_with_that_line_written_by_hand(tmp_path, monkeypatch):
    if why := pretended.missing():
        pytest.skip(why)
    of_source, few = remedies.of_source, (*KINDS, "expandable_segments:True")
    monkeypatch.setattr(remedies, "of_source", lambda *of: [r for r in of_source(*of) if r.what in few])
    monkeypatch.setattr(remedies, "of_many_gpus", lambda *of: [])
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hand.py").write_text(BY_HAND)
    hand = "".join(f'  {name}: {{source: "hand.py:{name}"}}\n' for name in ("plain", *KINDS.values()))
    (tmp_path / "memspec.yaml").write_text(SPEC)
    (tmp_path / "hand.yaml").write_text(SPEC[: SPEC.index("  net:")] + hand)
    ended = captured.memshim(tmp_path, "advise", "net", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    ended = captured.capture(tmp_path, "hand.yaml")
    assert ended.returncode == 0, ended.stderr
    want = {f.name.rpartition("-")[0]: peaks(f) for f in (tmp_path / ".memspec").iterdir()}
    rows = {row["what"]: row for row in found["advice"]}
    figures = {what: {m: row[m] for m in ("allocated", "reserved")} for what, row in rows.items()}
    assert {what: figures[what] for what in KINDS} == {what: want[name] for what, name in KINDS.items()}
    assert {m: found["base"][m] for m in ("allocated", "reserved")} == want["plain"]
    assert found["base"]["kept"] == "no"
    assert len({tuple(f.values()) for f in want.values()}) == 5, "the lines do not come to the same"
    for what in VERBATIM:
        (code,) = rows[what]["code"]
        assert code in BY_HAND, "the line to write is the one that was run"
    base = want["plain"]
    for row in rows.values():
        assert row["saved"] == {m: base[m] - row[m] for m in base}
        assert row["kept"] == ("yes" if row["allocated"] <= 50 << 20 else "no")
    assert rows["checkpoint all blocks"]["lines"] == ["checkpoint: [layers.*]"]
    again = {"blocks": 2 * 3, "bytes": 2 * 3 * 256 * 4096 * 4}  # of each block what its last layer reads
    paid = rows["checkpoint all blocks"]["paid"]
    assert {k: paid[k] for k in again} == again
    # of each block what its last layer reads: the first layer and its gelu run again
    assert (paid["operators"], paid["copied"], paid["collectives"]) == (3 * 2, 0, 0)
    assert found["runs"] == 5 and found["failed"] == []
    expandable = rows["expandable_segments:True"]
    assert (expandable["kept"], expandable["saved"]["allocated"]) == ("no", 0)


def test_each_line_of_advice_for_a_later_card_is_a_run_with_it_written_by_hand(tmp_path, monkeypatch):
    if why := pretended.missing():
        pytest.skip(why)
    monkeypatch.setattr(remedies, "of_many_gpus", lambda *of: [])
    (tmp_path / "attending.py").write_text(ATTENDING)
    (tmp_path / "hand.py").write_text(BY_HAND.replace("net.", "attending.").replace(", net", ", attending"))
    spec = SPEC.replace("t4", "a10g").replace("50MiB", "0.1%").replace("net.py", "attending.py")
    (tmp_path / "memspec.yaml").write_text(spec)
    ended = captured.memshim(tmp_path, "advise", "net", "--runs", "24", "--json")
    found = json.loads(ended.stdout)
    rows = {row["what"]: row for row in found["advice"]}
    (card, *_) = [what.removeprefix("on ") for what in rows if what.startswith("on ")]
    named = KINDS_OF_AMPERE | {f"on {card}": "larger"}
    hand = "".join(f'  {name}: {{source: "hand.py:{name}"}}\n' for name in ("plain", *KINDS_OF_AMPERE.values()))
    hand += f'  larger: {{source: "hand.py:plain", device: {card}}}\n'
    (tmp_path / "hand.yaml").write_text(spec[: spec.index("  net:")] + hand)
    ended = captured.capture(tmp_path, "hand.yaml")
    assert ended.returncode == 0, ended.stderr
    want = {f.name.rpartition("-")[0]: peaks(f) for f in (tmp_path / ".memspec").iterdir()}
    figures = {what: {m: row[m] for m in ("allocated", "reserved")} for what, row in rows.items()}
    assert {what: figures[what] for what in named} == {what: want[name] for what, name in named.items()}
    assert {m: found["base"][m] for m in ("allocated", "reserved")} == want["plain"]
    assert [f["what"] for f in found["failed"]] == ["flash attention"], "it computes no float32"


SHARDED = """
import sys, torch, torch.distributed as dist, net
from torch.distributed.fsdp import fully_shard
torch.cuda.set_device(0)
dist.init_process_group("nccl")
torch.manual_seed(0)
model = net.Net()
for block in [*model.layers]: fully_shard(block)
fully_shard(model)
x = torch.randn(256, 64).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("peaks", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), flush=True)
"""


def test_a_model_over_several_gpus_is_a_rank_of_the_program_that_shards_it(tmp_path, monkeypatch, capfd):
    if why := pretended.missing():
        pytest.skip(why)
    monkeypatch.setattr(remedies, "of_source", lambda *of: [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hand.py").write_text(SHARDED)
    (tmp_path / "memspec.yaml").write_text(SPEC.replace("50MiB", "48MiB"))
    with warm.programs():  # a process for each rank, which was none before
        assert advise.main(["net", "--json"]) == 0, capfd.readouterr()
    rows = {row["gpus"]: row for row in json.loads(capfd.readouterr().out)["advice"]}
    peaks = {}
    for n in rows:
        words = ["-m", "memshim", "run", "--on", "t4", "--world-size", str(n), "--rank", "0", "--", "hand.py"]
        ended = warm.run([sys.executable, *words])
        (said,) = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("peaks ")]
        peaks[n] = [int(v) for v in said]
    assert {n: [row["allocated"], row["reserved"]] for n, row in rows.items()} == peaks
    assert {n: row["kept"] for n, row in rows.items()} == {2: "no", 4: "yes"}, "8 are not tried"
    weights = 3 * (2 * 64 * 4096 + 4096 + 64) * 4
    paid = rows[2]["paid"]
    # each block is gathered for the forward and for the backward, and its gradients are reduced
    assert (paid["collectives"], paid["communicated"]) == (3 * 3, 3 * weights)
    (code,) = rows[2]["code"]
    assert code.splitlines()[:2] == ["for block in [*model.layers]: fully_shard(block)", "fully_shard(model)"]
    assert all(line in SHARDED for line in code.splitlines()[:2])


def test_an_optimizer_of_8_bits_is_of_the_package_that_is_installed(monkeypatch):
    there = set()
    monkeypatch.setattr(remedies, "find_spec", lambda name: name if name in there else None)
    monkeypatch.setattr(advise, "find_spec", remedies.find_spec)
    case = CASE | {"program": None, "training": STEP | {"arguments": {"lr": 0.1, "foreach": False}}}
    assert not [n for n in lines(case) if "8bit" in n]
    assert advise._absent(case) == "AdamW of 8 bits was not tried: pip install bitsandbytes"
    there.add("torchao")
    assert "optimizer: {name: torchao.optim.AdamW8bit, lr: 0.1}" in lines(case)
    assert advise._absent(case) == ""
    there.add("bitsandbytes")
    assert "optimizer: {name: bitsandbytes.optim.AdamW8bit, lr: 0.1}" in lines(case)
    other = case | {"training": STEP | {"optimizer": "Adadelta"}}
    assert advise._absent(other) == "" and not [n for n in lines(other) if "8bit" in n]


def test_what_a_rank_keeps_is_judged_by_its_own_peaks():
    def kept(budgets, notes=(), oom=None):
        header = {"phases": [{"allocated": 16, "reserved": 32}], "oom": oom, "notes": list(notes)}
        case = {"budgets": budgets, "device": {"memory": 64, "context": 0}}
        found = advise._of_rank((), Contents(header, [], []), case)
        return found.kept, found.load

    def budget(metric, limit):
        return {"metric": metric, "limit": limit}

    assert kept([]) == ("yes", 0.5)
    assert kept([budget("allocated", 16), budget("reserved", 40)]) == ("yes", 1.0)
    assert kept([budget("allocated", 15)]) == ("no", 16 / 15)
    assert kept([budget("total", 99)])[0] == "undecided"
    assert kept([], notes=[{"id": "value-read"}])[0] == "undecided"
    assert kept([], oom={"phase": "first"})[0] == "no"


def trial(load, *of, kept=advise.BROKEN, why=""):
    return advise.Trial(of, kept, 1, 1, load, Contents({}, [], []), why)


A, B, C = (Remedy(kind, kind, (), "") for kind in "abc")


def greedy(loads, runs=9, done=(A, B, C)):
    """What is tried together, with the load of each. loads: by the kinds of a trial."""
    seen = []

    def attempt(*of):
        name = "".join(r.kind for r in of)
        seen.append(name)
        load = loads[name]
        return trial(
            load or 9, *of, kept=advise.KEPT if load and load <= 1 else advise.BROKEN, why="" if load else "no"
        )

    singles = [trial(loads[r.kind], r) for r in done]
    return seen, advise._greedy(attempt, trial(2.0), singles, runs)


def test_changes_are_added_from_the_one_that_saves_most_until_all_is_kept():
    seen, out = greedy({"a": 1.6, "b": 1.2, "c": 1.4, "bc": 1.1, "bca": 0.9})
    assert seen == ["bc", "bca"] and out[-1].kept == advise.KEPT
    assert greedy({"a": 1.6, "b": 1.2, "c": 1.4, "bc": 0.9})[0] == ["bc"], "enough is enough"


def test_a_change_that_does_not_help_beside_others_is_left_out():
    seen, out = greedy({"a": 1.6, "b": 1.2, "c": 1.4, "bc": 1.3, "ba": 1.1})
    assert seen == ["bc", "ba"] and [t.what for t in out] == ["b + a"]
    seen, out = greedy({"a": 1.6, "b": 1.2, "c": 1.4, "bc": None, "ba": 1.1})
    assert [t.what for t in out] == ["b + a"], "nor one that fails there"


def test_changes_together_stay_within_the_runs():
    assert greedy({"a": 1.6, "b": 1.2, "c": 1.4, "bc": 1.3, "ba": 1.1}, runs=1)[0] == ["bc"]
    assert greedy({"a": 1.6, "b": 1.2, "c": 1.4}, runs=0)[0] == []
    assert greedy({"a": 2.0, "b": 2.1, "c": 2.0})[0] == [], "none of which saves anything"


def test_what_excludes_each_other_is_not_tried_together():
    against = C._replace(against=("b",))
    seen, _ = greedy({"a": 1.6, "b": 1.2, "c": 1.4, "ba": 1.1}, done=(A, B, against))
    assert seen == ["ba"]
    assert not A.beside(A) and A.beside(B) and not against.beside(B) and not B.beside(against)


def sites(*modules):
    return [Site(op, module) for module, *ops in modules for op in ops]


@pytest.mark.parametrize(
    ("modules", "want"),
    [
        ([("h.0.mlp", "mm", "gelu"), ("h.1.mlp", "mm", "gelu")], ["h"]),
        ([("h.0", "mm", "gelu"), ("h.1", "mm", "gelu", "add")], ["h"]),  # one has more
        ([("h.0", "mm"), ("h.1", "mm")], []),  # one operator is no block
        ([("h.0", "mm", "gelu"), ("h.1", "conv", "relu")], []),  # of different kinds
        ([("h.0", "mm", "gelu")], []),  # alone
        ([("0.a", "mm", "gelu"), ("1.a", "mm", "gelu")], [""]),  # of the model itself
        ([("a.0.b.0", "mm", "gelu"), ("a.1.b.0", "mm", "gelu")], ["a"]),  # the outermost
        ([("head", "mm", "gelu"), ("body", "mm", "gelu")], []),
    ],
)
def test_blocks_are_modules_of_which_there_are_several_alike(modules, want):
    assert remedies.blocks(sites(*modules)) == want


STEP = {"optimizer": "AdamW", "arguments": {}, "accumulate": 1, "clip": None, "checkpoint": None}
CASE = {
    "device": {"name": "t4", "memory": 16, "compute_capability": "7.5"},
    "training": STEP,
    "dtype": "",
    "autocast": "",
    "dims": {"B": 8},
    "inputs": ["float32[8,4]"],
    "flags": {},
    "alloc_conf": "",
    "cublas_workspace": "",
}


def lines(case, modules=(), batch="B"):
    return [line for r in remedies.of_source(CASE | case, Contents({}, sites(*modules), []), batch) for line in r.lines]


def test_what_is_set_already_is_not_tried():
    assert 'alloc_conf: "expandable_segments:True"' in lines({})
    assert not [n for n in lines({"alloc_conf": "max_split_size_mb:64"}) if n.startswith("alloc_conf")]
    assert not [n for n in lines({"autocast": "float16"}) if n.startswith(("autocast", "dtype"))]
    own = {"training": STEP | {"arguments": {"fused": True}, "clip": 1.0, "checkpoint": {"modules": ["h.*"]}}}
    block = [("h.0", "mm", "gelu"), ("h.1", "mm", "gelu")]
    assert not [n for n in lines(own, block) if n.startswith(("optimizer", "checkpoint"))]
    assert "checkpoint: [h.*]" in lines({}, block)
    assert "attention: efficient_attention" in lines({}, [("h", "aten::scaled_dot_product_attention")])
    assert not [n for n in lines({}) if n.startswith("attention")]


def test_a_card_without_bfloat16_is_given_float16():
    assert "autocast: float16" in lines({}) and "dtype: bfloat16" not in lines({})
    ampere = {"device": CASE["device"] | {"compute_capability": "8.0"}}
    assert {"autocast: bfloat16", "dtype: bfloat16"} <= set(lines(ampere))


def test_a_smaller_batch_is_accumulated_to_the_same():
    assert lines({"training": STEP | {"accumulate": 3}}).count("accumulate: 6") == 1
    assert "dims: {B: 4}" in lines({}) and "dims: {B: 2}" in lines({})
    assert 'inputs: ["float32[4,4]"]' in lines({}, batch="")
    two = ["x=float32[8,4]", "y=int64[8]"]
    assert 'inputs: {x: "float32[4,4]", y: "int64[4]"}' in lines({"inputs": two}, batch="")
    assert not [n for n in lines({"inputs": [two[0], "y=int64[3]"]}, batch="") if n.startswith("inputs")]
    assert not [n for n in lines({"dims": {"B": 7}}) if n.startswith("dims")], "7 has no half"


def test_of_an_unmodified_program_its_environment_and_sizes_are_tried():
    program = {"program": {"env": {}}, "cublas_workspace": "", "dims": {"N": 16}}
    found = [line for r in remedies.of_program(program, {"N": 4}) for line in r.lines]
    assert found == [
        'env: {PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True"}',
        'env: {PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:128"}',
        'env: {CUBLAS_WORKSPACE_CONFIG: ":16:8"}',
        "dims: {N: 8}",
        "dims: {N: 4}",
    ]
    program["program"]["env"] = {"PYTORCH_CUDA_ALLOC_CONF": "x", "CUBLAS_WORKSPACE_CONFIG": None}
    assert [line for r in remedies.of_program(program, {}) for line in r.lines] == [
        "dims: {N: 8}",
        "dims: {N: 4}",
        "dims: {N: 2}",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "got no CASE, want one, or -- train.py"),
        (["net", "--", "train.py"], "got both a CASE and a program, want one"),
        (["net", "--runs", "0"], "argument --runs: got 0, want 1 or more"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        advise.main(words)
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_larger_cards_are_some_way_apart():
    devices = [
        {"name": n, "memory": m} for n, m in (("c", 20), ("none", None), ("a", 16), ("b", 17), ("d", 40), ("e", 41))
    ]
    assert [r.what for r in remedies.cards(devices, {"device": {"memory": 16}})] == ["on b", "on d"]


def test_nothing_is_to_be_written_in_a_program_for_a_larger_card():
    (card,) = remedies.cards([{"name": "l4", "memory": 22 << 30}], {"device": {"memory": 15 << 30}})
    half = Remedy("dtype", "bfloat16 weights", ("dtype: bfloat16",), "model.bfloat16()")
    case = {"name": "net", "device": {"name": "t4"}, "budgets": []}
    advice = advise.Advice(case, trial(2.0), [trial(0.5, half), trial(0.9, card)], [], [], 2)
    assert advise_report.text(advice).splitlines()[-6:] == [
        "    bfloat16 weights",
        "      memspec.yaml  dtype: bfloat16",
        "      program       model.bfloat16()",
        "    on l4",
        "      memspec.yaml  device: l4",
        "  The recordings of these runs stay in .memspec/; memspec prune removes those of no case.",
    ]


def test_what_a_run_took_that_did_not_end_is_compared_with_nothing():
    whole = trial(1.0)._replace(contents=Contents({"oom": None}, [], [(9, 9), (2, 30)]))
    assert whole.more(whole._replace(contents=Contents({}, [], [(1, 10)]))) == (1, 20)
    assert whole.more(whole._replace(contents=Contents({"oom": {}, "x": 1}, [], [(1, 10)]))) == (1, 20)
    ended = whole._replace(contents=Contents({"oom": {"phase": "first"}}, [], [(1, 10)]))
    assert ended.more(whole) is whole.more(ended) is None


@pytest.mark.parametrize("quality, kept", [("exact", "yes"), ("estimate", "undecided"), ("bound", "undecided")])
def test_without_a_budget_a_card_is_kept_by_an_exact_figure_alone(quality, kept):
    """memspec judges nothing then; what a value decides may still not fit."""
    peaks = {"allocated": 16, "reserved": 32}
    contents = recording.Contents({"phases": [peaks], "oom": None}, [], [])
    judged = {"outcome": "inconclusive", "findings": [], "report": {"quality": quality, "peak": peaks}}
    case = {"budgets": [], "device": {"memory": 64, "context": 0}}
    assert advise._trial((), contents, judged, case).kept == kept


@pytest.mark.parametrize(
    "memory, context, reserved, oom, emptied",
    [(64, 4, 61, None, True), (64, 4, 60, None, False), (None, None, 99, None, False), (64, None, 65, {}, True)]
    + [(64, 4, 61, {"phase": "first"}, False), (4, 4, 9, None, False), (1, 0, 2, None, True)],
)
def test_a_run_that_took_more_than_the_card_was_emptied(memory, context, reserved, oom, emptied):
    header = {"oom": oom, "phases": [{"reserved": None}, {"reserved": reserved}]}
    case = {"device": {"memory": memory, "context": context}}
    assert advise._emptied(header, {}, case) is emptied
    assert advise._emptied(header, {"oom": {"at": 1}}, case) is False
