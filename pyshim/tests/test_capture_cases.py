"""memshim capture of a memspec.yaml: each case with a source is recorded where memspec check finds
it, and stale ones are recorded again."""

import subprocess
import sys

import pretended
import pytest
import warm
from captured import capture as memshim
from captured import decode
from captured import memshim as command

from memshim import binary
from memshim.case import capture

pytest.importorskip("torch")

ZOO = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 10)
        self.blocks = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x.mean((2, 3)))

def net():
    return Net()

def with_inputs():
    return nn.Linear(64, 32), [torch.zeros(128, 64)]

def raises():
    raise ValueError("no such weights")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if why := pretended.missing():
        pytest.skip(why)
    path = tmp_path_factory.mktemp("cases")
    (path / "zoo.py").write_text(ZOO)
    return path


SPEC = """
version: 1
defaults: {device: t4}
models:
  net:
    source: zoo.py:net
    mode: training
    optimizer: {name: Adam, fused: true}
    loss: sum
    inputs: {x: "float32[B,3,34,34]"}
    cases:
      - dims: {B: [4, 8]}
        budget: {allocated: 32MiB}
  plain:
    source: zoo.py:net
    inputs: {x: "float32[2,3,34,34]"}
    budget: {allocated: 8MiB}
"""


NOTHING_HEAVY = """
import sys
from memshim import __main__, binary
from memshim.case import process

def started(*a, **kw):
    raise AssertionError(f"a process of a case was started: {a}")

process._start = started
assert __main__.main(["capture", "memspec.yaml"]) == 0
assert __main__.main(["check"]) == 0
assert not {"torch", "numpy"} & set(sys.modules)
"""


def test_cases_with_a_source_alone(folder):
    """Captured into .memspec, many in one interpreter; predicted from there without Python; stale
    when the source changes."""
    (folder / "memspec.yaml").write_text(SPEC)
    said = binary.call("check", str(folder / "memspec.yaml"))
    assert said.code == 3 and "python -m memshim capture" in said.out, "not captured yet"
    p = warm.run([sys.executable, "-m", "memshim", "capture", "memspec.yaml"], cwd=folder)
    assert p.returncode == 0, p.stderr
    files = sorted(f.name for f in (folder / ".memspec").iterdir())
    assert len(files) == 3 and all(f.endswith(".rec") for f in files) and len(p.stdout.splitlines()) == 3
    said = binary.call("check", str(folder / "memspec.yaml"))
    assert said.code == 0 and said.out.splitlines()[-1] == "3 cases: 3 pass", said.out + said.err
    header, events = decode(next(f for f in (folder / ".memspec").iterdir() if f.name.startswith("net-")))
    assert header["training"]["arguments"] == {"fused": True} and any(
        e["category"] == "optimizer_state" for e in events
    )
    (folder / "zoo.py").write_text(ZOO.replace("for _ in range(2)", "for _ in range(3)"))
    said = binary.call("check", str(folder / "memspec.yaml"))
    assert said.code == 3 and "zoo.py" in said.out, said.out
    p = memshim(folder, "memspec.yaml", "--case", "plain")
    assert p.returncode == 0 and len(p.stdout.splitlines()) == 1
    said = binary.call("check", str(folder / "memspec.yaml"), "--case", "plain")
    assert said.code == 0, said.out
    times = {f: f.stat().st_mtime_ns for f in (folder / ".memspec").iterdir()}
    p = command(folder, "check")
    assert p.returncode == 0 and p.stdout.splitlines()[-1] == "3 cases: 3 pass", (
        "what is stale is captured as it is needed" + p.stdout + p.stderr
    )
    changed = {f.name.partition("-")[0] for f, t in times.items() if f.stat().st_mtime_ns != t}
    assert changed == {"net"}, "and what is fresh is not"
    p = subprocess.run([sys.executable, "-c", NOTHING_HEAVY], cwd=folder, capture_output=True, text=True)
    assert p.returncode == 0 and p.stdout.splitlines()[-1] == "3 cases: 3 pass", (
        "no case is run and compared with itself" + p.stdout + p.stderr
    )
    assert [line.partition(" (")[0].rpartition(" is ")[2] for line in p.stdout.splitlines()[:3]] == ["up to date"] * 3
    (folder / "zoo.py").write_text(ZOO)


