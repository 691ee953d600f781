"""Recordings of runs with other values: whether they take the same, which reads may decide, and how they are kept
in one file."""

import gzip
import json

import pytest

from memshim.allocator import recording
from memshim.allocator.events import Event
from memshim.allocator.recording import Site
from memshim.case import compare_values
from memshim.case.compare_values import Parts, Reads, Run
from memshim.frames import Stacks

BASE = recording.BASE


def recorded(*rows, phases=(("first", None),), sites=True, notes=(), **more):
    """A recording of (action, key, size, line of the user's or 0, stream)."""
    stacks, events, of = Stacks(), [], []
    for action, key, size, *rest in rows:
        line, stream = (*rest, 0, 0)[:2]
        events.append(Event(action, key, size, stream))
        stack = stacks.add([("train.py", line, "step")]) if line else -1
        of.append(Site("mm", "fc", "activation", stack) if line else None)
    header = {
        "phases": [{"name": n, "events": len(rows) if e is None else e} for n, e in phases], "oom": None,
        "notes": [{"id": n} for n in notes], **more,
    }  # fmt: skip
    return recording.encode(header, events, of, stacks)


def alloc(key, size, line=1, stream=0):
    return "alloc", key, size, line, stream


def free(key, size):
    return "free_completed", key, size


def parts(*rows, **more):
    return Parts(recorded(*rows, **more))


SAME = [alloc(0, 8), alloc(512, 16, 2), free(0, 8)]


def test_a_recording_is_read_in_rows():
    p = parts(alloc(0, 8), alloc(512, 16, 0, 7), free(0, 8), ("oom", 99, 5))
    site = ("mm", "fc", "activation", (("train.py", 1, "step"),))
    assert p.rows == [
        ("alloc", BASE, 8, site, 0),
        ("alloc", BASE + 512, 16, None, 7),
        ("free_completed", BASE, 8, None, 0),
        ("oom", 99, 5, None, 0),
    ]
    assert p.ends() == [("first", 4)]
    assert list(p.taken()) == [("alloc", 8, 0, 0), ("alloc", 16, 7, 0), ("free_completed", 8, 0, 1), ("oom", 5, 0, 0)]


@pytest.mark.parametrize(
    "rows, phases, alike",
    [
        ([alloc(1024, 8, 5), alloc(2048, 16, 6), free(1024, 8)], (("first", None),), True),  # elsewhere, by other lines
        ([alloc(0, 8), alloc(512, 16), free(512, 16)], (("first", None),), False),
        ([alloc(0, 8), alloc(512, 16), free(512, 8)], (("first", None),), False),  # of the other one
        ([alloc(0, 8), alloc(512, 24), free(0, 8)], (("first", None),), False),
        ([alloc(0, 8), alloc(512, 16, 1, 3), free(0, 8)], (("first", None),), False),
        (SAME[:2], (("first", 3),), False),
        (SAME, (("first", 2),), False),
        (SAME, (("steady", None),), False),
    ],
)
def test_two_runs_take_the_same(rows, phases, alike):
    assert compare_values.same(parts(*SAME), parts(*rows, phases=phases)) is alike


def read(line, varied=True, open=""):
    return {"file": "train.py", "line": line, "function": "step", "varied": varied, "open": open}


def test_reads_decide_where_one_gives_others_with_other_values():
    assert Reads([read(1, varied=False), read(2)]).decisive and not Reads([read(1, varied=False)]).decisive
    assert not Reads().decisive
    assert Reads([read(1), read(2)], [(1, 0), (0, 4)]).place(0) == ("train.py", 2, "step")


def lines(base, reads, *runs):
    return [(r["line"], r.get("open")) for r in compare_values.lines(base, reads, list(runs))]


OTHER = parts(alloc(0, 8), alloc(512, 24, 2), free(0, 8))
LARGER = Run("most", OTHER)


def test_without_moments_any_read_may_decide():
    reads = Reads([read(1), read(2, open="a loop"), read(3, varied=False), read(1)])
    base = parts(*SAME)
    assert lines(base, reads, LARGER) == [(1, None), (2, "a loop")]
    assert lines(base, reads, Run("most", failed="x")) == [(1, None), (2, "a loop")]
    assert lines(base, reads, Run("most", base)) == []


def test_the_reads_before_what_differs_decide():
    reads = Reads([read(1), read(2), read(3)], [(0, 0), (1, 1), (2, 2)])
    assert lines(parts(*SAME), reads, Run("most", OTHER, reads)) == [(2, None)]
    assert lines(parts(*SAME), reads, Run("most", parts(*SAME), reads)) == []


def test_where_other_lines_are_read_the_read_before_decides():
    reads = Reads([read(1), read(2), read(3)], [(0, 0), (1, 1), (2, 2)])
    others = Reads([read(1), read(7)], [(0, 0), (1, 1)])
    assert lines(parts(*SAME), reads, Run("most", OTHER, others)) == [(1, None)]


