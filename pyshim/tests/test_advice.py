"""The runs of one case for advice: which are recorded, on which card, and what a run took more than another."""

from types import SimpleNamespace

import pytest

from memshim.allocator.recording import Contents
from memshim.case.step import OWN_ITERATION
from memshim.judge import advise
from memshim.judge.advise import Trial, Trials
from memshim.judge.remedies import Remedy


def remedy(what="a", lines=("x: 1",), gpus=1):
    return Remedy("kind", what, lines, "", (), gpus, ("m",))


def trial(allocated=((3, 100), (5, 700)), oom=None, work=None, remedies=()):
    header = {"oom": oom, "work": work} if work is not None else {"oom": oom}
    return Trial(tuple(remedies), "yes", 1, 2, 0.5, Contents(header, [], list(allocated)))


@pytest.mark.parametrize(
    "own, base, more",
    [
        (trial(), trial([(4, 50)]), (1, 650)),
        (trial(oom={"phase": "x"}), trial(), None),
        (trial(), trial(oom={"phase": "x"}), None),
        (trial([]), trial(), None),
        (trial(), trial([]), None),
    ],
)
def test_what_a_pass_allocates_more(own, base, more):
    assert own.more(base) == more


def test_what_a_pass_costs_more():
    a, b = {"operators": 7, "copied": 1}, {"operators": 4, "copied": 3}
    assert trial(work=a).work(trial(work=b)) == {"operators": 3, "copied": -2}
    assert trial(work=a).work(trial()) == {} == trial().work(trial(work=b))


def test_a_trial_is_its_changes():
    t = trial(remedies=[remedy("a", ("x: 1", "y: 2")), remedy("b", ("z: 3",))])
    assert (t.lines, t.what) == (["x: 1", "y: 2", "z: 3"], "a + b")


@pytest.fixture
def world(monkeypatch):
    """A case of memspec's and what recording it does."""
    w = SimpleNamespace(judged={"report": {"r": 1}, "error": "why"}, asked=[], captured=[], fresh=False, lacks=False)
    w.built, w.header, w.emptied = "source", {"h": 1}, False
    w.case = {"name": "net", "recording": "a.rec", "program": None, "alloc_conf": "", "memory_fraction": 0}
    w.found = [w.case]

    def ask(*words):
        w.asked.append(words)
        return {"cases": w.found if words[0] == "cases" else [w.judged]}

    def capture(case, path, *more):
        w.captured.append((case, path, *more))

    monkeypatch.setattr(advise.memspec_yaml, "ask", ask)
    monkeypatch.setattr(advise, "_set", lambda lines: [f"set {line}" for line in lines])
    monkeypatch.setattr(advise.capture, "fresh", lambda path, case: w.fresh)
    monkeypatch.setattr(advise, "_lacks", lambda path: w.lacks)
    monkeypatch.setattr(advise, "_emptied", lambda *a: w.emptied)
    monkeypatch.setattr(advise.process, "pretended", lambda *a: {"room": a[1:]})
    monkeypatch.setattr(advise.recording, "header", lambda path: {"built": w.built})
    monkeypatch.setattr(advise.recording, "read", lambda path: Contents(w.header, [path], []))
    monkeypatch.setattr(advise.program_case, "files", lambda path: [f"first of {path}"])
    monkeypatch.setattr(advise, "_trial", lambda tried, contents, judged, case: (tried, contents, judged, case))
    monkeypatch.setattr(advise, "_of_rank", lambda tried, contents, case: ("rank", contents))
    monkeypatch.setattr(advise.sharded, "path", lambda path, gpus: f"{path}.{gpus}")
    monkeypatch.setattr(advise.sharded, "record", lambda *a: w.captured.append(a))
    w.trials = Trials("memspec.yaml", "net", ["c"], SimpleNamespace(capture=capture))
    monkeypatch.setattr(w.trials, "_as_set", lambda case: "as set")
    return w


OWN = {"command": ["c"], "counts": True}


