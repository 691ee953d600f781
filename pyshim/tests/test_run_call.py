"""memshim.run, and the schema of what it returns."""

import json
import re
import subprocess
import sys
import typing

import pretended
import pytest
import run_schema

import memshim
from memshim.program import figures
from memshim.program.ranks import Unusable

pytest.importorskip("torch")

PROGRAM = """
import os, sys, torch
print(os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"], *sys.argv[1:], flush=True)
kept = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    if why := pretended.missing():
        pytest.skip(why)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def test_ranks_as_an_object(folder, capfd):
    found = memshim.run(["train.py", "a b"], on="t4", world_size=4, nproc_per_node=2, rank=3, record="o.rec")
    assert run_schema.wrong(found) == []
    assert [(r["rank"], r["reserved"], r["fits"]) for r in found["ranks"]] == [(3, 20 << 20, True)]
    assert (found["worst"], found["exit"], found["program"]) == (3, 0, ["--", "train.py", "a b"])
    assert (folder / "o.rank3.rec").exists()
    assert capfd.readouterr() == ("3 4 1 a b\n", ""), "nothing but the program's own output"


def test_one_process_as_an_object(folder, capfd):
    found = memshim.run(["-c", "print('said'); raise SystemExit(3)"], on=["t4"], memory="8GiB", top=0)
    assert run_schema.wrong(found) == []
    assert (found["exit"], found["fits"], found["processes"]) == (3, None, [])
    assert capfd.readouterr().out == "said\n"


@pytest.mark.parametrize(
    "program, options, said",
    [
        ("train.py", {}, "got the program 'train.py', want a list of words"),
        ([], {}, "got no program, want -- train.py …"),
        (["train.py"], {"rank": [0, 9], "world_size": 4}, "got --rank 9, want numbers from 0 to 3, first, last"),
        (["train.py"], {"rank": "last"}, "got --rank without --world-size, want both"),
        (["train.py"], {"world_size": 4, "count": 2}, "got --count with --world-size"),
        (["train.py"], {"values": "some"}, "argument --values: invalid choice: 'some'"),
        (["train.py"], {"nccl": "much"}, "got size 'much', want one such as 4096"),
        (["train.py"], {"record": "a.txt"}, "got --record a.txt, want a name that ends with .rec"),
        (["train.py"], {"on": "t5"}, "t5"),
    ],
)
def test_arguments_that_are_not_usable(folder, program, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        memshim.run(program, **{"on": "t4", **options})


def test_other_processes_of_the_caller_go_on(folder):
    """A program that a signal ends takes what it started with it, and nothing else."""
    words = [sys.executable, "-c", "import sys, time; time.sleep(60 * float(sys.argv[1])); sys.exit(3)"]
    works, ended = (subprocess.Popen([*words, minutes]) for minutes in ("1", "0"))
    memshim.run(["-c", "import os; os.kill(os.getpid(), 15)"], on="t4")
    assert works.poll() is None, "it is not ended"
    works.kill()
    assert (works.wait(), ended.wait()) == (-9, 3), "nobody else waited for them"


def test_a_launcher_inside(folder):
    with pytest.raises(Unusable, match="got torchrun, which starts ranks, under --world-size"):
        memshim.run(["torchrun", "train.py"], on="t4", world_size=2)


def test_the_types_are_those_of_the_schema():
    """Each class of figures.py has the keys of its part of the schema, and the same of them may be missing."""
    kinds = {n: c for n, c in vars(figures).items() if typing.is_typeddict(c) and not n.startswith("_")}
    parts = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", n).lower(): c for n, c in kinds.items()}
    assert parts.keys() == run_schema.SCHEMA["$defs"].keys()
    for name, kind in parts.items():
        part = run_schema.SCHEMA["$defs"][name]
        assert list(part["properties"]) == list(typing.get_type_hints(kind)), name
        assert set(part["required"]) == set(kind.__required_keys__), name
        assert part["additionalProperties"] is False


def test_the_schema_refuses_what_is_not_said(folder):
    found = json.loads(json.dumps({"schema": 1, "where": "pretend", "on": ["t4"], "program": []}))
    assert any("'processes' is a required property" in w for w in run_schema.wrong(found))
    assert any("'more' was unexpected" in w for w in run_schema.wrong(found | {"more": 1}))
