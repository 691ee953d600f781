"""A pretend run harms nothing: files that hold values stay as they are."""

import json
import os
import subprocess
import sys
import threading

import pytest
import warm

from memshim import pretend
from memshim.pretend import support, writes

TRAIN = """
import os, pickle, shutil, sys, torch
import numpy as np
m = torch.nn.Linear(4, 4).cuda()
m(torch.randn(2, 4, device="cuda")).sum().backward()

def attempt(name, act):
    try:
        act()
        print(name, "done")
    except PermissionError as e:
        print(name, "refused:", e)

def stream():
    with open("stream.pt", "wb") as f:
        torch.save(m.state_dict(), f)

def replace():
    torch.save(m.state_dict(), "part.tmp")
    os.replace("part.tmp", "replaced.pt")

def safe():
    from safetensors.torch import save_file
    save_file(m.state_dict(), "real.safetensors")

def pickled():
    with open("weights.pkl", "wb") as f:
        pickle.dump(m.state_dict(), f)

attempt("save", lambda: torch.save(m.state_dict(), "saved.pt"))
attempt("plain", lambda: torch.save(m.state_dict(), "checkpoint"))
attempt("stream", stream)
attempt("replace", replace)
attempt("numpy", lambda: np.save("array.npy", m.weight.detach().cpu().numpy()))
attempt("savetxt", lambda: np.savetxt("weights.txt", m.weight.detach().cpu().numpy()))
attempt("keyword", lambda: np.savetxt(X=m.bias.detach().cpu().numpy(), fname="weights.txt"))
attempt("pickle", pickled)
attempt("safetensors", safe)
attempt("remove", lambda: os.remove("old.pt"))
attempt("rmtree", lambda: shutil.rmtree("checkpoint-1"))
attempt("new", lambda: torch.save(m.state_dict(), "new.pt"))
attempt("again", lambda: torch.save(m.state_dict(), "new.pt"))

def whole():
    torch.save(m.state_dict(), "tmp_by_a_library")
    os.rename("tmp_by_a_library", "epoch.ckpt")
    with open("tmp2", "wb") as f:
        f.write(b"x")
    os.rename("tmp2", "step.ckpt")
    os.remove("epoch.ckpt")
    os.remove("step.ckpt")

attempt("whole", whole)
attempt("text", lambda: open("log.txt", "w").write("3"))
print("mode", os.environ.get("WANDB_MODE"))
"""
REAL = (
    "saved.pt",
    "checkpoint",
    "stream.pt",
    "replaced.pt",
    "array.npy",
    "weights.txt",
    "weights.pkl",
    "real.safetensors",
    "old.pt",
    "checkpoint-1/model.bin",
    "log.txt",
)


@pytest.fixture
def folder(tmp_path):
    try:
        support.check_machine()
        support.torch_here()
    except support.Unsupported as e:
        pytest.skip(str(e))
    here = tmp_path / "work"
    (here / "checkpoint-1").mkdir(parents=True)
    for name in REAL:
        (here / name).write_text("values")
    (here / "train.py").write_text(TRAIN)
    return here


def run(folder, *options):
    command = [
        sys.executable,
        "-m",
        "memshim",
        "run",
        "--on",
        "t4",
        "--json",
        str(folder.parent / "run.json"),
        *options,
        "--",
        "train.py",
    ]
    environ = {k: v for k, v in os.environ.items() if k != "WANDB_MODE"} | {
        "XDG_CACHE_HOME": str(folder.parent / "cache")
    }
    os.makedirs(folder.parent / "cache", mode=0o700, exist_ok=True)
    p = warm.run(command, cwd=folder, env=environ)
    assert p.returncode == 0, p.stderr
    return p


