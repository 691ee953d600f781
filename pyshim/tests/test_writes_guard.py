"""What a pretend run may write, by what it wrote before and what earlier ones left, file by file."""

import os
import sys
import types

import pytest

from memshim.pretend import writes


@pytest.fixture
def guard(tmp_path):
    return writes.Guard(str(tmp_path / "cache" / "written.json"))


def kept(folder, name, text="values"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_that_the_run_wrote_may_be_written_again(guard, tmp_path):
    guard.write(tmp_path / "new.pt")
    kept(tmp_path, "new.pt")
    guard.write(tmp_path / "new.pt")
    assert guard.listed() == [{"path": str(tmp_path / "new.pt"), "bytes": 6}]


def test_a_file_that_is_gone_again_is_not_listed(guard, tmp_path):
    guard.write(tmp_path / "gone.pt")
    guard.write(tmp_path / "a.pt")
    kept(tmp_path, "a.pt")
    assert [f["path"] for f in guard.listed()] == [str(tmp_path / "a.pt")]


def test_a_descriptor_has_no_name(guard):
    guard.write(3)
    guard.move(3, 4)
    guard.remove(3)
    assert not guard.ours


def test_what_an_earlier_run_left_as_it_is_may_be_written(guard, tmp_path):
    path = kept(tmp_path, "earlier.pt")
    guard.ours.add(str(path))
    guard.close()
    later = writes.Guard(guard.book)
    later.write(path)
    assert later.ours == {str(path)} and later.new == []


def test_what_changed_since_an_earlier_run_may_not(guard, tmp_path):
    path = kept(tmp_path, "earlier.pt")
    guard.ours.add(str(path))
    guard.close()
    kept(tmp_path, "earlier.pt", "other values")
    with pytest.raises(writes.NotWritten, match="would save over .*earlier.pt, which no pretend run wrote"):
        writes.Guard(guard.book).write(path)


def test_the_book_keeps_what_was_written_last(guard, tmp_path, monkeypatch):
    monkeypatch.setattr(writes, "MOST", 2)
    for name in ("a.pt", "b.pt", "c.pt"):
        run = writes.Guard(guard.book)
        run.ours.add(str(kept(tmp_path, name)))
        run.close()
    assert list(writes.read_book(guard.book)) == [str(tmp_path / "b.pt"), str(tmp_path / "c.pt")]
    assert os.stat(os.path.dirname(guard.book)).st_mode & 0o777 == 0o700


def test_a_run_that_left_nothing_writes_no_book(guard, tmp_path):
    guard.ours.add(str(tmp_path / "gone.pt"))
    guard.close()
    assert not os.path.exists(guard.book)


@pytest.mark.parametrize("text", ["[1]", "{", None])
def test_a_book_that_cannot_be_read_is_empty(tmp_path, text):
    if text:
        (tmp_path / "book").write_text(text)
    assert writes.read_book(str(tmp_path / "book")) == {}


def test_a_folder_that_takes_a_name_takes_its_files_along(guard, tmp_path):
    old = tmp_path / "part"
    old.mkdir()
    guard.write(old / "a.pt")
    guard.write(tmp_path / "partial.pt")  # begins as the folder does
    guard.move(old, tmp_path / "whole")
    assert guard.ours == {str(tmp_path / "whole" / "a.pt"), str(tmp_path / "partial.pt")}
    assert guard.new == [str(tmp_path / "whole" / "a.pt"), str(tmp_path / "partial.pt")]


def test_a_file_of_an_earlier_run_that_takes_a_free_name_is_new(guard, tmp_path):
    old = kept(tmp_path, "a.pt")
    guard.ours.add(str(old))
    guard.move(old, tmp_path / "b.pt")
    assert guard.new == [str(tmp_path / "b.pt")]


def test_a_file_that_takes_the_name_of_another_of_the_run_is_not_new(guard, tmp_path):
    old, to = kept(tmp_path, "a.pt"), kept(tmp_path, "b.pt")
    guard.ours |= {str(old), str(to)}
    guard.move(old, to)
    assert guard.new == [] and guard.ours == {str(to)}


def test_no_file_takes_the_place_of_one_that_no_pretend_run_wrote(guard, tmp_path):
    kept(tmp_path, "real.pt"), kept(tmp_path, "real.txt")
    guard.write(tmp_path / "part.tmp")
    for name in ("real.pt", "real.txt"):  # whatever its name, as it has tensors then
        with pytest.raises(writes.NotWritten, match=f"would replace .*{name}"):
            guard.move(tmp_path / "part.tmp", tmp_path / name)
    with pytest.raises(writes.NotWritten):
        guard.move(tmp_path / "other.tmp", tmp_path / "real.pt")
    guard.move(tmp_path / "other.tmp", tmp_path / "real.txt")  # of neither it is known that it has tensors


def test_a_file_of_the_run_may_be_replaced(guard, tmp_path):
    guard.write(tmp_path / "last.pt")
    kept(tmp_path, "last.pt")
    guard.move(tmp_path / "part.tmp", tmp_path / "last.pt")


def test_a_librarys_temporary_file_is_the_runs_when_it_takes_the_name_of_tensors(guard, tmp_path):
    guard._began = os.stat(kept(tmp_path, "part.tmp")).st_mtime
    guard.move(tmp_path / "part.tmp", tmp_path / "epoch.ckpt")
    assert guard.ours == {str(tmp_path / "epoch.ckpt")} and guard.new == [str(tmp_path / "epoch.ckpt")]


@pytest.mark.parametrize("source, target, later", [("a.tmp", "b.ckpt", 5), ("a.tmp", "b.txt", 0), ("a.pt", "b.pt", 0)])
def test_a_file_from_before_the_run_or_without_tensors_stays_what_it_was(guard, tmp_path, source, target, later):
    guard._began = os.stat(kept(tmp_path, source)).st_mtime + later
    guard.move(tmp_path / source, tmp_path / target)
    assert not guard.ours and not guard.new


def test_tensors_that_no_pretend_run_wrote_are_not_removed(guard, tmp_path):
    (tmp_path / "folder" / "in").mkdir(parents=True)
    for name in ("folder/in/real.pt", "real.bin"):
        kept(tmp_path, name)
    for what in ("folder", "real.bin"):
        with pytest.raises(writes.NotWritten, match="would remove .*real"):
            guard.remove(tmp_path / what)
    guard.remove(tmp_path / "absent.pt")
    guard.remove(kept(tmp_path, "log.txt"))
    guard.ours.add(str(tmp_path / "real.bin"))
    guard.remove(tmp_path / "real.bin")


@pytest.fixture
def used(monkeypatch):
    """Whether the pretend GPU was used already."""
    cuda = types.SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    return cuda


def test_before_the_gpu_is_used_everything_may_be_written(guard, tmp_path, used):
    real = str(kept(tmp_path, "real.pt"))
    used.is_initialized = lambda: False
    guard.hear("open", (real, "wb", os.O_WRONLY))
    used.is_initialized = lambda: True
    with pytest.raises(writes.NotWritten):
        guard.hear("open", (real, "wb", os.O_WRONLY))
    with pytest.raises(writes.NotWritten):  # the one before did not end as it should
        guard.hear("open", (real, "wb", os.O_RDWR))


@pytest.mark.parametrize(
    "event, refused",
    [
        (("open", ("real.pt", "rb", os.O_RDONLY)), False),
        (("open", ("real.txt", "wb", os.O_WRONLY)), False),
        (("open", ("real.pt", "wb", None)), False),
        (("os.rename", ("real.txt", "real.pt", -1, -1)), True),
        (("os.remove", ("real.pt", -1)), True),
        (("os.remove", ("real.pt", None)), True),
        (("os.remove", ("real.pt", 3)), False),  # below a folder that is open: its name is not known
        (("shutil.rmtree", (".", None)), True),
        (("os.truncate", ("real.pt", 0)), True),
        (("os.truncate", ("real.txt", 0)), False),
        (("os.mkdir", ("real.pt", 0o777, -1)), False),
    ],
    ids=str,
)
def test_of_pythons_events_those_that_change_tensors_are_refused(guard, tmp_path, monkeypatch, used, event, refused):
    monkeypatch.chdir(tmp_path)
    kept(tmp_path, "real.pt"), kept(tmp_path, "real.txt")
    try:
        guard.hear(*event)
    except writes.NotWritten:
        assert refused
    else:
        assert not refused


@pytest.mark.parametrize("name, holds", [("a.PT", True), (b"a.npz", True), ("a.txt", False), (None, False), (7, False)])
def test_a_name_says_whether_a_file_holds_tensors(name, holds):
    assert writes.is_tensors(name) is holds


@pytest.mark.parametrize(
    "arguments, keywords",
    [(("what", "real.pt"), {}), (("what",), {"filename": "real.pt"}), (("what",), {"f": "real.pt"})]
    + [((), {"what": 1, "fname": "real.pt"}), ((), {"name": "real.pt"})],
    ids=str,
)
def test_a_writer_beside_python_is_asked_for_its_file(guard, tmp_path, monkeypatch, used, arguments, keywords):
    monkeypatch.chdir(tmp_path)
    kept(tmp_path, "real.pt")
    wrote = []
    owner = types.SimpleNamespace(save=lambda *a, **k: wrote.append((a, k)) or "done")
    writes._wrap(owner, "save", 1)
    monkeypatch.setattr(writes, "_guard", None)
    assert owner.save(*arguments, **keywords) == "done" and wrote == [(arguments, keywords)]
    monkeypatch.setattr(writes, "_guard", guard)
    with pytest.raises(writes.NotWritten):
        owner.save(*arguments, **keywords)
    assert owner.save("what", object()) == "done"  # a stream
    used.is_initialized = lambda: False
    assert owner.save(*arguments, **keywords) == "done"


def test_the_book_lies_in_the_users_cache(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert writes.book() == "/cache/memshim/written.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert writes.book() == "/home/somebody/.cache/memshim/written.json"


def test_the_error_names_ways_out():
    assert "--allow-writes lets it, --sandbox keeps" in str(writes.NotWritten("a.pt"))


@pytest.fixture
def hub(monkeypatch):
    """A Hub's client, whose default methods the package has by name."""

    class HfApi:
        def create_repo(self, repo_id):
            raise AssertionError

        create_commit = upload_file = create_repo

    api = types.ModuleType("huggingface_hub.hf_api")
    api.HfApi, api.api = HfApi, HfApi()
    api.RepoUrl = lambda url: ("repository", url)
    api.CommitInfo = lambda **said: said
    api.create_repo, api.upload_file = api.api.create_repo, api.api.upload_file
    package = types.ModuleType("huggingface_hub")
    package.create_commit, package.hf_api = api.api.create_commit, api
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub.hf_api", api)
    monkeypatch.setattr(writes, "uploads", [])
    writes.keep_local(package)
    return package


def test_nothing_is_pushed_to_the_hub(hub):
    pushed = hub.create_commit("someone/model", operations=[])
    assert pushed == {
        "commit_url": "https://huggingface.co/someone/model/commit/pretend",
        "commit_message": "",
        "commit_description": "",
        "oid": "pretend",
    }
    assert hub.hf_api.upload_file(path_or_fileobj="a", repo_id="model")["oid"] == "pretend"
    assert hub.hf_api.HfApi().create_commit()["oid"] == "pretend"
    assert writes.uploads == ["create_commit someone/model", "upload_file model", "create_commit"]


def test_a_repository_that_is_not_made_has_an_owner(hub):
    assert hub.hf_api.create_repo("model") == ("repository", "https://huggingface.co/pretend/model")
    assert hub.hf_api.create_repo(repo_id="a/b") == ("repository", "https://huggingface.co/a/b")


def test_a_push_in_the_background_has_ended(hub):
    future = hub.create_commit("someone/model", run_as_future=True)
    assert future.result(0)["oid"] == "pretend"


def test_a_client_keeps_the_methods_that_it_lacks(hub):
    assert not hasattr(hub.hf_api.HfApi, "upload_folder") and not hasattr(hub, "create_repo")
