"""What compiles leave on a disk: nothing, once their process is gone."""

import importlib.util
import os
import subprocess
import sys

import pytest

from memshim.pretend import build, compiles

MAKES = """
import os, sys
from memshim.pretend import build, compiles
class Utils: pass
compiles.watch(Utils)
os.makedirs(compiles.base() / compiles.FOLDER, exist_ok=True)
made = Utils.tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else str(compiles.base() / compiles.FOLDER))
open(os.path.join(made, "kernel.py"), "w").close()
print(made, flush=True)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # PyTorch sets the second itself when it compiles, as another test may have
    for name in ("TORCH_LOGS", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "memshim" / compiles.FOLDER


def makes(code="", *args, **environ):
    p = subprocess.Popen(
        [sys.executable, "-c", MAKES + code, *args],
        env=os.environ | environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return p, p.stdout.readline().strip()


@pytest.mark.parametrize(
    ("why", "code"),
    [
        ("it ends", ""),
        ("it fails", "raise SystemExit(3)"),
        ("it ends at once, as a case that was forked off does", "from memshim.case import request\nrequest.leave(0)"),
        ("a child of it ends first", "\nif not os.fork(): sys.exit()\nos.wait()\nassert os.path.exists(made)"),
    ],
)
def test_what_a_process_compiled_goes_with_it(home, why, code):
    p, made = makes(code)
    p.communicate()
    assert made.startswith(str(home / compiles.PREFIX)), why
    assert p.returncode == (3 if "fails" in why else 0)
    assert list(home.iterdir()) == [], why


def test_of_a_process_that_was_killed_a_later_one_removes_it(home):
    killed, _ = makes("sys.stdin.read()")
    waits, alive = makes("sys.stdin.read()")
    killed.kill()
    killed.communicate()
    assert len(list(home.iterdir())) == 2
    makes()[0].communicate()
    assert [str(p) for p in home.iterdir()] == [os.path.dirname(alive)], "that of a process that is there stays"
    waits.communicate()
    assert list(home.iterdir()) == []


def test_one_without_a_lock_stays_while_it_may_have_just_been_made(home):
    fresh, old = home / f"{compiles.PREFIX}fresh", home / f"{compiles.PREFIX}old"
    for p in (fresh, old):
        p.mkdir(parents=True)
    os.utime(old, (0, 0))
    makes()[0].communicate()
    assert list(home.iterdir()) == [fresh]


def test_what_a_user_may_want_stays(home, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    for why, p in {
        "a folder that TORCHINDUCTOR_CACHE_DIR names": makes("", str(own)),
        "code whose place the log has": makes("", TORCH_LOGS="+dynamo,output_code"),
        "a package": makes("open(os.path.join(made, 'net.pt2'), 'w').close()"),
    }.items():
        p[0].communicate()
        assert os.path.exists(os.path.join(p[1], "kernel.py")), why


COMPILES = """
import os
import torch
net = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).cuda())
with torch.no_grad():
    net(torch.randn(4, 8, device="cuda"))
folder = os.path.join(os.environ["XDG_CACHE_HOME"], "memshim", "inductor-pretend")
assert any(name.endswith(".py") for _, _, names in os.walk(folder) for name in names), "its code"
"""


def test_a_compile_leaves_nothing(home, tmp_path):
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    try:
        build.compiler()  # Triton builds its launchers
    except build.BuildError as e:
        pytest.skip(str(e))
    (tmp_path / "program.py").write_text(COMPILES)
    p = subprocess.run(
        [sys.executable, "-m", "memshim", "run", "--on", "t4", "--", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert p.returncode == 0, p.stderr
    assert list(home.iterdir()) == []
