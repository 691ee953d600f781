"""What a run reads besides Python code: files, listings of folders, variables of the environment,
installed distributions.

Python's audit events report what Python opens; the loaders of NATIVE open files by themselves and
report here. Unseen are files that other native code opens, processes that the run starts, and
variables that are read all at once (dict(os.environ)).
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Mapping
from importlib import metadata
from types import FrameType
from typing import Any

from memshim.frames import OWN
from memshim.pretend.after_import import After

MOST = 100_000  # paths that are kept
SECRET = ("TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL")  # variables with such a word in their names are not kept
# Variables that belong to a machine, a user or a launcher, and those that memshim sets itself.
MACHINE = set(
    """
    HOME USER LOGNAME USERNAME PATH PWD OLDPWD SHELL TERM COLUMNS LINES LANG LANGUAGE TZ DISPLAY HOSTNAME TMPDIR TEMP
    TMP EDITOR PAGER CI NO_COLOR FORCE_COLOR VIRTUAL_ENV HF_HOME TORCH_HOME TRANSFORMERS_CACHE HF_HUB_OFFLINE RANK
    LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_NAME ROLE_WORLD_SIZE NODE_RANK
    MASTER_ADDR MASTER_PORT OMP_NUM_THREADS MKL_NUM_THREADS TOKENIZERS_PARALLELISM
    """.split()
)
MACHINES = tuple(
    """
    MEMSHIM_ MEMSPEC_ LD_ CUDA_ CUBLAS_ NVIDIA_ PYTORCH_ TORCHINDUCTOR_ TORCHELASTIC_ TRITON_ XDG_ LC_ SSH_ CONDA_
    WANDB_ MLFLOW_ COMET_ GITHUB_ GITLAB_ RUNNER_ SLURM_ KUBERNETES_ PYTHON PYTEST_ COV_ GIT_
    """.split()
)
# libraries that read a variable for whoever asks them
_READERS = (
    f"{os.sep}omegaconf{os.sep}",
    f"-packages{os.sep}hydra{os.sep}",
    f"{os.sep}decouple.py",
    f"{os.sep}environs{os.sep}",
)
_IMPORTS = ("importlib", "pkgutil", "pkg_resources", "zipimport")  # which list folders to find modules
_ACCESS = os.O_WRONLY | os.O_RDWR


class Reads:
    """From begin to end, in this process."""

    def __init__(self) -> None:
        self.opened: dict[str, None] = {}
        self.written: set[str] = set()
        self.listed: dict[str, None] = {}
        # by variable and the file of the code that read it first: its value then, None where unset
        self.asked: dict[tuple[str, str], str | None] = {}
        self.assigned: set[str] = set()  # variables that the run set: what is read of them after that is its own
        self.began, self.cwd = 0.0, ""

    def begin(self) -> Reads:
        global _watched
        _install()
        self.began, self.cwd, _watched = self.began or time.time(), self.cwd or os.getcwd(), self
        return self

    def end(self) -> Reads:
        global _watched
        if _watched is self:
            _watched = None
        return self

    def open(self, path: Any, writes: bool = False) -> None:
        """A file is opened."""
        name = _absolute(path)
        if name is None or len(self.opened) >= MOST:
            return
        if writes:
            self.written.add(name)
        else:
            self.opened.setdefault(name)

    def list(self, path: Any) -> None:
        """A folder is listed."""
        name = _absolute("." if path is None else path)
        if name is not None and len(self.listed) < MOST and not _of_import():
            self.listed.setdefault(name)

    def ask(self, name: str, value: str | None, frame: Any) -> None:
        """A variable is read."""
        if kept(name) and name not in self.assigned and len(self.asked) < MOST:
            file = _reader(frame)
            if file:
                self.asked.setdefault((name, file), value)

    def by_run(self, path: str) -> bool:
        """Whether the run itself wrote a file."""
        if path in self.written:
            return True
        try:
            return os.stat(path).st_mtime >= self.began
        except OSError:
            return True  # it is not there any more


_watched: Reads | None = None
_installed = False
_lock = threading.Lock()


def current() -> Reads | None:
    return _watched


def kept(name: str) -> bool:
    """Whether the value of a variable is kept."""
    upper = name.upper()
    return upper not in MACHINE and not upper.startswith(MACHINES) and not any(word in upper for word in SECRET)


def _install() -> None:
    global _installed
    with _lock:
        if not _installed:
            _installed = True
            from memshim.pretend import library

            library.hear(_EVENTS, _heard)
            _watch_environment()
            _watch_native()


def _heard(event: str, args: tuple[Any, ...]) -> None:
    """An audit event. Nothing may be raised here: it would end what the program does. When Python
    ends, this module's names become None."""
    act: Any = _EVENTS.get(event) if _EVENTS is not None else None
    if act is not None and _watched is not None:
        try:
            act(_watched, *args)
        except Exception:  # an argument of another kind than any release has
            pass


def _opens(to: Reads, path: Any, mode: Any = None, flags: Any = 0) -> None:
    to.open(
        path,
        bool(isinstance(flags, int) and flags & _ACCESS) or isinstance(mode, str) and any(c in mode for c in "wax+"),
    )


def _moves(to: Reads, source: Any, target: Any, *_: Any) -> None:
    to.open(source, True)
    to.open(target, True)


