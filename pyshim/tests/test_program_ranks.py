"""The files that a capture of a program's ranks keeps, of what memshim run left."""

import json

import pytest

from memshim.allocator import recording
from memshim.case import program_case
from memshim.case.errors import ModelError

CASE = {
    "name": "train",
    "dir": ".",
    "device": {"name": "t4"},
    "program": {"words": ["train.py"], "cwd": ".", "env": {}, "steps": 2, "serve": False},
}
RANKS = {"world_size": 16, "nproc_per_node": 8, "run": ["0", "last"]}
ROW = {"exit": 0, "out_of_memory": "", "processes": [], "place": [], "stages": []}


def test_options():
    of = program_case.options
    assert of({"steps": 0, "ranks": None}) == ["--check-values"]
    assert of({"steps": 2, "ranks": None}) == ["--steps", "2", "--check-values"]
    world = ["--world-size", "16", "--nproc-per-node", "8", "--rank", "0,last"]
    assert of({"steps": 0, "ranks": RANKS}) == ["--check-values", *world]
    every = {"world_size": 4, "nproc_per_node": 0, "run": []}
    assert of({"steps": 0, "ranks": every}) == ["--check-values", "--world-size", "4"]


def capture(folder, monkeypatch, rows, left):
    """A capture whose memshim run ends with a report of these rows and recordings of these ranks."""

    def run(command, cwd, said, timeout):
        for rank in left:
            recording.write(b"recording %d" % rank, str(said.with_name(f"out.rank{rank}.rec")))
        report = {"world_size": 16, "ranks": rows, "not_run": [{"why": "experts", "ranks": [3]}]}
        said.with_name("report.json").write_text(json.dumps(report))
        return ["ValueError: bad"]

    monkeypatch.setattr(program_case, "_run", run)
    case = CASE | {"program": CASE["program"] | {"ranks": RANKS}}
    return program_case.capture(case, str(folder / "train-1.ranks.json"), 10)


def test_ranks_are_kept_with_their_list(tmp_path, monkeypatch):
    (tmp_path / "train-1.rank7.rec").write_bytes(b"of an earlier run")
    (tmp_path / "other-1.rank7.rec").write_bytes(b"of another case")
    place = [{"name": "dp", "index": 1, "size": 2}, {"name": "tp", "index": 0, "size": 1}]
    rows = [ROW | {"rank": 0}, ROW | {"rank": 15, "place": place, "stages": [3]}]
    assert capture(tmp_path, monkeypatch, rows, [0, 15]) == 23
    names = ["other-1.rank7.rec", "train-1.rank0.rec", "train-1.rank15.rec", "train-1.ranks.json"]
    assert sorted(f.name for f in tmp_path.iterdir()) == names
    summary = json.loads((tmp_path / names[-1]).read_text())
    assert [(r["rank"], r["place"]) for r in summary["ranks"]] == [(0, ""), (15, "dp 1 of 2, stage 3")]
    assert summary["not_run"] == [{"why": "experts", "ranks": [3]}]
    assert program_case.files(str(tmp_path / names[-1])) == [str(tmp_path / n) for n in names[1:3]]


@pytest.mark.parametrize(
    ("row", "left", "said"),
    [
        ({"exit": 1}, [0, 15], "rank 15 ended with 1: ValueError: bad"),
        ({}, [0], "rank 15 took nothing of the pretend GPU"),
    ],
)
def test_a_rank_without_a_recording(tmp_path, monkeypatch, row, left, said):
    with pytest.raises(ModelError, match=said):
        capture(tmp_path, monkeypatch, [ROW | {"rank": 0}, ROW | {"rank": 15} | row], left)
    assert not list(tmp_path.iterdir())