def test_the_last_read_decides_to_the_end():
    reads = Reads([read(1), read(2)], [(0, 0), (1, 1)])
    longer = parts(*SAME, alloc(0, 8))
    assert lines(parts(*SAME), reads, Run("most", longer, reads)) == [(2, None)]


def test_where_no_read_comes_before_what_differs_the_first_decides():
    reads = Reads([read(1), read(2)], [(0, 2), (1, 3)])
    assert lines(parts(*SAME), reads, Run("most", OTHER, reads)) == [(1, None)]
    assert lines(parts(*SAME), reads, Run("most", OTHER)) == []


def test_where_a_run_failed_all_that_it_read_may_decide():
    reads, others = Reads([read(1)], [(0, 0)]), Reads([read(1), read(9)], [(0, 0), (1, 1)])
    assert lines(parts(*SAME), reads, Run("most", None, others, "it failed")) == [(1, None), (9, None)]


def merged(data, *runs, reads=None):
    out = compare_values.merge(data, reads or Reads(), list(runs))
    head, *rest = [json.loads(x) for x in gzip.decompress(out).decode().splitlines()]
    return head, rest


def test_runs_are_kept_from_where_they_differ():
    base = recorded(*SAME)
    longer = parts(*SAME, alloc(0, 8, 3))
    head, rest = merged(
        base, Run("least", Parts(base)), LARGER, Run("skewed", failed="ValueError: x"), Run("more", OTHER),
        Run("longer", longer),
    )  # fmt: skip
    runs = head["record"]["values"]["runs"]
    own = {"phases": [{"name": "first", "events": 3}], "oom": None}
    assert runs[:4] == [
        {"values": "least", "as": "balanced"},
        {"values": "most", **own, "shared": 1, "events": 2},
        {"values": "skewed", "failed": "ValueError: x"},
        {"values": "more", "as": "most"},
    ]
    assert (runs[4]["shared"], runs[4]["events"]) == (3, 1)
    assert (head["frames"], head["stacks"], head["sites"], head["events"]) == (3, 3, 3, 3)
    assert rest[:3] == [["train.py", n, "step"] for n in (1, 2, 3)] and rest[3:6] == [[0], [1], [2]]
    assert rest[6:9] == [["mm", "fc", "activation", n] for n in (1, 2, 3)]
    assert head["actions"] == ["alloc", "free_completed"]
    assert rest[9:] == [
        [0, BASE, 8, 1],
        [0, 512, 16, 2],
        [1, -512, 8],
        [0, 512, 24, 2],  # from the last event that is shared
        [1, -512, 8],
        [0, 0, 8, 3],
    ]


def test_what_differs_from_the_beginning_shares_nothing():
    head, rest = merged(recorded(alloc(0, 8)), Run("most", parts(alloc(0, 9), ("oom", 5, 1, 0, 2))))
    assert head["record"]["values"]["runs"][0]["shared"] == 0
    assert head["actions"] == ["alloc", "oom"] and rest[-2:] == [[0, BASE, 9, 1], [1, 5 - BASE, 1, 0, 2]]


def test_reads_that_decide_nothing_are_noted_as_compared():
    reads = Reads([read(1), read(2, varied=False), read(3)])
    notes = ("value-read", "value-read", "timing-decides")
    base = recorded(*SAME, notes=notes)

    def found(*runs):
        return [n["id"] for n in merged(base, *runs, reads=reads)[0]["record"]["notes"]]

    assert found(Run("most", Parts(base))) == ["value-compared", "value-read", "timing-decides"]
    assert found(LARGER) == found(Run("most", failed="x")) == list(notes)


def test_files_of_all_runs_count():
    def made(*files):
        return {"made": {"files": [{"path": p, "sha256": h} for p, h in files]}}

    base = recorded(*SAME, **made(("b", 1), ("c", 1)))
    other = parts(*SAME, **made(("b", 2), ("a", 2)))
    record = merged(base, Run("most", other), Run("least", failed="x"))[0]["record"]
    assert [(f["path"], f["sha256"]) for f in record["made"]["files"]] == [("a", 2), ("b", 1), ("c", 1)]
    assert "made" not in merged(recorded(*SAME), Run("most", other))[0]["record"]


def test_what_a_run_read_lies_beside_what_it_wrote(tmp_path):
    assert compare_values.read_reads(str(tmp_path / "a.rec")) == ([], [])
    (tmp_path / "a.rec.reads").write_text(json.dumps({"reads": [read(1)], "log": [[0, 4]]}))
    assert compare_values.read_reads(str(tmp_path / "a.rec")) == ([read(1)], [(0, 4)])


@pytest.mark.parametrize(
    "text, line", [("a\n  b", "a b"), ("x" * 120, "x" * 120), ("x" * 121, "x" * 119 + "…")], ids=["lines", "120", "121"]
)
def test_why_a_run_failed_is_a_line(text, line):
    assert compare_values.short(ValueError(text)) == line
