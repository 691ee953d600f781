"""A command that is forked from a process with torch loaded is what a fresh one is."""

import json
import os
import subprocess
import sys

import pretended
import pytest
import warm

pytest.importorskip("torch")

STATE = """
import importlib.util, inspect, json, os, sys
before = [n for n in sys.modules if n.partition(".")[0] in ("torch", "numpy", "sympy", "memshim", "triton")]
found = importlib.util.find_spec("torch").origin
import numpy, typing_extensions
alone = "torch" in sys.modules
import torch
loaded = sorted(n for n in sys.modules if n.partition(".")[0] in ("torch", "numpy", "sympy", "triton"))
import torch.multiprocessing
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(2))])  # imports torch._dynamo
after = sorted(n for n in sys.modules if n.partition(".")[0] in ("torch", "sympy", "triton"))
names = [n for n in after if n in sys.modules and sys.modules[n].__spec__ is None]
print(json.dumps({
    "before": before, "alone": alone, "found": found, "loaded": loaded, "after": after, "names": names,
    "argv": sys.argv,
    "path": sys.path, "orig": sys.orig_argv, "main": [__name__, globals().get("__file__")],
    "environment": dict(os.environ),
    "folder": os.getcwd(), "stdin": sys.stdin.read(), "stack": [f.function for f in inspect.stack()][:1],
    "spawn": str(type(torch.multiprocessing.spawn)), "gpu": torch.cuda.is_available(),
    "dynamo": sorted(vars(torch._dynamo))}))
"""
ENDS = {
    "a program's status": "import sys; sys.exit(7)",
    "words are printed": "import sys; sys.exit('no such file')",
    "nothing": "import atexit; atexit.register(print, 'last')",
    "an exception": "def f():\n    raise ValueError('x')\nf()",
    "a signal": "import os; os.kill(os.getpid(), 15)",
    "no leave": "import os; print('lost'); os._exit(3)",
    "an interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)",
}


def fresh(command, cwd, env=None, text=""):
    return subprocess.run(command, cwd=cwd, env=env, input=text, capture_output=True, text=True, timeout=300)


@pytest.fixture
def environment():
    if why := pretended.missing():
        pytest.skip(why)
    return pretended.environment("t4")


def test_the_state_of_a_program(tmp_path, environment):
    """Its arguments, search path, modules and what each import brings."""
    (tmp_path / "state.py").write_text(STATE)
    command = [sys.executable, "state.py", "--a", "b"]
    found = warm.run(command, tmp_path, environment, "typed")
    assert found.returncode == 0, found.stderr
    expected = json.loads(fresh(command, tmp_path, environment, "typed").stdout)
    assert {k: v for k, v in json.loads(found.stdout).items() if v != expected[k]} == {}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_the_end_of_a_program(tmp_path, environment, code):
    command = [sys.executable, "-c", code]
    found, expected = (run(command, tmp_path, environment) for run in (warm.run, fresh))
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_a_program_takes_too_long(tmp_path, environment):
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, environment, timeout=0.2)
    p = warm.run([sys.executable, "-c", "print(1)"], tmp_path, environment)
    assert p.stdout == "1\n", "the next is run"


def test_what_a_forked_program_cannot_have(tmp_path, environment):
    """A variable that is read when torch is loaded, and an option of Python's: a process is started."""
    parent = "import os; print(os.getppid())"
    command = [sys.executable, "-c", parent]
    variable = warm.run(command, tmp_path, environment | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    option = warm.run([sys.executable, "-I", "-c", parent], tmp_path, environment)
    assert variable.stdout == option.stdout == f"{os.getpid()}\n"
    assert warm.run(command, tmp_path, environment).stdout != f"{os.getpid()}\n"