def test_a_change_is_recorded_with_room_and_judged(world):
    one = remedy()
    tried, contents, judged, case = world.trials.run(one)
    assert tried == (one,) and case == world.case | OWN and judged is world.judged
    assert contents == Contents({"h": 1}, ["first of a.rec"], [])
    room = {"room": ("pretend", advise.process.ROOM)}
    assert world.captured == [(world.case | OWN, "a.rec", "pretend", advise.TIMEOUT, room)]
    assert world.asked == [
        ("cases", "memspec.yaml", "--case", "net", "set x: 1"),
        ("check", "memspec.yaml", "--case", "net", "set x: 1"),
    ]


def test_what_is_recorded_is_recorded_under_the_allocators_defaults(world):
    world.case |= {"alloc_conf": "a", "memory_fraction": 0.5}
    _, contents, _, case = world.trials.run()
    assert world.captured[0][0] == world.case | OWN | {"alloc_conf": "", "memory_fraction": 0}
    assert contents.header == "as set" and case["alloc_conf"] == "a"


@pytest.mark.parametrize(
    "change, emptied, as_set",
    [({}, False, False), ({"alloc_conf": "a"}, False, True), ({"memory_fraction": 1}, False, True), ({}, True, True),
     ({"alloc_conf": "a", "program": {"p": 1}}, True, False)],
)  # fmt: skip
def test_under_other_settings_its_peaks_are_asked_for(world, change, emptied, as_set):
    world.case |= change
    world.emptied = emptied
    assert (world.trials.run()[1].header == "as set") is as_set


@pytest.mark.parametrize(
    "fresh, lacks, program, records",
    [(True, False, None, 0), (False, False, None, 1), (True, True, None, 1), (True, True, {"p": 1}, 0)],
)
def test_a_recording_that_is_there_is_used(world, fresh, lacks, program, records):
    world.fresh, world.lacks = fresh, lacks
    world.case["program"] = program
    world.trials.run()
    assert len(world.captured) == records


def test_a_program_is_recorded_on_its_card(world):
    world.case["program"] = {"p": 1}
    world.trials.run()
    assert world.captured[0][2:] == ("pretend", advise.TIMEOUT, None)


def test_a_users_own_iteration_is_recorded_on_its_card(world):
    world.built = OWN_ITERATION
    world.trials.run()
    assert [c[4:] for c in world.captured] == [({"room": ("pretend", advise.process.ROOM)},), ()]
    world.trials.run()
    assert [c[4:] for c in world.captured[2:]] == [(None,)], "it is known from then on"


@pytest.mark.parametrize("fresh, lacks, records", [(True, False, 0), (False, False, 1), (True, True, 1)])
def test_over_several_gpus_a_rank_runs(world, fresh, lacks, records):
    world.fresh, world.lacks = fresh, lacks
    got = world.trials.run(remedy(), remedy(gpus=4))
    assert got == ("rank", Contents({"h": 1}, ["a.rec.4"], []))
    assert world.captured == [(world.case | OWN, 4, ("m",), "a.rec.4")] * records and len(world.asked) == 1


@pytest.mark.parametrize("number", [0, 2])
def test_a_name_is_of_one_case(world, number):
    world.found = [world.case] * number
    with pytest.raises(advise.Unusable, match=f"^got {number} cases of the name net, want one$"):
        world.trials.run()


def test_a_case_without_a_report_says_why(world):
    world.judged["report"] = None
    with pytest.raises(advise.Unusable, match="^why$"):
        world.trials.run()


ROOM = advise.process.ROOM


@pytest.mark.parametrize(
    "oom, built, total, work, lacks",
    [
        ({"x": 1}, "source", ROOM - 1, None, True),  # it ended on its own card
        ({"x": 1}, "source", ROOM, None, False),
        ({"x": 1}, OWN_ITERATION, 1, None, False),
        (None, "source", 1, {"operators": 1}, False),
        (None, "source", 1, None, True),
        (None, "source", 1, {}, True),
    ],
)
def test_what_a_recording_lacks(monkeypatch, oom, built, total, work, lacks):
    header = {"oom": oom, "built": built, "device": {"total": total}, "work": work}
    monkeypatch.setattr(advise.recording, "header", lambda path: header)
    assert advise._lacks("a.rec") is lacks


