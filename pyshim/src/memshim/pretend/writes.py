"""A pretend run harms nothing: the tensors that it would save hold no computed values, so that a
file which no pretend run wrote is never changed by one. New files are listed in the report.

Python's own writes are seen by an audit hook; PyTorch's and safetensors' writers open files in C++
and Rust, and are wrapped, and numpy.savetxt, whose files have any name. From the first use of CUDA
on this counts for files that hold tensors by their name, and for whatever those writers are given.
The standard library alone is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

ALLOW = "MEMSPEC_ALLOW_WRITES"  # 1: files may be changed
OFFLINE = {
    "WANDB_MODE": "offline",
    "COMET_START_ONLINE": "0",
    "MLFLOW_TRACKING_URI": "file:./mlruns",
    "SWANLAB_MODE": "offline",
}
SUFFIXES = tuple(
    ".pt .pth .pt2 .bin .ckpt .safetensors .distcp .gguf .onnx .tar .npy .npz .h5 .hdf5 .mat .pkl .pickle "
    ".joblib".split()
)
MOST = 100_000  # files that are remembered of earlier runs


class NotWritten(PermissionError):
    """A file that holds values, in which a pretend run would put none."""

    def __init__(self, path: str, what: str = "save over"):
        super().__init__(
            f"memshim: got a pretend run that would {what} {path}, which no pretend run wrote: its tensors hold no "
            f"computed values; "
            "--allow-writes lets it, --sandbox keeps the folder as it is"
        )


class Guard:
    """Of this process."""

    def __init__(self, book: str):
        self.book = book
        self.ours: set[str] = set()  # files that this run wrote
        self.new: list[str] = []  # of these, those that were not there before
        self._before: dict[str, list[int]] | None = None
        self._asking = threading.local()  # a thread that asks opens files itself
        self._began = time.time()

    # What is asked before a file changes.

    def write(self, path: Any) -> None:
        """A file is about to be written, from its start or elsewhere."""
        name = self._name(path)
        if name is None or name in self.ours:
            return
        if os.path.lexists(name):
            if not self._earlier(name):
                raise NotWritten(name)
        else:
            self.new.append(name)
        self.ours.add(name)

    def move(self, source: Any, target: Any) -> None:
        """A file or a folder takes a name."""
        old, new = self._name(source), self._name(target)
        if old is None or new is None:
            return
        moved = {n for n in self.ours if n == old or n.startswith(old + os.sep)}
        if os.path.isfile(new) and new not in self.ours and (moved or is_tensors(new)) and not self._earlier(new):
            raise NotWritten(new, "replace")
        if not moved and is_tensors(new) and not is_tensors(old) and self._written_since(old):
            if not os.path.lexists(new):
                self.new.append(new)
            self.ours.add(new)
        for name in moved:
            to = new + name[len(old) :]
            self.ours.discard(name)
            self.ours.add(to)
            if name in self.new:
                self.new[self.new.index(name)] = to
            elif not os.path.lexists(to):
                self.new.append(to)

    def _written_since(self, name: str) -> bool:
        """Whether a file was written since this run began: a library's temporary file, which takes
        its name when it is whole."""
        try:
            return os.path.isfile(name) and os.stat(name).st_mtime >= self._began
        except OSError:
            return False

    def remove(self, path: Any) -> None:
        """A file, or a folder with all in it, goes."""
        name = self._name(path)
        if name is None:
            return
        names = (
            [os.path.join(at, f) for at, _, files in os.walk(name) for f in files] if os.path.isdir(name) else [name]
        )
        for each in names:
            if is_tensors(each) and os.path.isfile(each) and each not in self.ours and not self._earlier(each):
                raise NotWritten(each, "remove")

    def _name(self, path: Any) -> str | None:
        try:
            return os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError):
            return None  # a descriptor, a stream

    # What earlier pretend runs wrote, as they left it: the same size and time.

    def _earlier(self, name: str) -> bool:
        if self._before is None:
            self._before = read_book(self.book)
        with contextlib.suppress(OSError):
            return self._before.get(name) == stamp(name)
        return False

    def close(self) -> None:
        """Remember what this run wrote."""
        left = {}
        for name in self.ours:
            with contextlib.suppress(OSError):
                left[name] = stamp(name)
        if left:
            all_of_them = {**read_book(self.book), **left}
            keep = dict(list(all_of_them.items())[-MOST:])
            with contextlib.suppress(OSError):
                folder = os.path.dirname(self.book)
                os.makedirs(folder, mode=0o700, exist_ok=True)
                with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as f:
                    json.dump(keep, f)
                os.replace(f.name, self.book)

    def listed(self) -> list[dict[str, Any]]:
        """The new files that are there: {path, bytes}."""
        out = []
        for name in sorted(set(self.new)):
            with contextlib.suppress(OSError):
                out.append({"path": name, "bytes": os.stat(name).st_size})
        return out

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Python's audit events."""
        if event not in EVENTS or hasattr(self._asking, "event") or not computes():
            return
        self._asking.event = event
        try:
            EVENTS[event](self, arguments)
        finally:
            del self._asking.event