def test_nothing_that_holds_values_changes(folder):
    for attempt in ("first", "second"):  # what the first wrote the second may write again
        p = run(folder)
        said = dict(line.split(" ", 1) for line in p.stdout.splitlines())
        for name in (
            "save",
            "plain",
            "stream",
            "replace",
            "numpy",
            "savetxt",
            "keyword",
            "pickle",
            "safetensors",
            "remove",
            "rmtree",
        ):
            assert said[name].startswith("refused: memshim: got a pretend run that would "), (attempt, name, said[name])
        assert f"save over {folder / 'saved.pt'}, which no pretend run wrote" in said["save"]
        assert (said["new"], said["again"], said["whole"], said["text"], said["mode"]) == (
            "done",
            "done",
            "done",
            "done",
            "offline",
        )
        for name in set(REAL) - {"log.txt"}:
            assert (folder / name).read_text() == "values", name
    assert [
        f["path"] for p in json.loads((folder.parent / "run.json").read_text())["processes"] for f in p["files"]
    ] == []
    (folder / "new.pt").unlink()
    p = run(folder)
    assert f"new file         {folder / 'new.pt'} (" in p.stderr
    (folder / "new.pt").write_bytes(b"a real run's, by now")
    said = dict(line.split(" ", 1) for line in run(folder).stdout.splitlines())
    assert said["new"].startswith("refused"), "another file of the name is no pretend run's"


def test_writes_may_be_allowed(folder):
    said = dict(line.split(" ", 1) for line in run(folder, "--allow-writes").stdout.splitlines())
    assert set(said.values()) == {"done", "None"}
    assert (folder / "saved.pt").read_bytes()[:2] == b"PK"
    assert not (folder / "old.pt").exists()


def test_a_sandbox_keeps_the_folder(folder):
    p = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True)
    before = sorted(f.name for f in folder.rglob("*"))
    if p.returncode:
        command = [sys.executable, "-m", "memshim", "run", "--on", "t4", "--sandbox", "--", "train.py"]
        q = warm.run(command, cwd=folder)
        assert (q.returncode, "--sandbox: this system allows no copy-on-write view" in q.stderr) == (2, True), q.stderr
    else:
        q = run(folder, "--sandbox")
        assert dict(line.split(" ", 1) for line in q.stdout.splitlines())["save"] == "done"
        assert "thrown away" in q.stderr
    assert sorted(f.name for f in folder.rglob("*")) == before
    assert all((folder / name).read_text() == "values" for name in REAL)


def test_a_thread_is_asked_while_another_one_is(tmp_path, monkeypatch):
    """As a checkpoint that a thread writes beside the loop."""
    kept = tmp_path / "kept.pt"
    kept.write_bytes(b"real")
    guard = writes.Guard(str(tmp_path / "book.json"))
    monkeypatch.setattr(writes, "computes", lambda: True)
    asked, done, refused = threading.Event(), threading.Event(), []

    def slow(*_):
        asked.set()
        done.wait(60)

    monkeypatch.setitem(writes.EVENTS, "slow", slow)
    other = threading.Thread(target=guard.hear, args=("slow", ()))
    other.start()
    asked.wait(60)
    try:
        guard.hear("open", (str(kept), "wb", os.O_WRONLY))
    except writes.NotWritten as e:
        refused.append(str(e))
    done.set()
    other.join()
    assert len(refused) == 1 and "would save over" in refused[0]


HEARS = """
import os
from memshim.pretend import library

def refuse(event, arguments):
    if arguments[0] == "refused":
        raise PermissionError(*arguments)

heard = []
library.hear(["open", "os.rename"], lambda event, arguments: heard.append((event, arguments[0])))
library.hear(["open"], refuse)
id(heard), refuse.__code__
open(os.devnull).close()
try:
    open("refused", "w")
except PermissionError as e:
    heard.append(type(e).__name__)
print(heard, os.path.exists("refused"))
"""


def test_of_pythons_events_only_those_that_are_wanted_are_heard(folder):
    p = subprocess.run(
        [sys.executable, "-c", HEARS],
        cwd=folder,
        env=os.environ | pretend.environment("t4"),
        capture_output=True,
        text=True,
    )
    wanted = [("open", os.devnull), ("open", "refused"), "PermissionError"]
    assert p.stdout == f"{wanted} False\n", p.stderr
