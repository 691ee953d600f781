"""Files that appear whole or not at all, and folders of processes that are gone."""

import fcntl
import os
import stat
import time

import pytest

from memshim import files
from memshim.pretend import compiles


def test_a_file_is_written_whole_and_its_folder_is_made(tmp_path):
    path = files.write_whole(tmp_path / "a" / "b" / "c.rec", b"data")
    assert path.read_bytes() == b"data" and os.listdir(path.parent) == ["c.rec"]
    files.write_whole(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(
    "error, raised", [(OSError(28, "No space left"), OSError), (KeyboardInterrupt(), BaseException)]
)
def test_nothing_half_written_is_left(tmp_path, monkeypatch, error, raised):
    path = tmp_path / "a.rec"
    path.write_bytes(b"old")

    def replace(*_):
        raise error

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(raised) as e:
        files.write_whole(path, b"new")
    assert type(e.value) is type(error) and path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.rec"]
    if raised is OSError:
        assert (e.value.errno, e.value.filename) == (28, str(path))


def test_what_can_be_written_stays_as_it_is(tmp_path):
    path = tmp_path / "a.rec"
    files.check_writable(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"old")
    files.check_writable(path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.rec"]
    os.mkfifo(tmp_path / "pipe")
    files.check_writable(tmp_path / "pipe")
    files.check_writable("/dev/null")
    for wrong, code in ((tmp_path, 21), (tmp_path / "absent" / "a.rec", 2)):
        with pytest.raises(OSError) as e:
            files.check_writable(wrong)
        assert (e.value.errno, e.value.filename) == (code, str(wrong))


def test_only_a_regular_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"data")
    with files.open_regular(tmp_path / "a") as f:
        assert f.read() == b"data"
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match="Not a regular file"):
            files.open_regular(wrong)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_folder_lasts_as_long_as_it_is_used(temporary):
    with files.temporary_folder("memshim-x-") as made:
        assert made.parent == temporary and made.name.startswith("memshim-x-")
        with files.temporary_folder("memshim-x-") as other:
            assert made.is_dir() and other != made, "it is locked"
    assert os.listdir(temporary) == []


def folder(within, name, lock=True, age=0):
    made = within / name
    made.mkdir()
    (made / "big").write_bytes(b"data")
    if lock:
        (made / files.LOCK).touch()
    os.utime(made, (time.time() - age,) * 2)
    return made


def test_folders_of_processes_that_are_gone_are_removed(tmp_path):
    folder(tmp_path, "process-gone")
    folder(tmp_path, "process-old", lock=False, age=3660)
    kept = {folder(tmp_path, "process-new", lock=False, age=3570), folder(tmp_path, "other")}
    held = folder(tmp_path, "process-held")
    with open(held / files.LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        files.remove_dead(tmp_path, "process-")
        assert {*tmp_path.iterdir()} == kept | {held}
    files.remove_dead(tmp_path, "process-")
    assert {*tmp_path.iterdir()} == kept


def test_a_link_to_a_folder_stays(tmp_path):
    (tmp_path / "within").mkdir()
    target = folder(tmp_path, "target")
    os.symlink(target, tmp_path / "within" / "process-link")
    files.remove_dead(tmp_path / "within", "process-")
    assert (target / "big").exists() and (tmp_path / "within" / "process-link").is_symlink()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiles, "_own", {})
    registered = []
    monkeypatch.setattr(compiles.atexit, "register", lambda *a: registered.append(a))
    within = tmp_path / "memshim" / compiles.FOLDER
    within.mkdir(parents=True)
    yield within, registered
    for _, lock in compiles._own.values():
        lock.close()


def test_what_a_process_compiles_goes_with_it(cache):
    within, registered = cache
    folder(within, "process-gone")
    made = compiles.folder()
    assert compiles.folder() == made and [str(f) for f in within.iterdir()] == [made]
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o700
    files.remove_dead(within, compiles.PREFIX)
    assert os.path.isdir(made), "it is held"
    ((act, *arguments),) = registered
    act(arguments[0], os.getpid() + 1)
    assert os.path.isdir(made), "of a process that was forked"
    act(*arguments)
    assert not os.path.isdir(made)


def test_a_package_that_was_compiled_stays(cache):
    made = compiles.folder()
    (compiles.Path(made) / "inner").mkdir()
    (compiles.Path(made) / "inner" / "model.pt2").touch()
    compiles.remove_own()
    assert os.path.isdir(made)
    (compiles.Path(made) / "inner" / "model.pt2").unlink()
    compiles.remove_own()
    assert not os.path.isdir(made)


def test_a_process_that_compiled_nothing_has_nothing_to_remove(cache):
    compiles.remove_own()
    assert not cache[1]


def test_inductor_makes_its_folders_in_the_processs(cache, tmp_path, monkeypatch):
    utils = type("utils", (), {})
    compiles.watch(utils)
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    assert os.path.dirname(utils.tempfile.mkdtemp(dir=str(cache[0]), prefix="x")) == compiles.folder()
    assert os.path.dirname(utils.tempfile.mkdtemp(dir=tmp_path)) == str(tmp_path)
    monkeypatch.setenv("TORCH_LOGS", "+dynamo,output_code")
    assert os.path.dirname(utils.tempfile.mkdtemp("s", "p", str(cache[0]))) == str(cache[0])
    assert utils.tempfile.gettempdir() == compiles.tempfile.gettempdir()


def test_a_folder_that_another_run_takes_for_a_dead_ones_is_made_again(tmp_path, monkeypatch):
    """Between making its lock and holding it."""
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    flock, removed = fcntl.flock, []

    def late(lock, how):
        if how == fcntl.LOCK_EX and not removed:
            removed.extend(tmp_path.iterdir())
            monkeypatch.setattr(fcntl, "flock", flock)
            files.remove_dead(tmp_path, "run-")
        flock(lock, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with files.temporary_folder("run-") as folder:
        assert os.listdir(folder) == [files.LOCK] and [*tmp_path.iterdir()] == [folder] != removed
        files.remove_dead(tmp_path, "run-")
        assert folder.is_dir(), "its lock is held"
    assert not [*tmp_path.iterdir()]
