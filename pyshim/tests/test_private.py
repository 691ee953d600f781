"""Caches and locks are the user's alone, or are refused by name."""

import os
import subprocess
import sys

import pytest

from memshim import private
from memshim.case import request
from memshim.case.build import BuildError
from memshim.gpu import devices, where
from memshim.pretend import activate, build, compiles


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    return tmp_path / "cache" / "memshim"


def modes(path):
    return [os.stat(p).st_mode & 0o777 for p in (path.parent, path)]


def test_folders_are_made_for_this_user_alone(cache):
    before = os.umask(0)
    try:
        made = private.folder(cache / "pretend")
    finally:
        os.umask(before)
    assert modes(made) == [0o700, 0o700] and private.folder(made) == made


@pytest.mark.parametrize("which", ["", "pretend"])
def test_a_folder_that_others_may_write_to_is_refused_by_name(cache, which):
    private.folder(cache / "pretend")
    (cache / which).chmod(0o770)
    with pytest.raises(
        private.NotPrivate, match=f"{cache / which}: got mode 770, want one that this user alone may write to"
    ):
        private.folder(cache / "pretend")


def test_a_folder_of_another_user_is_refused_by_name(cache, monkeypatch):
    private.folder(cache)
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(
        private.NotPrivate, match=f"{cache}: got a folder or file of user {os.geteuid()}, want one of this user's own"
    ):
        private.folder(cache)


def test_a_library_that_others_could_have_put_there_is_not_loaded(cache, monkeypatch, tmp_path):
    """A folder of mode 777 with a file of the library's name."""
    monkeypatch.setattr(build, "PREBUILT", tmp_path / "none")
    monkeypatch.setattr(build, "cache", lambda: cache / "pretend")
    planted = private.folder(cache / "pretend") / build.key()
    planted.mkdir()
    for name in (build.LIBRARY, build.NVML):
        (planted / name).write_text("code")
    planted.chmod(0o777)
    with pytest.raises(build.BuildError, match=f"{planted}: got mode 777"):
        build.library()


def test_folders_of_compiled_code_are_refused_too(cache):
    assert activate.caches({"XDG_CACHE_HOME": str(cache.parent)})["TRITON_CACHE_DIR"] == str(cache / "triton-pretend")
    assert modes(cache / compiles.FOLDER) == [0o700, 0o700]
    (cache / "triton-pretend").chmod(0o702)
    with pytest.raises(build.BuildError, match="triton-pretend: got mode 702"):
        activate.caches({"XDG_CACHE_HOME": str(cache.parent)})


def test_a_lock_keeps_what_it_opens(tmp_path):
    kept = tmp_path / "lock"
    kept.write_text("kept")
    os.close(private.lock_file(kept))
    assert kept.read_text() == "kept"
    (tmp_path / "link").symlink_to(kept)
    with pytest.raises(private.NotPrivate, match="link: got a link, want a file of this user's own to lock"):
        private.lock_file(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(private.NotPrivate, match="pipe: got a pipe"):
        private.lock_file(tmp_path / "pipe")
    kept.chmod(0o666)
    with pytest.raises(private.NotPrivate, match="lock: got mode 666"):
        private.lock_file(kept)


def test_the_lock_of_a_measurement_is_in_a_folder_of_the_users(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(where, "pretended", lambda: False)
    monkeypatch.setattr(devices, "hinted", lambda: True)
    for folder in (cache, tmp_path / "session" / "memshim"):
        with request.alone("cuda"):
            p = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    f"import fcntl; fcntl.flock(open('{folder}/gpu.lock'), fcntl.LOCK_EX | fcntl.LOCK_NB)",
                ],
                capture_output=True,
                text=True,
            )
            assert "BlockingIOError" in p.stderr
        (tmp_path / "session").mkdir(exist_ok=True)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "session"))
    (tmp_path / "session" / "memshim" / "gpu.lock").unlink()
    (tmp_path / "session" / "memshim" / "gpu.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(BuildError, match="gpu.lock: got a link"), request.alone("cuda"):
        pass
    assert not (tmp_path / "victim").exists()


def test_a_lock_that_is_refused_is_not_kept_open(tmp_path):
    shared = tmp_path / "lock"
    shared.touch()
    shared.chmod(0o666)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(private.NotPrivate, match=f"{shared}: got mode 666"):
        private.lock_file(shared)
    assert os.listdir("/proc/self/fd") == before
