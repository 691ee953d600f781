"""Whose code a line is, wherever that code lies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from memshim.frames import Frame, Stacks, compiled, inside, shorten

torch = pytest.importorskip("torch")
TORCH = str(Path(torch.__file__).parent)


@pytest.mark.parametrize(
    "file, want",
    [
        (f"{TORCH}/nn/modules/conv.py", True),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/conv.py", True),
        ("/v/site-packages/torchvision/models/resnet.py", False),
        ("/v/dist-packages/torch_geometric/nn.py", False),
        ("/home/u/torch/train.py", False),
        ("/home/u/site-packages.py", False),
        (os.__file__, True),
        (subprocess.__file__, True),
        (pytest.__file__, False),
        ("<frozen importlib._bootstrap>", True),
        ("<eval_with_key>.3", True),
        ("<stdin>", False),
        ("<python-input-4>", False),
        ("<ipython-input-3-abc>", False),
        ("/tmp/ipykernel_77/123.py", False),
    ],
)
def test_whose_code_it_is(file, want):
    assert inside(file) is want


def test_a_text_is_the_users_where_python_was_given_it(monkeypatch):
    for arguments, want in ((["python", "-c", "pass"], False), (["python", "x.py"], True)):
        monkeypatch.setattr(sys, "orig_argv", arguments)
        monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
        inside.cache_clear()
        assert inside("<string>") is want, "else it is what a library generates"
    inside.cache_clear()


@pytest.mark.parametrize(
    "file, want",
    [
        ("/x/libtorch_cpu.so", True),
        ("/x/libpython3.11.so.1.0", True),
        ("/usr/bin/python3.11", True),
        ("../aten/src/ATen/Native.cpp", True),
        ("/home/u/train.py", False),
        ("/home/u/bin/train", False),
        ("<stdin>", False),
        ("/home/u/so.py", False),
    ],
)
def test_whether_a_frame_is_compiled(file, want):
    assert compiled(file) is want


def test_the_line_of_a_stack():
    s = Stacks()
    n = s.add(
        [(f"{TORCH}/nn/modules/conv.py", 5, "f"), ("/v/site-packages/vision/net.py", 6, "g"), ("/home/u/x.py", 7, "h")]
    )
    assert s.line(n) == Frame("/v/site-packages/vision/net.py", 6, "g"), "the innermost outside PyTorch"
    assert s.line(n, every=True).line == 5
    assert s.line(s.add([(f"{TORCH}/a.py", 1, "f")])).line == 1, "PyTorch's own where there is no other"
    assert s.line(s.add([("libtorch.so", 77, "at::empty")])) is None
    assert s.line(-1) is None and s.add([]) == -1
    assert (
        str(Frame("/v/site-packages/vision/net.py", 6, "g"))
        == str(Frame("/v/dist-packages/vision/net.py", 6, "g"))
        == "vision/net.py:6 (g)"
    )
    assert shorten("<stdin>") == "<stdin>"


CODE = "import torch, memshim\nwith memshim.trace():\n    x = torch.nn.functional.relu(torch.zeros(1000))\n"


@pytest.mark.parametrize("how", ["-c", "stdin", "module", "dist-packages"])
def test_code_from_anywhere_has_its_line(how, tmp_path):
    arguments, text, where = [], None, ""
    environment = dict(os.environ)
    if how == "-c":
        arguments, where = ["-c", CODE], "<string>:3 (<module>)"
    elif how == "stdin":
        text, where = CODE, "<stdin>:3 (<module>)"
    elif how == "module":
        (tmp_path / "program").write_text(CODE)
        arguments, where = [str(tmp_path / "program")], f"{tmp_path}/program:3 (<module>)"
    else:  # where Debian, Colab and NVIDIA's containers keep it
        (tmp_path / "dist-packages").mkdir()
        (tmp_path / "dist-packages" / "torch").symlink_to(TORCH)
        (tmp_path / "p.py").write_text(CODE)
        arguments, where = [str(tmp_path / "p.py")], f"{tmp_path}/p.py:3 (<module>)"
        environment["PYTHONPATH"] = f"{tmp_path}/dist-packages{os.pathsep}{environment['PYTHONPATH']}"
    started = [sys.executable, *arguments]
    if how in ("stdin", "dist-packages"):  # a program that is forked has neither
        p = subprocess.run(started, input=text, capture_output=True, text=True, env=environment)
    else:
        p = warm.run(started, env=environment)
    assert p.returncode == 0, p.stderr
    lines = [line for line in p.stdout.splitlines() if "3.9 KiB" in line or "7.8 KiB" in line]
    assert lines and all(where in line for line in lines if "untraced" not in line), p.stdout


def test_what_inductor_generates_is_no_users_code(tmp_path, monkeypatch):
    import tempfile

    inside.cache_clear()
    assert inside(f"{tempfile.gettempdir()}/torchinductor_me/ab/cxyz.py")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    inside.cache_clear()
    assert inside(f"{tmp_path}/ab/cxyz.py")
    inside.cache_clear()


@pytest.mark.parametrize(
    "frames, line, innermost",
    [
        ([("/x/at.cpp", 0, "at::add"), ("/u/net.py", 3, "forward")], 3, 3),
        ([("/u/net.py", 0, "<lambda>"), ("/u/net.py", 7, "forward")], 7, 7),
        ([(f"{TORCH}/nn/functional.py", 9, "relu"), ("/u/net.py", 5, "forward")], 5, 9),
        ([(f"{TORCH}/nn/functional.py", 9, "relu")], 9, 9),
        ([("/x/at.cpp", 0, "at::add")], None, None),
    ],
)
def test_a_frame_without_a_line_is_no_python_code(frames, line, innermost):
    stacks = Stacks()
    number = stacks.add(frames)
    for every, want in ((False, line), (True, innermost)):
        found = stacks.line(number, every)
        assert (found and found.line) == want
