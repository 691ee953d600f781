"""memshim capture -o FILE given again: what it depends on has not changed, so it is not run; what
has changed runs it."""

import os
import sys
from pathlib import Path

import pretended
import pytest
from captured import capture, decode

from memshim.case import capture as command

pytest.importorskip("torch")

ZOO = """
import os, sys
import torch
import width

print("runs", file=sys.stderr)

def net():
    open("runs", "a").write("x")
    return torch.nn.Linear(width.WIDTH, 8)
"""
LINE = ["zoo.py:net", "--input", "float32[4,16]", "--on", "t4", "-o", "net.rec"]


@pytest.fixture(name="folder", scope="module")
def captured_once(tmp_path_factory):
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("again")
    (folder / "zoo.py").write_text(ZOO)
    (folder / "width.py").write_text("WIDTH = 16\n")
    p = capture(folder, *LINE)
    assert p.returncode == 0 and "up to date" not in p.stdout, p.stderr
    return folder


def runs(folder):
    return len((folder / "runs").read_text())


def test_the_same_is_not_run_again(folder):
    before, written = runs(folder), (folder / "net.rec").read_bytes()
    p = capture(folder, *LINE)
    assert (p.returncode, p.stderr, runs(folder)) == (0, "", before)
    assert p.stdout.startswith("net.rec is up to date (") and p.stdout.endswith("; --fresh runs it again\n")
    assert (folder / "net.rec").read_bytes() == written
    p = capture(folder, *LINE, "--fresh")
    assert p.returncode == 0 and runs(folder) == before + 1
    assert (folder / "net.rec").read_bytes() == written, "the flag is no part of what made it"


def case(folder, monkeypatch, *words):
    monkeypatch.chdir(folder)
    a = command.parser().parse_args([*LINE, *words])
    a.words = [*LINE, *words]
    return command.case_of(a)


def test_it_is(folder, monkeypatch):
    assert command.up_to_date("net.rec", case(folder, monkeypatch))
    assert command.up_to_date(str(folder / "net.rec"), case(folder, monkeypatch)), "by another path"


@pytest.mark.parametrize(
    ("why", "file", "text"),
    [
        ("the source has changed", "zoo.py", ZOO + "\n"),
        ("what it imports has changed", "width.py", "WIDTH = 17\n"),
        ("what it imports is gone", "width.py", None),
        ("it is no recording", "net.rec", "nothing"),
        ("it is not there", "net.rec", None),
    ],
)
def test_a_file_that_changed(folder, monkeypatch, why, file, text):
    path, before = folder / file, (folder / file).read_bytes()
    here, when = case(folder, monkeypatch), path.stat()
    try:
        path.unlink() if text is None else path.write_text(text)
        assert not command.up_to_date("net.rec", here), why
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert command.up_to_date("net.rec", here)


def test_a_damaged_recording_is_made_again(folder, monkeypatch):
    here, path = case(folder, monkeypatch), folder / "damaged.rec"
    data = (folder / "net.rec").read_bytes()
    for cut in (0, 5, 12, 60):
        path.write_bytes(data[:cut] + bytes(20) + data[cut + 20 :])
        assert not command.up_to_date("damaged.rec", here), cut


def test_another_run(folder, monkeypatch):
    assert not command.up_to_date("net.rec", case(folder, monkeypatch, "--dtype", "float16")), "other words"
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    assert case(folder, monkeypatch)["command"][:3] == ["env", "TORCHINDUCTOR_MAX_AUTOTUNE=1", "python"]
    assert not command.up_to_date("net.rec", case(folder, monkeypatch)), "compiled otherwise"
    monkeypatch.delenv("TORCHINDUCTOR_MAX_AUTOTUNE")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "elsewhere")
    assert command.up_to_date("net.rec", case(folder, monkeypatch)), "where caches lie changes nothing"


def test_from_another_folder_the_same_words_are_another_source(folder, monkeypatch, tmp_path):
    (tmp_path / "zoo.py").write_text(ZOO)
    here = case(tmp_path, monkeypatch)
    assert not command.up_to_date(str(folder / "net.rec"), here)


def test_other_software(folder, monkeypatch):
    here = case(folder, monkeypatch)
    with monkeypatch.context() as m:
        m.setattr(command.provenance, "versions", lambda torch: {"memshim": "", "python": "", "torch": torch})
        assert not command.up_to_date("net.rec", here), "another release of something that takes part"
    with monkeypatch.context() as m:
        m.setattr(command, "_changed", lambda: os.path.getmtime("net.rec") + 1)
        assert not command.up_to_date("net.rec", here), "memshim was changed since"


def test_it_states_what_it_hangs_on(folder):
    made = decode(folder / "net.rec")[0]["made"]
    assert [f["path"] for f in made["files"]] == ["width.py", "zoo.py"]
    assert made["command"][0] == "python" and sys.version.startswith(made["versions"]["python"])
    assert 0 < command._changed() < os.path.getmtime(folder / "net.rec")
    assert Path(command.__file__).stat().st_mtime <= command._changed()