@pytest.mark.parametrize(
    "dims, inputs, others, batch",
    [
        ({"B": 8}, ["float32[8,3]"], {"B": ["float32[7,3]"]}, "B"),
        ({"B": 8}, ["float32[8,3]", "int64[8]"], {"B": ["float32[7,3]", "int64[8]"]}, ""),
        ({"B": 8}, ["float32[8,8]"], {"B": ["float32[7,7]"]}, ""),  # it is another size, too
        ({"B": 1}, ["float32[1]"], {"B": ["float32[0]"]}, ""),
        ({"T": 4, "B": 8}, ["int64[8,4]"], {"T": ["int64[8,3]"], "B": ["int64[7,4]"]}, "B"),
        ({"T": 4, "B": 8}, ["int64[8,4]"], {"T": None, "B": ["int64[7,4]"]}, "B"),
        ({"B": 8}, [], {"B": []}, ""),
    ],
)
def test_the_dim_of_the_batch(dims, inputs, others, batch):
    def case(lines):
        dim, _, less = lines[0].removeprefix("dims: {").removesuffix("}").partition(": ")
        assert int(less) == dims[dim] - 1
        if others[dim] is None:
            raise advise.memspec_yaml.SpecError("it cannot be less")
        return {"inputs": others[dim]}

    assert advise._batch(SimpleNamespace(case=case), {"dims": dims, "inputs": inputs}) == batch


@pytest.mark.parametrize(
    "optimizer, program, package, there, said",
    [
        ("AdamW", None, "bitsandbytes", False, "AdamW of 8 bits was not tried: pip install bitsandbytes"),
        ("AdamW", None, "bitsandbytes", True, ""),
        ("AdamW", {"p": 1}, "bitsandbytes", False, ""),
        (None, None, "", False, ""),
    ],
)
def test_what_would_have_to_be_installed(monkeypatch, optimizer, program, package, there, said):
    monkeypatch.setattr(advise.remedies, "of_8_bits", lambda name: package if name else "")
    monkeypatch.setattr(advise, "find_spec", lambda name: there or None)
    step = {"optimizer": optimizer} if optimizer else None
    assert advise._absent({"training": step, "program": program}) == said


@pytest.mark.parametrize(
    "kept, oom, budgets, memory, cards",
    [
        ("no", None, [], 100, 3),
        ("yes", None, [], 100, 0),
        ("no", None, [{"text": "1GiB"}], 100, 0),  # the budget is in the way, not the card
        ("no", {"x": 1}, [{"text": "1GiB"}], 100, 3),
        ("no", None, [{"text": "1GiB"}, {"text": "90%"}], 100, 3),
        ("no", None, [], 0, 0),
    ],
)
def test_cards_that_are_tried(monkeypatch, kept, oom, budgets, memory, cards):
    rows = [{"memory": m} for m in (None, 149, 150, 160, 170, 180)]
    monkeypatch.setattr(advise.memspec_yaml, "ask", lambda *words: {"devices": rows})
    monkeypatch.setattr(advise.remedies, "cards", lambda rows, case: [r["memory"] for r in rows])
    base = trial(oom=oom)._replace(kept=kept, load=1.5)
    got = advise._cards({"budgets": budgets, "device": {"memory": memory}}, base)
    assert got == [150, 160, 170][:cards]