def test_a_source_as_a_module(folder, tmp_path):
    """source: package.module:NAME of memspec.yaml: found below its folder, with what it imports,
    and stale when that changes."""
    package = tmp_path / "nets"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text("from torch import nn\n\n\ndef layer():\n    return nn.Linear(64, 64)\n")
    (package / "net.py").write_text("from .layers import layer\n\n\ndef build():\n    return layer()\n")
    spec = "{source: 'nets.net:build', device: t4, inputs: {input: 'float32[8,64]'}, budget: {allocated: 1GiB}}"
    (tmp_path / "memspec.yaml").write_text(f"version: 1\nmodels:\n  net: {spec}\n")
    p = memshim(tmp_path, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    header, _ = decode(next((tmp_path / ".memspec").iterdir()))
    assert {f["path"] for f in header["made"]["files"]} >= {
        "../nets/__init__.py",
        "../nets/layers.py",
        "../nets/net.py",
    }
    assert binary.call("check", str(tmp_path / "memspec.yaml")).code == 0
    (package / "layers.py").write_text("from torch import nn\n\n\ndef layer():\n    return nn.Linear(64, 640)\n")
    said = binary.call("check", str(tmp_path / "memspec.yaml"))
    assert said.code == 3 and "layers.py" in said.out, said.out + said.err


def test_a_case_on_another_card_once(folder, tmp_path):
    """--on beside a memspec.yaml records the case on another card, where memspec check --device
    finds it."""
    (tmp_path / "zoo.py").write_text(ZOO)
    (tmp_path / "memspec.yaml").write_text(
        "version: 1\nmodels:\n  lin: {source: 'zoo.py:with_inputs', device: [t4, l4], budget: {allocated: 1GiB}}\n"
    )
    spec = str(tmp_path / "memspec.yaml")
    said = binary.call("check", spec, "--device", "a10g", columns=1000)
    assert (
        said.code == 3
        and "capture" in said.out
        and said.out.splitlines()[0].endswith("--case 'lin[device=t4]' --on a10g")
    ), said.out
    p = memshim(tmp_path, "memspec.yaml", "--case", "lin[device=t4]", "--on", "a10g")
    assert p.returncode == 0, p.stderr
    written = list((tmp_path / ".memspec").iterdir())
    assert [decode(f)[0]["device"]["name"] for f in written] == ["NVIDIA A10G"]
    assert binary.call("check", spec, "--device", "a10g").code == 0
    p = memshim(tmp_path, "memspec.yaml", "--input", "float32[1]")
    assert p.returncode == 2 and p.stderr == (
        "memshim capture: got --input beside a memspec.yaml, want none: the cases say how they run "
        "(--on DEVICE records them on another card)\n"
    )
    p = memshim(tmp_path, "memspec.yaml", "--on", "a10g", "--on", "t4")
    assert p.returncode == 2 and "want it once" in p.stderr


@pytest.mark.parametrize("option", [("--case", "a"), ("--shard", "1/2"), ("--jobs", "2")])
def test_an_option_of_cases_beside_a_source(option, capsys):
    with pytest.raises(SystemExit) as e:
        capture.main(["zoo.py:net", *option, "-o", "x.rec"])
    want = f"got {option[0]} beside zoo.py:net, want it beside a memspec.yaml\n"
    assert e.value.code == 2 and capsys.readouterr().err.endswith(want)


def test_a_case_that_fails_does_not_stop_the_others(folder):
    (folder / "memspec.yaml").write_text(SPEC.replace("zoo.py:net\n    inputs", "zoo.py:raises\n    inputs"))
    p = memshim(folder, "memspec.yaml")
    line = 1 + ZOO.splitlines().index('    raise ValueError("no such weights")')
    assert p.returncode == 2 and len(p.stdout.splitlines()) == 2
    assert p.stderr == f"memshim capture: plain: ValueError: no such weights (zoo.py:{line})\n"


PARTS = """
version: 1
defaults: {device: t4}
models:
  plain:
    source: zoo.py:net
    inputs: {x: "float32[B,3,34,34]"}
    cases:
      - dims: {B: [1, 2, 3]}
        budget: {allocated: 32MiB}
"""


def test_parts_make_together_what_one_run_makes(folder, tmp_path):
    """--jobs changes nothing either."""
    (tmp_path / "zoo.py").write_text(ZOO)
    (tmp_path / "memspec.yaml").write_text(PARTS)
    made = tmp_path / ".memspec"
    parts, said = [], []
    for part in ("1/2", "2/2"):
        p = memshim(tmp_path, "memspec.yaml", "--shard", part, "--jobs", "2")
        assert p.returncode == 0, p.stderr
        said.append(p.stdout)
        parts.append({f.name: f.read_bytes() for f in made.iterdir()} if made.exists() else {})
        for f in made.iterdir() if made.exists() else ():
            f.unlink()
    assert not parts[0].keys() & parts[1].keys()
    assert all(len(p) == len(s.splitlines()) or "no case to capture" in s for p, s in zip(parts, said))
    p = memshim(tmp_path, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    assert {f.name: f.read_bytes() for f in made.iterdir()} == parts[0] | parts[1]
    assert command(tmp_path, "check", "memspec.yaml").returncode == 0
    p = memshim(tmp_path, "memspec.yaml", "--shard", "3/2")
    assert p.returncode == 2 and '--shard: got "3/2", want a part of several such as 2/8' in p.stderr
