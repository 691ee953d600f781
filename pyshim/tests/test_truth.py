"""python -m truth: what makes the files of testdata."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "pyshim" / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path.insert(0, str(TOOLS))

from truth.__main__ import VERBS, table  # noqa: E402


def truth(*arguments):
    command = [sys.executable, "-m", "truth", *arguments]
    return subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, timeout=60)


def test_the_table_of_testdata_is_that_of_the_verbs():
    assert (ROOT / "testdata" / "README.md").read_text().endswith("\n" + table())


def test_every_tool_is_a_verb_or_read_by_one():
    """A file without a verb is imported by another file."""
    files = {f.relative_to(TOOLS / "truth").as_posix() for f in (TOOLS / "truth").rglob("*.py")}
    verbs = {v.file for v in VERBS.values()}
    assert verbs <= files
    texts = {f: (TOOLS / "truth" / f).read_text() for f in files}
    catalogs = {"record_small.py", "record_torchvision.py"}  # record_models imports them by --catalog
    for name in files - verbs - catalogs:
        if name.endswith("__init__.py") or name == "__main__.py":
            continue
        stem = Path(name).stem
        assert any(stem in text for other, text in texts.items() if other != name), f"nothing reads {name}"


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_verb_makes_exists(verb):
    for name in VERBS[verb].makes.removesuffix(", after memspec strip").split(", "):
        if not name.startswith("("):
            name = name.replace("DOMAIN", "*")
            assert list((ROOT / "testdata").glob(name)) or (ROOT / name).exists(), name


def test_an_unknown_verb_names_them():
    p = truth("no-such")
    assert p.returncode == 2 and p.stderr == "truth: got verb 'no-such', want one of these\n"
    assert "models [--check] [MODEL…]" in p.stdout


def test_a_verb_runs_with_its_arguments():
    p = truth("attention", "--help")
    assert p.returncode == 0 and "--every N" in p.stdout, p.stderr
