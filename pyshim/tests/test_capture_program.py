"""memshim capture and check of a memspec.yaml's programs: each is run as memspec.yaml states it, and
its recording is where memspec check finds it."""

import shutil
import sys

import pretended
import pytest
import warm
from captured import capture, decode, memshim

from memshim import binary
from memshim.case import program_case

pytest.importorskip("torch")

TRAIN = """
import os, sys
import torch
words = [os.path.basename(os.getcwd()), *sys.argv[1:], str(os.environ.get("HOME"))]
open(os.environ["LOG"], "a").write(" ".join(words) + "\\n")
rows = int(open(os.path.join(os.path.dirname(__file__), "rows.txt")).read())
model = torch.nn.Linear(1024, rows).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(int(sys.argv[-1]), 1024, device="cuda")).sum().backward()
    optimizer.step()
"""
SPEC = """
version: 1
models:
  script:
    program: train.py
    args: [--batch, 8]
    env: {HOME: null}
    device: t4
    budget: {allocated: 64MiB}
    depends: {ignore: [log]}
  module:
    module: pkg.train
    device: small-t4
    budget: {allocated: 64MiB}
    depends: {ignore: [log]}
    cases:
      - {args: ["16"], cwd: lib, env: {HOME: here}}
devices:
  small-t4: {memory: 1GiB, compute_capability: 7.5, sms: 40}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("programs")
    (folder / "lib" / "pkg").mkdir(parents=True)
    for script in ("train.py", "lib/pkg/train.py"):
        (folder / script).write_text(TRAIN)
        (folder / script).with_name("rows.txt").write_text("1024")
    (folder / "memspec.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as m:
        m.setenv("LOG", str(folder / "log"))
        m.setenv("HOME", "/callers")
        p = capture(folder, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    assert len(p.stdout.splitlines()) == 2
    return folder


@pytest.fixture
def project(recorded, tmp_path, monkeypatch):
    """A copy of the recorded folder."""
    monkeypatch.setenv("LOG", str(recorded / "log"))
    return shutil.copytree(recorded, tmp_path / "project")


def runs(folder):
    return (folder / "log").read_text().splitlines()


def recording(folder, name):
    return next(f for f in (folder / ".memspec").iterdir() if f.name.startswith(name + "-"))


def test_a_program_runs_as_memspec_yaml_states_it(recorded):
    assert runs(recorded) == [f"{recorded.name} --batch 8 None", "lib 16 here"]
    header, events = decode(recording(recorded, "module"))
    assert (header["built"], header["mode"], header["case"]) == ("a program", "training", "module[16]")
    assert header["device"]["total"] == 1 << 30
    assert header["made"]["command"] == ["python", "-m", "memshim", "capture", "memspec.yaml", "--case", "module[16]"]
    assert [f["path"] for f in header["made"]["files"]] == ["../lib/pkg/train.py"]
    assert [f["path"] for f in header["made"]["read"]] == ["../lib/pkg/rows.txt"]
    assert set(header["made"]["variables"]) == {"LOG"}, "HOME is the case's own"
    assert sum(e["size"] for e in events if e["category"] == "optimizer_state") > 8 << 20


def test_recordings_are_judged_without_python(project):
    said = binary.call("check", str(project / "memspec.yaml"))
    assert said.code == 0 and said.out.splitlines()[-1] == "2 cases: 2 pass", said.out + said.err


def test_what_is_current_is_not_run_again(project):
    before = runs(project)
    p = capture(project, "memspec.yaml")
    assert p.returncode == 0 and p.stdout.count("is up to date") == 2, p.stdout
    p = memshim(project, "check")
    assert p.returncode == 0 and p.stdout.splitlines()[-1] == "2 cases: 2 pass", p.stdout + p.stderr
    assert runs(project) == before


def test_check_records_what_is_stale(project, recorded):
    before = runs(recorded)
    (project / "rows.txt").write_text("4096")
    p = memshim(project, "check", "--format", "json")
    assert p.returncode == 1, p.stdout + p.stderr
    assert '"outcome": "fail"' in p.stdout and '"outcome": "pass"' in p.stdout
    assert [line.split()[0] for line in runs(recorded)[len(before) :]] == ["project"], "the other one is current"


def test_pytest_has_its_cases(project):
    p = warm.run(
        [sys.executable, "-m", "pytest", "-p", "memshim.judge.plugin", "-p", "no:cacheprovider", "-rA", "memspec.yaml"],
        cwd=project,
        timeout=120,
    )
    assert p.returncode == 0 and "2 passed" in p.stdout, p.stdout + p.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('no such config')", "the program ended with 1: ValueError: no such config"),
        ("print('done')", "the program took nothing of the pretend GPU"),
    ],
)
def test_a_program_that_leaves_no_recording(tmp_path, text, said):
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "memspec.yaml").write_text(
        "version: 1\nmodels: {train: {program: train.py, device: t4, budget: {total: 50%}}}\n"
    )
    p = capture(tmp_path, "memspec.yaml")
    assert p.returncode == 2 and p.stderr == f"memshim capture: train: {said}\n"
    assert not (tmp_path / ".memspec").exists()
    p = memshim(tmp_path, "check")
    assert p.returncode == 3 and f"memshim: train cannot be captured: {said}" in p.stderr


@pytest.mark.parametrize(
    ("words", "cwd", "serve", "want"),
    [
        (["train.py", "-x"], "p", False, ["train.py", "-x"]),
        (["train.py"], "p/runs", False, ["../train.py"]),
        (["-m", "pkg.train", "a"], "p/runs", False, ["-m", "pkg.train", "a"]),
        (["vllm", "serve", "qwen"], "p/runs", True, ["vllm", "serve", "qwen"]),
        (["chat.py"], "p/runs", True, ["../chat.py"]),
    ],
)
def test_words(words, cwd, serve, want):
    assert program_case.words({"dir": "p", "program": {"words": words, "cwd": cwd, "serve": serve}}) == want
