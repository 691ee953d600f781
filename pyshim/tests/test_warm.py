"""A command that is forked from a process with torch loaded is what a fresh one is."""

import json
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


def test_a_variable_of_one_test_is_none_of_the_process_that_forks(monkeypatch):
    monkeypatch.setenv("TORCH_OF_THIS_TEST", "1")
    warm.fixed.cache_clear()
    fixed = warm.fixed(False)
    warm.fixed.cache_clear()
    assert "TORCH_OF_THIS_TEST" not in fixed and "TORCH_OF_THIS_TEST" in warm.early(warm.os.environ)


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


LOADED = "print('libtorch_cpu' in open('/proc/self/maps').read(), flush=True)"


def test_what_a_forked_program_cannot_have(tmp_path, environment):
    """A variable that is read when torch is loaded, and an option of Python's: a process is started."""
    command = [sys.executable, "-c", LOADED]
    variable = warm.run(command, tmp_path, environment | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    option = warm.run([sys.executable, "-I", "-c", LOADED], tmp_path, environment)
    assert variable.stdout == option.stdout == "False\n"
    assert warm.run(command, tmp_path, environment).stdout == "True\n"


def test_a_module_is_named_with_its_option_or_behind_it(tmp_path, environment):
    (tmp_path / "shows.py").write_text(f"import sys\n{LOADED}\nprint(sys.argv[1:], sys.orig_argv[1:])")
    for words in (["-mshows", "a"], ["-m", "shows", "a"]):
        p = warm.run([sys.executable, *words], tmp_path, environment)
        assert p.stdout == f"True\n['a'] {words}\n", p.stderr


@pytest.mark.parametrize("threads", ["1", "3"])
def test_inductor_has_as_many_threads_as_the_environment_says(tmp_path, environment, threads):
    """With one it starts no process to compile in."""
    code = "import torch._dynamo, torch._inductor.config as c; print(c.compile_threads)"
    variables = environment | {"TORCHINDUCTOR_COMPILE_THREADS": threads}
    p = warm.run([sys.executable, "-c", code], tmp_path, variables)
    assert p.stdout == f"{threads}\n", p.stderr


def test_whoever_waits_for_a_module_of_torchs_hears_of_its_import(tmp_path, environment):
    code = """
from memshim.pretend.after_import import After
for name in ("torch.nn.functional", "torch._dynamo.utils"):
    After(name, lambda module: print(module.__name__))
import torch
print(torch.__name__)
import torch._dynamo
"""
    p = warm.run([sys.executable, "-c", code], tmp_path, environment)
    assert p.stdout == "torch.nn.functional\ntorch\ntorch._dynamo.utils\n", p.stderr


STARTS = f"""
import os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
def start(i):
    return subprocess.run([sys.executable, "-c", {LOADED!r}], stdout=subprocess.PIPE).stdout
with ThreadPoolExecutor(3) as pool:
    print(set(pool.map(start, range(6))))
"""


def test_programs_that_a_program_starts_are_forked_too(tmp_path, environment):
    """Several at a time, as from threads."""
    p = warm.run([sys.executable, "-c", STARTS], tmp_path, environment)
    assert p.stdout == "{b'True\\n'}\n", p.stderr


PLACES = """
import os, subprocess, sys
child = '''
import os, sys, torch
print(os.getppid() == int(sys.argv[1]), os.getpgrp() == int(sys.argv[2]), os.getsid(0) == int(sys.argv[3]),
      torch.get_num_threads(), sys.stdout.errors, sys.path[0], sys.flags.safe_path)
os._exit(5)
'''
for session in (False, True):
    words = [sys.executable, "-u", "-c", child, *map(str, (os.getpid(), os.getpgrp(), os.getsid(0)))]
    environ = os.environ | {"OMP_NUM_THREADS": "1", "TORCHELASTIC_RUN_ID": "a", "PYTHONIOENCODING": "ascii:replace"}
    print(subprocess.run(words, env=environ, start_new_session=session).returncode, flush=True)
"""


def test_the_place_of_a_program_that_a_program_starts(tmp_path, environment):
    """Its parent, group and session, and variables that torchrun sets."""
    command = [sys.executable, "-c", PLACES]
    found, expected = (run(command, tmp_path, environment) for run in (warm.run, fresh))
    assert (found.stdout, found.returncode) == (expected.stdout, 0), found.stderr


SPAWNS = """
import multiprocessing
def child(queue):
    queue.put('libtorch_cpu' in open('/proc/self/maps').read())
if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    p = spawn.Process(target=child, args=(queue,))
    p.start()
    print(queue.get(), flush=True)
    p.join()
    print(p.exitcode, flush=True)
"""


def test_processes_that_multiprocessing_spawns_are_forked_too(tmp_path, environment):
    (tmp_path / "spawns.py").write_text(SPAWNS)
    p = warm.run([sys.executable, "spawns.py"], tmp_path, environment)
    assert p.stdout == "True\n0\n", p.stderr


def test_programs_of_this_process_are_forked_where_that_is_asked_for(tmp_path, environment):
    def loaded():
        return fresh([sys.executable, "-c", LOADED], tmp_path, environment).stdout

    with warm.programs():
        assert loaded() == "True\n"
    assert loaded() == "False\n"
