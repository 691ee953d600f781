"""Sizes that depend on values: real values on the CPU lie between the ends that the modes of a
pretend GPU give (scenes/ends.py)."""

import pytest

MODES = ("least", "balanced", "most", "skewed")
ROUTED = ("Mixtral eager", "own_experts")
GENERATED = [
    f"generate, {how}, ends with {token}"
    for how in ("greedy", "sampling", "beam search", "beam sampling")
    for token in (7, 63)
]
QUICK = (
    *ROUTED,
    "Mixtral grouped_mm",
    "capacity",
    "nms",
    "packed",
    "masked",
    "shuffled",
    "branch",
    "other_branch",
    "below_zero",
    "between",
    "early_exit",
    "scaler",
    "sampling",
    *GENERATED,
)


@pytest.fixture(scope="module")
def ends(play):
    return play("ends", "a100-sxm-40gb")


def test_every_quick_case_is_looked_at(ends):
    assert set(ends) == set(QUICK)


@pytest.mark.parametrize("name", QUICK)
def test_real_values_lie_between_the_ends(ends, name):
    seen = ends[name]
    assert "error" not in seen and not any("error" in seen[m] for m in MODES), seen
    for size in seen["real"][0]:
        found = [seen[m][size] for m in MODES]
        if not size.startswith("_"):
            assert all(min(found) <= real[size] <= max(found) for real in seen["real"]), f"{size}: {seen}"
        if size.startswith("exact"):
            assert len(set(found)) == 1, f"{size}: {found}"


@pytest.mark.parametrize("name", GENERATED)
def test_generation_that_a_token_ends_has_the_length_limit_as_upper_end(ends, name):
    lengths = {ends[name][m]["length"] for m in MODES}
    assert max(lengths) == 5 + 12 and min(lengths) < 5 + 12


@pytest.mark.parametrize("name", ROUTED)
def test_balanced_routing_is_even(ends, name):
    balanced, skewed = ends[name]["balanced"], ends[name]["skewed"]
    assert balanced["routed"] == balanced["_expected"] == skewed["routed"] == ends[name]["real"][0]["routed"]
    assert balanced["_uneven"] <= 1 < skewed["_uneven"]


@pytest.mark.parametrize(
    "name, size",
    [
        ("branch", "bytes"),
        ("other_branch", "bytes"),
        ("below_zero", "bytes"),
        ("between", "bytes"),
        ("early_exit", "layers"),
        ("scaler", "state"),
        ("masked", "selected"),
    ],
)
def test_what_decides_has_two_ends(ends, name, size):
    assert len({ends[name][m][size] for m in MODES}) > 1


READS = """
import json, torch
from memshim import pretend
from memshim.pretend import values
def ask():
    x = torch.rand(6, 8, device="cuda")
    a = bool(x.mean() > 0.5)
    b = x.sum().item()
    c = x.argmax(1).max().item()
    d = torch.nonzero(x > 2).shape[0]
    e = int(x.sum().long())
    f = x.topk(2).indices.tolist()
    n = 0
    while x.sum() < 1:
        n += 1
    m = 0
    while x.sum().item() > -0.5:
        m += 1
    return [a, b, c, d, e, f, n, m]
def look(mode):
    values.installed().choose(mode)
    values.installed().reads.found.clear()
    out = ask()
    report = pretend.report()
    reads = [[r.kind, r.value, r.bounded, r.varied, r.endless, r.given] for r in report.reads]
    return {"out": out, "reads": reads, "mode": report.mode}
print(json.dumps({"first": pretend.report().mode} | {m: look(m) for m in values.modes.MODES}))
"""


@pytest.fixture(scope="module")
def reads(play):
    return play(READS, environ={"MEMSPEC_VALUES": "most"})


@pytest.mark.parametrize(
    "mode, out",
    [
        ("balanced", [False, 0.0, 7, 0, 0, [[0, 1], [2, 3], [4, 5], [6, 7], [0, 1], [2, 3]], 4096, 4096]),
        ("least", [False, -1.0, 0, 0, 0, [[0, 1]] * 6, 0, 0]),
        ("most", [True, 1e30, 7, 48, 4096, [[7, 6]] * 6, 4096, 4096]),
        ("skewed", [True, 0.5, 5, 48, 0, [[6, 7]] * 6, 0, 4096]),
    ],
)
def test_a_mode_decides_what_unknown_values_read_as(reads, mode, out):
    assert reads[mode]["out"] == out
    assert reads["first"] == "most" and reads[mode]["mode"] == mode


def test_a_read_says_its_kind_and_what_it_gave(reads):
    most = reads["most"]["reads"]
    assert [r[:3] for r in most[:5]] == [
        ["bool", True, True],
        ["float", 1e30, True],
        ["int", 7, True],
        ["count", 48, True],
        ["int", 4096, False],
    ]
    assert most[2][5] == "7: unknown values at the upper end of their range"
    assert most[5][0] == "int" and most[5][1] is None and most[5][5] == "unknown values at the upper end of their range"


def test_a_loop_that_waits_for_a_value_ends_and_is_marked(reads):
    assert [r[4] for r in reads["most"]["reads"]] == [False] * 6 + [True, True]
    assert not any(r[4] for r in reads["least"]["reads"])
    assert all(r[3] for r in reads["most"]["reads"])


EXPERTS = """
import json, torch
from memshim import pretend
from memshim.pretend import values
def step():
    chosen = torch.rand(64, 16, device="cuda").topk(4).indices
    mask = torch.nn.functional.one_hot(chosen, num_classes=16).permute(2, 1, 0)
    for hit in mask.sum((-1, -2)).nonzero():
        seen.add(int(hit[0]))
seen, waited = set(), 0
for _ in range(1200):
    step()
first, until = torch.rand(8, device="cuda").argmax(), 1 if values.installed().mode == "least" else 0
while first.item() != until and waited < 5000:
    waited += 1
reads = {r.line: r.endless for r in pretend.report().reads}
print(json.dumps({"experts": sorted(seen), "waited": waited, "endless": [reads[9], reads[14]]}))
"""


def test_a_loop_over_chosen_indices_is_none_that_waits(play):
    """What the program reads differs from turn to turn, and stays below the number of experts; a loop
    that reads the same index again and again is given another."""
    assert play(EXPERTS) == {"experts": list(range(16)), "waited": 4096, "endless": [False, True]}
    least = play(EXPERTS, environ={"MEMSPEC_VALUES": "least"})
    assert least == {"experts": list(range(4)), "waited": 4096, "endless": [False, True]}


def test_of_long_rows_as_many_values_are_found_as_the_mode_says(play):
    """mode of rows that are not known: one value of each, or all different."""
    program = """
import json, torch
from memshim import pretend
torch.mode(torch.rand(40, 5000, device="cuda"))
print(json.dumps({"reads": [[r.op, r.kind, r.value] for r in pretend.report().reads]}))
"""
    found = {m: play(program, environ={"MEMSPEC_VALUES": m})["reads"] for m in MODES}
    assert found == {m: [["aten::mode", "count", 1 if m in ("balanced", "least") else 5000]] for m in MODES}


def test_an_unknown_mode_is_an_error(monkeypatch):
    from memshim.pretend.values import modes

    with pytest.raises(ValueError, match="got MEMSPEC_VALUES='mean', want one of balanced, least, most, skewed"):
        modes.of_environment({"MEMSPEC_VALUES": "mean"})
