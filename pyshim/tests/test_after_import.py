"""Something is done once a module has been imported."""

import importlib.util
import sys
import zipfile

import pytest

from memshim.pretend import after_import


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that can be imported, and is not yet."""
    (tmp_path / "awaited.py").write_text("value = 1\n")
    (tmp_path / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    finders = [*sys.meta_path]
    yield "awaited"
    sys.meta_path[:] = finders
    for name in ("awaited", "other"):
        sys.modules.pop(name, None)


def test_it_is_done_once_after_the_module_has_run(module):
    before, seen = [*sys.meta_path], []
    after_import.After(module, lambda found: seen.append((found.value, sys.meta_path == before)))
    importlib.import_module("other")
    assert seen == []
    importlib.import_module(module)
    assert seen == [(1, True)]
    del sys.modules[module]
    importlib.import_module(module)
    assert len(seen) == 1


def test_a_module_that_is_only_looked_for_is_not_imported(module):
    seen = []
    after_import.After(module, seen.append)
    assert importlib.util.find_spec(module) and importlib.util.find_spec(module)
    assert seen == []
    importlib.import_module(module)
    assert len(seen) == 1


def test_another_module_of_the_same_loader_is_not_it(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as z:
        z.writestr("zipped.py", "")
        z.writestr("zipped_too.py", "")
    monkeypatch.syspath_prepend(tmp_path / "both.zip")
    seen = []
    after_import.After("zipped", lambda found: seen.append(found.__name__))
    assert importlib.util.find_spec("zipped")
    for name in ("zipped_too", "zipped"):
        importlib.import_module(name)
        del sys.modules[name]
    assert seen == ["zipped"]


def test_a_module_that_is_absent_is_absent(module):
    seen = []
    after_import.After("absent_module", seen.append)
    assert importlib.util.find_spec("absent_module") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("absent_module")
    assert seen == []


def test_a_module_that_is_imported_already(module):
    seen = []
    after_import.once_imported(module, lambda: seen.append("later"))
    assert seen == []
    importlib.import_module(module)
    after_import.once_imported(module, lambda: seen.append("now"))
    assert seen == ["later", "now"]