class Tried:
    """Trials whose loads and ends are by what was changed."""

    def __init__(self, case, ends, built="source", base=("no", 2.0)):
        self._case, self.ends, self.count, self.ran = case, ends, 0, []
        header = {"built": built, "oom": None}
        self.base = Trial((), base[0], 1, 1, base[1], Contents(header, [], []))

    def case(self, lines):
        return self._case

    def run(self):
        return self.base

    def attempt(self, *of):
        self.count += 1
        what = " + ".join(r.what for r in of)
        self.ran.append(what)
        kept, load, *why = self.ends.get(what, ("no", 1.9))
        return Trial(of, kept, 1, 1, load, Contents({"oom": None}, [], []), *why)


def kind(name, of=None):
    return Remedy(of or name, name, (), "")


SOURCE = {"name": "net", "source": "zoo.py:net", "program": None, "artifact": "", "training": None, "dims": {}}


@pytest.fixture
def singles(monkeypatch):
    found = SimpleNamespace(source=[kind(n) for n in "abc"], cards=[], many=[])
    monkeypatch.setattr(advise.remedies, "of_source", lambda case, base, batch: found.source)
    monkeypatch.setattr(advise.remedies, "of_own_iteration", lambda case: [kind("own")])
    monkeypatch.setattr(advise.remedies, "of_program", lambda case, least: [kind(f"program {least}")])
    monkeypatch.setattr(advise.remedies, "of_many_gpus", lambda case, base: found.many)
    monkeypatch.setattr(advise, "_cards", lambda case, base: found.cards)
    return found


@pytest.mark.parametrize(
    "ends, base, ran",
    [
        ({"a": ("yes", 0.9)}, ("no", 2.0), ["a", "b", "c"]),
        ({}, ("yes", 0.5), ["a", "b", "c"]),
        ({"b": ("no", 1.2)}, ("no", 2.0), ["a", "b", "c", "b + a", "b + c"]),
        ({"b": ("no", 1.2), "b + a": ("no", 1.1)}, ("no", 2.0), ["a", "b", "c", "b + a", "b + a + c"]),
        ({"b": ("no", 1.2), "b + a": ("yes", 1.1)}, ("no", 2.0), ["a", "b", "c", "b + a"]),
        ({n: ("no", 2.0) for n in "abc"}, ("no", 2.0), ["a", "b", "c"]),
    ],
)
def test_single_changes_come_before_changes_together(singles, ends, base, ran):
    trials = Tried(SOURCE, ends, base=base)
    found = advise.advise(trials)
    assert trials.ran == ran and found.runs == len(ran) and found.base is trials.base
    assert [t.what for t in found.single] == ["a", "b", "c"] and found.failed == []


def test_a_run_that_failed_is_listed_by_itself(singles):
    found = advise.advise(Tried(SOURCE, {"b": ("no", 0.0, "it fails")}))
    assert [t.what for t in found.single] == ["a", "c"] and [t.what for t in found.failed] == ["b"]


@pytest.mark.parametrize(
    "runs, ran",
    [
        (1, ["a"]),
        (3, ["a", "b", "c"]),
        (5, ["a", "b", "b + a", "c"]),
        (6, ["a", "b", "c", "b + a", "b + c"]),
    ],
)
def test_there_are_so_many_runs(singles, runs, ran):
    trials = Tried(SOURCE, {"b": ("no", 1.2)})
    advise.advise(trials, runs)
    assert trials.ran == ran


def test_larger_cards_are_tried_until_one_keeps_all(singles):
    singles.cards = [kind(n, "device") for n in ("l4", "a100", "h100")]
    trials = Tried(SOURCE, {"a100": ("yes", 0.5)})
    advise.advise(trials)
    assert trials.ran[:5] == ["a", "b", "c", "l4", "a100"] and "h100" not in trials.ran


def test_over_many_gpus_what_saves_most_stands_beside(singles):
    singles.many = [kind(f"{n} GPUs", "many GPUs") for n in (2, 4)]
    trials = Tried(SOURCE, {"b": ("no", 1.2), "b + 4 GPUs": ("yes", 0.5), "b + 2 GPUs": ("no", 1.1)})
    found = advise.advise(trials)
    assert trials.ran[:5] == ["a", "b", "c", "2 GPUs", "4 GPUs"]
    assert trials.ran[-2:] == ["b + 4 GPUs", "b + 2 GPUs"] and found.together[-1].what == "b + 2 GPUs"