def _assigns(to: Reads, name: Any, *_: Any) -> None:
    to.assigned.add(os.fsdecode(name))


_EVENTS = {
    "open": _opens,
    "os.listdir": lambda to, path=None, *_: to.list(path),
    "os.scandir": lambda to, path=None, *_: to.list(path),
    "os.rename": _moves,
    "os.link": _moves,
    "os.symlink": _moves,
    "os.mkdir": lambda to, path, *_: to.open(path, True),
    "sqlite3.connect": lambda to, path, *_: to.open(path),
    "os.putenv": _assigns,
    "os.unsetenv": _assigns,
}


def _absolute(path: Any) -> str | None:
    if isinstance(path, int):  # an open file's number
        return None
    path = os.fspath(path)
    path = os.fsdecode(path) if isinstance(path, bytes) else path
    return os.path.abspath(path) if path and "\0" not in path else None


def _of_import() -> bool:
    """Whether Python's own import lists the folder."""
    frame: FrameType | None = sys._getframe(3)
    for _ in range(6):
        if frame is None:
            return False
        if any(word in frame.f_code.co_filename for word in _IMPORTS):
            return True
        frame = frame.f_back
    return False


def _reader(frame: FrameType | None) -> str:
    """The file of the code that reads a variable; "" where all are read at once."""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file.endswith(_ABC) and code.co_name == "__iter__" or (code, frame.f_lasti) in _bulk:
            return ""
        own = file.endswith((*_ABC, f"{os.sep}os.py", "<frozen os>")) or file.startswith(OWN)
        if not own and not any(part in file for part in _READERS):
            return file if file.startswith("<") else os.path.abspath(file)
        if code.co_name == "copy" and own:
            return ""
        frame = frame.f_back
    return ""


_ABC = ("_collections_abc.py", "<frozen _collections_abc>")
_bulk: set[tuple[Any, int]] = set()  # code, and the instruction in it, that goes through all variables
_passed = threading.local()  # its name is the variable that was gone through last


def _watch_environment() -> None:
    environ = type(os.environ)
    get, each = environ.__getitem__, environ.__iter__

    def getitem(self: Any, key: Any) -> Any:
        if (
            _watched is None
            or self is not os.environ
            or not isinstance(key, str)
            or key == getattr(_passed, "name", None)
        ):
            return get(self, key)
        try:
            value = get(self, key)
        except KeyError:
            _watched.ask(key, None, sys._getframe(1))
            raise
        _watched.ask(key, value, sys._getframe(1))
        return value

    def iterate(self: Any) -> Any:
        if _watched is not None and self is os.environ:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.endswith(_ABC):
                frame = frame.f_back
            if frame is not None:
                _bulk.add((frame.f_code, frame.f_lasti))
        return through(self)

    def through(self: Any) -> Any:
        try:
            for name in each(self):
                _passed.name = name
                yield name
        finally:
            _passed.name = None

    environ.__getitem__, environ.__iter__ = getitem, iterate  # type: ignore[method-assign]


# Functions that open a file natively, by the module that has them: the first argument is its path.
NATIVE = {
    "safetensors._safetensors_rust": ("safe_open",),
    "h5py._hl.files": ("make_fid",),
    "pyarrow": ("memory_map",),
    "cv2": ("imread",),
    "torchvision.io.image": ("read_file",),
}


def _watch_native() -> None:
    for name, functions in NATIVE.items():
        if name in sys.modules:
            _wrap(sys.modules[name], functions)
        else:
            After(name, functools.partial(_wrap, functions=functions))


def _wrap(module: Any, functions: tuple[str, ...]) -> None:
    for function in functions:
        real = getattr(module, function, None)
        if real is not None:
            setattr(module, function, _reporting(real))


def _reporting(real: Any) -> Any:
    def call(*args: Any, **kw: Any) -> Any:
        _native(args, kw)
        return real(*args, **kw)

    call.__wrapped__ = real  # type: ignore[attr-defined]
    call.__name__, call.__doc__ = getattr(real, "__name__", "call"), getattr(real, "__doc__", None)
    return call


def _native(args: tuple[Any, ...], kw: dict[str, Any]) -> None:
    path = next(iter(args), None) or kw.get("filename") or kw.get("path") or kw.get("name")
    if _watched is not None and isinstance(path, (str, bytes, os.PathLike)):
        _watched.open(path)


_distributions: Mapping[str, list[str]] | None = None


def look_up_distributions() -> None:
    """Look up what is installed, once for the processes that are forked from this one."""
    global _distributions
    _distributions = metadata.packages_distributions()
    packages()  # whose releases are then known


def packages() -> dict[str, str]:
    """The releases of the distributions whose modules are imported, by name."""
    tops = {name.partition(".")[0] for name, m in list(sys.modules.items()) if _installed_file(m)}
    found: dict[str, str] = {}
    for top, names in (_distributions or metadata.packages_distributions()).items():
        module = sys.modules.get(top)
        if top in tops and _installed_file(module):  # not of a folder that several distributions share
            for name in names:
                found.setdefault(normal(name), _release(name))
    found.pop("memshim", None)
    return dict(sorted(found.items()))


_release = functools.cache(metadata.version)


def _installed_file(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and "-packages" + os.sep in file


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    import re

    return re.sub(r"[-_.]+", "-", name).lower()
