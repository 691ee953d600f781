"""What is left out of a second run of the suite (unchanged.py), in a small checkout of the same shape."""

import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
import unchanged

CONFTEST = """
import unchanged
def pytest_configure(config):
    if unchanged.wanted(config):
        config.pluginmanager.register(unchanged.Unchanged(config))
"""


class Checkout:
    def __init__(self, folder, monkeypatch):
        self.root = folder / "checkout"
        self.write("pyshim/tests/conftest.py", CONFTEST)
        self.write("pyshim/tests/test_one.py", "def test_one(): pass\n")
        self.write("pyshim/tests/test_two.py", "from test_one import test_one\ndef test_two(): pass\n")
        self.write("pyshim/tests/pretend/test_three.py", "def test_three(): pass\n")
        self.write("pyshim/pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = ['tests']\n")
        shutil.copy(unchanged.__file__, self.root / "pyshim/tests/unchanged.py")
        self.write(".gitignore", ".cache/\n__pycache__/\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        for name in ("MEMSPEC_AGAIN", "MEMSPEC_SHARD"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("MEMSPEC_WHOLE", "1")

    def write(self, name, text):
        (path := self.root / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ran(self, *options):
        """The tests that ran, and pytest's exit code."""
        command = [sys.executable, "-m", "pytest", "-vp", "no:cacheprovider", *options, "pyshim/tests"]
        p = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        lines = [line for line in p.stdout.splitlines() if "PASSED" in line or line.startswith("FAILED")]
        return sorted(
            {name for name in ("one", "two", "three") if any(f"::test_{name}" in x for x in lines)}
        ), p.returncode


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    if not shutil.which("git"):
        pytest.skip("no git here")
    made = Checkout(tmp_path, monkeypatch)
    assert made.ran() == (["one", "three", "two"], 0)
    assert made.ran() == ([], 0), "nothing has changed"
    return made


@pytest.mark.parametrize(
    "name, text, again",
    [
        ("pyshim/tests/pretend/test_three.py", "def test_three(): assert True\n", ["three"]),
        ("pyshim/tests/test_one.py", "def test_one(): assert True\n", ["one", "two"]),  # which imports it
        ("pyshim/src/memshim/new.py", "", ["one", "three", "two"]),
        ("engine/engine_test.go", "package engine\n", []),
        ("../shared/corpus/new.pt", "", ["one", "three", "two"]),
    ],
)
def test_what_could_read_a_change_runs_again(checkout, name, text, again):
    checkout.write(name, text)
    assert checkout.ran() == (again, 0)


def test_what_failed_runs_again(checkout):
    checkout.write("pyshim/tests/test_two.py", "def test_two(): assert False\n")
    assert checkout.ran() == (["two"], 1)
    assert checkout.ran("-n", "2") == (["two"], 1)


@pytest.mark.parametrize("ended, noted", [(["one", "two"], True), (["one"], False)])
def test_a_file_of_which_a_part_ran_runs_again(tmp_path, monkeypatch, ended, noted):
    """A process that crashes takes the rest of the run with it, and pytest says that a test failed."""
    monkeypatch.setattr(unchanged, "PASSED", tmp_path)
    config = types.SimpleNamespace(rootpath=unchanged.TESTS.parent, workerinput={"left_out": []})
    run = unchanged.Unchanged(config)
    file = unchanged.FILES[0]
    run.states = {file: "as it was"}
    name = file.relative_to(config.rootpath).as_posix()
    run.pytest_xdist_node_collection_finished([f"{name}::{test}" for test in ("one", "two")])
    for test in ended:
        run.pytest_runtest_logreport(types.SimpleNamespace(nodeid=f"{name}::{test}", when="teardown", failed=False))
    run.pytest_sessionfinish(None, pytest.ExitCode.TESTS_FAILED)
    assert unchanged.note(file).exists() == noted


@pytest.mark.parametrize("variables", [{"MEMSPEC_AGAIN": "1"}, {"MEMSPEC_WHOLE": ""}, {"MEMSPEC_SHARD": "1/3"}])
def test_all_run_where_that_is_asked_for(checkout, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert checkout.ran() == (["one", "three", "two"], 0)


def test_a_file_that_is_skipped_whole_is_no_failure_of_a_later_run(checkout):
    checkout.write("pyshim/tests/test_four.py", "import pytest\npytest.skip('not here', allow_module_level=True)\n")
    assert checkout.ran() == ([], 0)
    shutil.rmtree(checkout.root / ".cache")
    assert checkout.ran("--ignore-glob=*/test_[ot]*") == ([], 5), "where nothing ran before there is nothing to test"


def test_a_run_of_some_tests_says_nothing_of_the_others(checkout):
    checkout.write("pyshim/src/memshim/new.py", "")
    assert checkout.ran("-k", "one") == (["one"], 0)
    assert checkout.ran() == (["one", "three", "two"], 0)


def test_another_variable_or_device_is_another_state(monkeypatch):
    before = [*unchanged.around()]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert {*unchanged.around()} - {*before} == {"CUDA_VISIBLE_DEVICES=7"}
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another")
    assert [*unchanged.around()].count("PYTEST_CURRENT_TEST=another") == 0
    assert any(line.startswith("pytest ") for line in before) and sys.version in before
    assert Path(unchanged.PASSED).parent.name == ".cache"