def _opened(guard: Guard, arguments: tuple[Any, ...]) -> None:
    path, _, flags = arguments
    if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) and is_tensors(path):
        guard.write(path)


EVENTS: dict[str, Callable[[Guard, tuple[Any, ...]], None]] = {
    "open": _opened,
    "os.rename": lambda guard, a: guard.move(a[0], a[1]),
    "os.remove": lambda guard, a: guard.remove(a[0]) if a[1] in (-1, None) else None,
    "shutil.rmtree": lambda guard, a: guard.remove(a[0]),
    "os.truncate": lambda guard, a: guard.write(a[0]) if is_tensors(a[0]) else None,
}


def is_tensors(path: Any) -> bool:
    """Whether a file holds tensors, by its name."""
    with contextlib.suppress(TypeError, ValueError):
        return os.fsdecode(path).lower().endswith(SUFFIXES)
    return False


def stamp(name: str) -> list[int]:
    found = os.stat(name)
    return [found.st_size, found.st_mtime_ns]


def read_book(path: str) -> dict[str, list[int]]:
    try:
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def computes() -> bool:
    """Whether this process has used the pretend GPU: before that, what it saves are values of the
    host."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda is not None and getattr(cuda, "is_initialized", lambda: False)()


def book() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "memshim", "written.json")


_guard: Guard | None = None


def guard() -> Guard | None:
    return _guard


def watch(after: Callable[[str, Callable[[Any], None]], Any]) -> None:
    """From here on. torch is imported; after(module, act) does something once another module is."""
    global _guard
    if os.environ.get(ALLOW) or _guard is not None:
        return
    from memshim.pretend import library

    _guard = kept = Guard(book())
    library.hear(EVENTS, kept.hear)
    atexit.register(kept.close)
    torch = sys.modules["torch"]
    _wrap(torch.serialization._open_zipfile_writer_file, "__init__", 1)
    _wrap(torch.jit, "save", 1)

    def there(name: str, act: Callable[[Any], None]) -> None:
        act(sys.modules[name]) if name in sys.modules else after(name, act)

    there("safetensors", lambda module: _wrap(module, "serialize_file", 1))
    there("numpy", lambda module: _wrap(module, "savetxt", 0))
    after("huggingface_hub", keep_local)


def _wrap(owner: Any, name: str, place: int) -> None:
    """Ask before a writer that opens its file beside Python; place: of the file among its
    arguments."""
    write = getattr(owner, name)

    @functools.wraps(write)
    def asked(*arguments: Any, **keywords: Any) -> Any:
        named = (keywords[k] for k in ("filename", "f", "name", "fname") if k in keywords)
        file = arguments[place] if len(arguments) > place else next(named, None)
        if _guard is not None and isinstance(file, (str, bytes, os.PathLike)) and computes():
            _guard.write(file)
        return write(*arguments, **keywords)

    setattr(owner, name, asked)


UPLOADS = ("create_commit", "create_repo", "upload_file", "upload_folder", "upload_large_folder")
uploads: list[str] = []  # that were kept back


def keep_local(hub: Any) -> None:
    """Nothing is pushed to the Hub."""
    api = importlib.import_module("huggingface_hub.hf_api")

    def held(name: str) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
            repository = str(keywords.get("repo_id") or next((a for a in arguments if isinstance(a, str)), ""))
            uploads.append(f"{name} {repository}".strip())
            if name == "create_repo":
                found: Any = api.RepoUrl(
                    f"https://huggingface.co/{repository if '/' in repository else 'pretend/' + repository}"
                )
            else:
                found = api.CommitInfo(
                    commit_url=f"https://huggingface.co/{repository}/commit/pretend",
                    commit_message="",
                    commit_description="",
                    oid="pretend",
                )
            if keywords.get("run_as_future"):
                from concurrent.futures import Future

                future: Any = Future()
                future.set_result(found)
                return future
            return found

        return call

    for name in UPLOADS:
        if not hasattr(api.HfApi, name):
            continue
        setattr(api.HfApi, name, held(name))
        bound = getattr(api.api, name)
        for module in (api, hub):  # each has the default client's method by name
            if name in vars(module):
                setattr(module, name, bound)
