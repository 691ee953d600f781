"""Cases run for real, on CPU tensors.

One test starts the fresh process that a measurement is (PyTorch takes seconds to import); what is said between the two processes is tested on
either side: the process's side here in this one, ours with a stand-in for Python.
"""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from memshim import cases
from memshim.run import measure, record
from memshim.run.build import BuildError

jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("torch")

SCHEMA = json.loads(record.SCHEMA_FILE.read_text())
WEIGHTS = 4 * (8 * 3 * 9 + 8 + 4 * 8 + 8 * 14 * 14 * 10 + 10) + 8  # conv, batch norm with its counter, linear
INPUT = 4 * 2 * 3 * 16 * 16
MAP = 4 * 2 * 8 * 14 * 14


@pytest.fixture
def case(project):
    return cases.load("memspec.yaml", ["small"])[0]


def test_a_fresh_process(case, project, monkeypatch):
    """All of a record, and that the case alone decides the environment that PyTorch reads when it starts."""
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0")
    with (project / "zoo.py").open("a") as f:
        f.write("""
import json, os, sys
names = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG")
json.dump([os.getpid(), {k: os.environ.get(k) for k in names}], open("seen.json", "w"))
sys.stdout.buffer.write(b"\\xff bytes that are no text\\n")
""")
    got = measure.measure(case | {"alloc_conf": "max_split_size_mb:64"}, "cpu")
    pid, environment = json.loads((project / "seen.json").read_text())
    assert pid != os.getpid()
    assert environment == {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "PYTORCH_ALLOC_CONF": None, "CUBLAS_WORKSPACE_CONFIG": None}
    assert got["alloc_conf"] == "max_split_size_mb:64"
    the_record_is_right(got)
    path = record.write(got, project / "out")
    assert path.name == "small.eager.cpu.json"
    assert record.read(path) == got


def test_a_record(case):
    the_record_is_right(json.loads(record.dump(measure.run(case, "cpu"))))


def the_record_is_right(got):
    jsonschema.validate(got, SCHEMA)
    assert (got["case"], got["runtime"], got["where"], got["built"]) == ("small", "eager", "cpu", "source")
    assert got["weights"] == WEIGHTS
    base, first, steady = got["phases"]
    assert base["requested"] == WEIGHTS + INPUT
    assert first["requested"] == steady["requested"] == WEIGHTS + INPUT + 2 * MAP, "the convolution's result lives while batch norm makes its own"
    assert {p[m] for p in got["phases"] for m in record.METRICS if m != "requested"} == {None}, "a CPU has no allocator's numbers"
    events = got["events"]
    assert [e["op"] for e in events[: base["events"]]] == ["parameter"] * 4 + ["buffer"] * 3 + ["parameter"] * 2 + ["input"]
    assert [(e["action"], e.get("op", "")) for e in events[base["events"]:first["events"]]] == [
        ("alloc", "aten.convolution.default"), ("alloc", "aten.native_batch_norm.default"), ("free_completed", ""),
        ("alloc", "aten.relu.default"), ("free_completed", ""), ("alloc", "aten.addmm.default"), ("free_completed", "")]
    frames = [got["frames"][i] for i in got["stacks"][events[base["events"]]["stack"]]]
    assert {"file": "zoo.py", "line": 11, "function": "forward"} in frames, "the user's own line, from the project's folder"
    assert not any("memshim" in f["file"] for f in got["frames"])


