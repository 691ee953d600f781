"""What the tests share: the binary, a small model with a memspec.yaml, and pytester with the
plugin."""

import gc
import importlib.metadata
import os
import re
from pathlib import Path

import pretended
import pytest
import unchanged
import warm

import memshim
from memshim import binary

pytest_plugins = ["pytester"]
collect_ignore = [] if os.environ.get(pretended.MARK) else ["gpu"]  # test_gpu.py runs them

# Processes that tests start use the same memshim.
STARTUP = str(Path(__file__).parent / "startup")
os.environ["PYTHONPATH"] = os.pathsep.join(
    p for p in (STARTUP, str(Path(memshim.__file__).parents[1]), os.environ.get("PYTHONPATH", "")) if p
)

# Why a test may be left out of `make test`, which sets MEMSPEC_WHOLE: everything else that a test
# skips for fails there, so that a pretend GPU or a binary which cannot be had is no pass.
MAY_SKIP = re.compile(
    "|".join(
        (
            "this is such a process",  # gpu/ runs in its own processes
            "recorded with torch",  # of a release that make test-pretend tries
            "the torch here (has them|is not of CUDA)",
            "((is|are) not beside this checkout|recordings are not here)$",  # the corpus
            "no snapshots of real GPUs here",
            "cuDNN .* is not installed",
            "has no entries of",
            "only root gives files to another user",
            "vLLM is not installed: make test-serve installs it",
            "no (clang|sanitizers) here",  # gcc is asked for
            r"no g\+\+ here",  # AOTInductor's compiler
        )
    )
)

ZOO = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Linear(1568, 10)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(x.flatten(1))


def net():
    print("a model may print")
    return Net()


class Broken(torch.nn.Module):
    def forward(self, x):
        raise ValueError("this model never works")


broken = Broken()
number = 7
"""

SPEC = """
version: 1
defaults: {device: none, runtime: eager}
models:
  net:
    source: zoo.py:net
    artifact: net.pt
    inputs: {x: "float32[B,3,16,16]"}
    cases:
      - dims: {B: [1, 8]}
        budget: {allocated: 1MiB, reserved: 2MiB}
      - dims: {B: 2}
        name: small
        budget: {allocated: 64KiB}
      - dims: {B: 4}
        name: warned
        budget: {allocated: 64KiB}
        level: warn
"""


def checked(report):
    """The same report, failed where `make test` may not skip for its reason."""
    if (
        os.environ.get("MEMSPEC_WHOLE")
        and report.skipped
        and not hasattr(report, "wasxfail")
        and isinstance(report.longrepr, tuple)
    ):
        why = report.longrepr[2].removeprefix("Skipped: ")
        if not MAY_SKIP.search(why):
            report.outcome, report.longrepr = "failed", f"skipped though MEMSPEC_WHOLE is set: {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return checked((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return checked((yield))


# Of several processes of pytest-xdist's each takes a file at a time, since a file's tests share
# what was made for them; of these files a test at a time.
APART = {"test_gpu.py", "test_run.py", "test_run_libraries.py", "test_workspace_answers.py"}
# What takes long is begun early, so that no process ends long after the others.
LONGEST = (
    "test_pretend_compiled.py",
    "test_gpu.py",
    "test_pretend_oracle.py",
    "test_pretend_truth.py",
    "test_pretend_iterations.py",
    "test_capture_experts.py",
    "test_pretend_ends.py",
    "test_pretend_values.py",
    "test_pretend_native.py",
    "test_run_libraries.py",
    "test_run.py",
    "test_measure.py",
    "test_storages.py",
    "test_capture.py",
    "test_capture_cases.py",
    "test_capture_generation.py",
    "test_advise.py",
    "test_search.py",
    "test_pretend_features.py",
)


def pytest_configure(config):
    if unchanged.wanted(config):
        config.pluginmanager.register(unchanged.Unchanged(config))


def pytest_collection_modifyitems(config, items):
    if shard := os.environ.get("MEMSPEC_SHARD"):
        keep_shard(config, items, *map(int, shard.split("/")))
    if hasattr(config, "workerinput"):  # one of several processes: what takes longest begins first
        at = {name: i for i, name in enumerate(LONGEST)}
        items.sort(key=lambda item: at.get(item.path.name, len(at)))


def keep_shard(config, items, number, of):
    """Keep the tests of one shard: whole files, except those of APART, whose tests are spread one
    by one."""
    units = sorted({unit(i.nodeid) for i in items})
    mine = {u for k, u in enumerate(units) if k % of == number - 1}
    config.hook.pytest_deselected(items=[i for i in items if unit(i.nodeid) not in mine])
    items[:] = [i for i in items if unit(i.nodeid) in mine]


def unit(nodeid):
    """What one process runs as a whole: a file, or one test of the files in APART."""
    file = nodeid.partition("::")[0]
    return nodeid if Path(file).name in APART else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return unit(nodeid)

    config.option.loadscopereorder = False  # as they are sorted above
    return ByFile(config, log)


def pytest_collection_finish():
    """What is there now, some 400,000 objects of PyTorch's, is there to the end: the collector,
    which many tests run, need not look at it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def found_binary():
    """The binary, found or built once."""
    try:
        found = binary.find()
    except binary.BinaryError as e:
        pytest.skip(str(e))
    os.environ["MEMSPEC"] = os.path.abspath(found)
    return found


@pytest.fixture
def forked_programs():
    """Python programs that this process starts are forked (warm.py)."""
    with warm.programs():
        yield


@pytest.fixture
def pretend_gpu():
    """A pretend GPU can be had here; else the test is skipped."""
    if why := pretended.missing():
        pytest.skip(why)


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """Net, scripted and stripped."""
    # pytester takes away what is imported for the first time in it, which this cannot bear
    pytest.importorskip("torch._dynamo")
    from memshim.case.build import load_source
    from memshim.exporting.command import export

    folder = tmp_path_factory.mktemp("zoo")
    (folder / "zoo.py").write_text(ZOO)
    return export(load_source("zoo.py:net", str(folder)), folder / "net.pt", strip=True)


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    """A folder with the module's ZOO as zoo.py."""
    path = tmp_path_factory.mktemp("folder")
    (path / "zoo.py").write_text(request.module.ZOO)
    return path


@pytest.fixture
def project(tmp_path, monkeypatch, archive):
    """A folder with zoo.py, its archive and a memspec.yaml, and the working directory."""
    (tmp_path / "zoo.py").write_text(ZOO)
    (tmp_path / "memspec.yaml").write_text(SPEC)
    (tmp_path / "net.pt").write_bytes(archive.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_pytest(pytester, archive):
    """Runs pytest in a separate folder, with the plugin however it is installed, and gives the
    result."""
    pytester.makefile(".yaml", memspec=SPEC)
    (pytester.path / "net.pt").write_bytes(archive.read_bytes())
    pytester.makepyfile(zoo=ZOO)
    installed = any(e.name == "memshim" for e in importlib.metadata.entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "memshim.judge.plugin")

    def run(*arguments, fork=False):
        return (pytester.runpytest_subprocess if fork else pytester.runpytest_inprocess)(*plugin, *arguments)

    run.path = pytester.path
    run.makepyfile, run.makeconftest, run.makeini = pytester.makepyfile, pytester.makeconftest, pytester.makeini
    return run