@pytest.mark.parametrize(
    "case, built, ran",
    [
        ({}, OWN_ITERATION, ["own"]),
        ({"source": "", "program": {"p": 1}}, "a program", ["program {'N': 1}"]),
    ],
)
def test_what_is_tried_of_what_runs(singles, case, built, ran):
    trials = Tried(SOURCE | case, {}, built)
    advise.advise(trials, least={"N": 1})
    assert trials.ran == ran


@pytest.mark.parametrize(
    "case, said", [({"source": ""}, "got an artifact, want a case with a source: or a program:"),
                   ({"artifact": "a.pt2"}, "got an artifact: beside the source:, want the source alone")]
)  # fmt: skip
def test_an_artifact_cannot_be_changed(singles, case, said):
    with pytest.raises(advise.Unusable, match=f"^net: {said}$"):
        advise.advise(Tried(SOURCE | case, {}))


@pytest.mark.parametrize(
    "outcome, report, oom, budgets, kept",
    [
        ("pass", {}, None, ["b"], "yes"),
        ("fail", {}, None, ["b"], "no"),
        ("inconclusive", {}, None, ["b"], "undecided"),
        ("inconclusive", {}, None, [], "yes"),  # the card alone is the limit
        ("pass", {"oom": {"at": 1}}, None, ["b"], "no"),
        ("pass", {}, {"phase": "first"}, ["b"], "no"),
        ("pass", {"peak": {"allocated": 16, "reserved": 33}}, None, ["b"], "undecided"),  # the replay is not the run
        ("fail", {"peak": {"allocated": 15, "reserved": 32}}, None, ["b"], "undecided"),
        ("pass", {"oom": {"at": 1}, "peak": {"allocated": 1, "reserved": 1}}, None, ["b"], "no"),
    ],
)
def test_whether_a_change_keeps_all(outcome, report, oom, budgets, kept):
    peaks = {"allocated": 16, "reserved": 32}
    contents = Contents({"phases": [peaks, {"allocated": None, "reserved": None}], "oom": oom}, [], [])
    judged = {"outcome": outcome, "findings": [], "report": {"quality": "exact", "peak": peaks} | report}
    got = advise._trial(("tried",), contents, judged, {"budgets": budgets, "device": {"memory": 66, "context": 2}})
    assert got == Trial(("tried",), kept, 16, 32, 0.5, contents)


@pytest.mark.parametrize(
    "memory, context, findings, load",
    [
        (64, None, [], 0.5),
        (None, None, [], 0.0),
        (3, 2, [], 32.0),
        (2, 2, [], 0.0),
        (64, 0, [{"predicted": 9, "limit": 10}, {"predicted": None, "limit": 1}, {"predicted": 5, "limit": 0}], 0.9),
    ],
)
def test_the_load_is_of_the_figure_nearest_to_its_limit(memory, context, findings, load):
    peaks = {"allocated": 16, "reserved": 32}
    judged = {"outcome": "pass", "findings": findings, "report": {"quality": "exact", "peak": peaks}}
    case = {"budgets": [], "device": {"memory": memory, "context": context}}
    assert advise._trial((), Contents({"phases": [peaks], "oom": None}, [], []), judged, case).load == load


def test_processes_of_several_cases_are_ended(monkeypatch):
    closed, given = [], []
    runner = SimpleNamespace(close=lambda: closed.append(1))
    monkeypatch.setattr(advise.process, "runner", lambda several: (given.append(several), runner)[1])
    monkeypatch.setattr(advise, "advise", lambda trials, runs, least: (trials._name, runs, least, list(closed)))
    got = advise._found(SimpleNamespace(runs=3), "memspec.yaml", "net", ["c"], {"N": 1})
    assert got == ("net", 3, {"N": 1}, []) and closed == [1] and given == [True]