def test_the_schema_keeps_cpu_and_cuda_apart(case):
    got = json.loads(record.dump(measure.run(case, "cpu")))
    for change in ({"where": "cuda"}, {"context": 5}, {"phases": [got["phases"][0] | {"allocated": 5}]}, {"case": None}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(got | change, SCHEMA)


@pytest.mark.parametrize("change, kind, error", [
    ({"source": ""}, BuildError, "runtime eager is measured on the live model: give source:"),
    ({"source": "zoo.py:absent"}, BuildError, "zoo.py: got no absent"),
    ({"source": "gone.py:net"}, BuildError, "gone.py: no such file"),
    ({"source": "zoo.py:number"}, BuildError, "number gives int, want a torch.nn.Module"),
    ({"source": "zoo.py:broken"}, ValueError, "this model never works"),
    ({"runtime": "torchscript", "source": ""}, BuildError, "net.pt is stripped"),
    ({"mode": "training"}, BuildError, "a training step is not measured yet"),
])
def test_what_cannot_be_measured_says_why(case, change, kind, error):
    with pytest.raises(kind) as e:
        measure.run(case | change, "cpu")
    assert error in str(e.value)


# How a model fails in its process: what is said last, and the status.
ENDS = """
import os, sys, threading, time
def raises(): raise KeyError("no such")
def exits(): sys.exit(0)
class Says(torch.nn.Module):
    def forward(self, x): sys.exit("bye")
class Interrupts(torch.nn.Module):
    def forward(self, x): raise KeyboardInterrupt
class Deep(torch.nn.Module):
    def forward(self, x): return self.forward(x)
"""


@pytest.mark.parametrize("change, where, status, said", [
    ({"source": "zoo.py:absent"}, "cpu", measure.USAGE, "zoo.py: got no absent"),
    ({"inputs": ["x=float32[2,"]}, "cpu", measure.USAGE, "input 'float32[2,'"),
    ({}, "cuda", measure.UNSURE, "a GPU is required, and PyTorch finds none here"),
    ({"source": "zoo.py:broken"}, "cpu", measure.FAILED, "ValueError: this model never works (zoo.py:22)"),
    ({"source": "zoo.py:raises"}, "cpu", measure.FAILED, "KeyError: 'no such' (zoo.py:29)"),
    ({"source": "zoo.py:exits"}, "cpu", measure.FAILED, "SystemExit: 0 (zoo.py:30)"),
    ({"source": "zoo.py:Says"}, "cpu", measure.FAILED, "SystemExit: bye (zoo.py:32)"),
    ({"source": "zoo.py:Interrupts"}, "cpu", measure.FAILED, "KeyboardInterrupt: no text (zoo.py:34)"),
    ({"source": "zoo.py:Deep"}, "cpu", measure.FAILED, "RecursionError: maximum recursion depth exceeded"),
    ({"inputs": ["y=float32[2,3,16,16]"]}, "cpu", measure.FAILED, "TypeError: Net.forward() got an unexpected keyword argument 'y'"),
    ({"source": "gone.py:x"}, "cpu", measure.USAGE, "gone.py: no such file"),
    ({"source": "bad.py:x"}, "cpu", measure.FAILED, "SyntaxError: "),
    ({"source": "needs.py:x"}, "cpu", measure.FAILED, "ModuleNotFoundError: No module named 'not_to_be_found' (needs.py:1)"),
])
def test_how_the_process_ends(case, project, monkeypatch, capsys, change, where, status, said):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with (project / "zoo.py").open("a") as f:
        f.write(ENDS)
    (project / "bad.py").write_text("def f(:\n")
    (project / "needs.py").write_text("import not_to_be_found\n")
    (project / "request.json").write_text(json.dumps(case | change))
    environment = dict(os.environ)
    try:
        assert measure.main(["--request", "request.json", "--output", "record.json", "--where", where]) == status
    finally:
        os.environ.clear()
        os.environ.update(environment)
    out = capsys.readouterr()
    assert out.out == ""
    last = out.err.splitlines()[-1]
    assert last.startswith("memshim: ") and said in last
    assert not (project / "record.json").exists()


def test_no_torch(case, project, monkeypatch, capsys):
    def missing(*a):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(measure, "run", missing)
    (project / "request.json").write_text(json.dumps(case))
    monkeypatch.setattr(measure, "_apply", lambda case: None)
    assert measure.main(["--request", "request.json", "--output", "record.json"]) == measure.NO_TORCH
    assert capsys.readouterr().err == f"memshim: {measure.TORCH_MISSING}\n"


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Makes a script of the shell the Python that measurements are started with. $out is where the record goes."""

    def write(body):
        path = tmp_path / "python"
        path.write_text('#!/bin/sh\nout=; prev=; for a in "$@"; do [ "$prev" != --output ] || out=$a; prev=$a; done\n' + body + "\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return write


@pytest.mark.parametrize("body, kind, error", [
    ("echo 'memshim: zoo.py: got no absent' >&2; exit 2", measure.MeasureError, "zoo.py: got no absent"),
    ("echo 'memshim: a GPU is required' >&2; exit 3", measure.NoGPU, "a GPU is required"),
    ("echo Traceback >&2; echo 'memshim: ValueError: no' >&2; exit 1", measure.ModelError, "ValueError: no"),
    ("echo 'memshim: got no torch' >&2; exit 4", measure.NoTorch, "got no torch"),
    ("kill -9 $$", measure.ModelError, "the process ended by signal 9"),
    ("printf '\\377\\376' >&2; exit 9", measure.ModelError, "\ufffd\ufffd"),
    ("exit 9", measure.ModelError, "the process ended with 9"),
    ("exit 0", measure.ModelError, "the process ended without a record, as after os._exit(0)"),
])
def test_what_the_process_could_not_do_is_typed(python, body, kind, error):
    python(body)
    with pytest.raises(measure.MeasureError) as e:
        measure.measure({"name": "x"}, "cpu")
    assert (type(e.value), str(e.value)) == (kind, error)


def ends(pid: int) -> bool:
    """A process that was told to end is gone, or waits for its parent, after a moment."""
    for _ in range(1000):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def wait_for(path) -> int:
    for _ in range(500):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
def test_a_model_that_hangs_is_ended_with_all_that_it_started(python, tmp_path):
    python(f"sleep 600 & echo $! >'{tmp_path}/pid'; wait")
    with pytest.raises(measure.ModelError, match=r"^not done after 0\.3 s$"):
        measure.measure({"name": "x"}, "cpu", timeout=0.3)
    assert ends(wait_for(tmp_path / "pid"))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
def test_an_interrupt_ends_the_process_too(python, tmp_path, monkeypatch, capsys):
    """Ctrl-C, which reaches us alone: the process has a session of its own."""
    from memshim.__main__ import main

    python(f"sleep 600 & echo $! >'{tmp_path}/pid'; wait")

    def interrupted(*a, **kw):
        wait_for(tmp_path / "pid")
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    monkeypatch.setattr(cases, "load", lambda *a: [{"name": "small"}])
    assert main(["measure", "--case", "small", "--where", "cpu"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "memshim: interrupted"
    assert ends(wait_for(tmp_path / "pid"))


def test_threads_that_a_model_leaves_do_not_keep_the_process(case, project, monkeypatch):
    """os._exit is caught here: it would end this process."""
    ended, stop = [], threading.Event()
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(measure, "_answered", lambda a: threading.Thread(target=stop.wait).start() or 0)
    measure.main(["--request", "-", "--output", "record.json"])
    stop.set()
    assert ended == [0]


@pytest.mark.parametrize("runtime, how", [("torchscript", "source, scripted"), ("export", "source, exported")])
def test_runtimes(case, runtime, how):
    got = measure.run(case | {"runtime": runtime}, "cpu")
    jsonschema.validate(json.loads(record.dump(got)), SCHEMA)
    assert (got["runtime"], got["built"]) == (runtime, how)
    assert got["weights"] == WEIGHTS
    assert got["phases"][1]["requested"] == WEIGHTS + INPUT + 2 * MAP


def test_dtype_and_grad(case):
    got = measure.run(case | {"dtype": "float16", "grad": "inference_mode"}, "cpu")
    assert got["weights"] == (WEIGHTS - 8) // 2 + 8, "the counter of batch norm stays int64"
    assert got["phases"][0]["requested"] == got["weights"] + INPUT // 2


def test_autocast(case):
    got = measure.run(case | {"autocast": "bfloat16"}, "cpu")
    assert got["weights"] == WEIGHTS
    assert {e["size"] for e in got["events"] if e.get("op") == "aten.convolution.default"} == {MAP // 2}


def test_inputs_that_stay_on_the_host_and_nested_ones(case, project):
    (project / "zoo.py").write_text("import torch\nclass N(torch.nn.Module):\n    def forward(self, a, b): return a['k'][0] + b.sum()\nn = N()\n")
    got = measure.run(case | {"source": "zoo.py:n", "inputs": ["{k: [float32[4]]}", "b=int64[3] cpu"]}, "cpu")
    assert got["phases"][0]["requested"] == 16 + 24


@pytest.mark.parametrize("case_name, gpu, want", [
    ("resnet50[B=8]", "NVIDIA A100-SXM4-80GB", "resnet50[B=8].eager.nvidia-a100-sxm4-80gb.json"),
    ("too big/../x", "Tesla T4", "too big%2F..%2Fx.eager.tesla-t4.json"),
    ("too big%2F..%2Fx", "Tesla T4", "too big%252F..%252Fx.eager.tesla-t4.json"),
    (".x", "Tesla T4", "%2Ex.eager.tesla-t4.json"),
    ("n" * 300, "", "n" * 140 + "~230b07749.eager.cpu.json"),
])
def test_file_names(case_name, gpu, want):
    assert record.file_name({"case": case_name, "runtime": "eager", "device": {"name": gpu}}) == want


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
def test_a_measurement_ends_with_whoever_asked_for_it(tmp_path):
    """Also where that one is killed. A stand-in hangs in the place of PyTorch."""
    (tmp_path / "torch.py").write_text(f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    case = {"name": "x", "alloc_conf": "", "cublas_workspace": "", "flags": {"deterministic": False}}
    code = f"from memshim import measure\nmeasure.measure({case!r}, 'cpu')"
    asking = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"},
                              stderr=subprocess.DEVNULL)
    request = wait_for(tmp_path / "pid")
    asking.kill()
    asking.wait()
    assert ends(request)


@pytest.fixture
def here(monkeypatch):
    """Measures in this process."""
    monkeypatch.setattr(measure, "measure", lambda case, where, timeout=0, stacks="all": json.loads(record.dump(measure.run(case, where, stacks))))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)


def test_the_command(project, capsys, here):
    assert measure.main(["--case", "net*", "--where", "cpu", "-o", "records"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [x for x in said if x.startswith("records")] == ["records/net[B=1].eager.cpu.json", "records/net[B=8].eager.cpu.json"]
    assert measure.main(["--case", "nothing"]) == 2
    assert 'got no case "nothing"' in capsys.readouterr().err
    assert measure.main(["--case", "small", "--where", "cuda"]) == 3
    assert "memshim: small: a GPU is required" in capsys.readouterr().err


def test_a_folder_that_cannot_be_is_told_before_anything_is_run(project, capsys, monkeypatch):
    from memshim.__main__ import main

    monkeypatch.setattr(measure, "measure", None)
    for command in (["measure", "-o", "zoo.py"], ["check", "--measure", "--case", "net*", "-o", "zoo.py"]):
        assert main(command) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("memshim: FileExistsError: ")
    with pytest.raises(SystemExit) as e:
        main(["measure", "--timeout", "-1"])
    assert e.value.code == 2 and "argument --timeout: invalid seconds value: '-1'" in capsys.readouterr().err


@pytest.mark.parametrize("errors, code", [([measure.NoGPU], 3), ([measure.NoGPU, measure.ModelError], 2), ([measure.MeasureError, measure.NoGPU], 2), ([None], 0)])
def test_the_exit_code_of_many(project, monkeypatch, capsys, case, errors, code):
    told = iter(errors)

    def one(*a):
        e = next(told)
        if e:
            raise e("why")
        return {"case": "x", "runtime": "eager", "device": {"name": "cpu"}}

    monkeypatch.setattr(cases, "load", lambda *a: [case] * len(errors))
    monkeypatch.setattr(measure, "measure", one)
    assert measure.main([]) == code
    assert capsys.readouterr().err.count("memshim: small: why\n") == sum(e is not None for e in errors)


def test_the_case_decides_the_environment():
    case = {"cublas_workspace": "", "alloc_conf": "", "flags": {"deterministic": False}}
    assert measure.settings(case)["TORCH_CUDNN_V8_API_DISABLED"] is None, "not inherited"
    assert measure.settings(case)["CUBLAS_WORKSPACE_CONFIG"] is None
    case["flags"] = {"deterministic": True, "cudnn_v7": True}
    assert measure.settings(case)["TORCH_CUDNN_V8_API_DISABLED"] == "1"
    assert measure.settings(case)["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
