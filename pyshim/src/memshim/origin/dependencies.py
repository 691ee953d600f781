"""What a run depends on besides its code, as a recording and a sidecar hold it, and what of it has
changed since (engine/recording/FORMAT.md, "made")."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from memshim.files import open_regular
from memshim.frames import OWN
from memshim.origin.reads import SECRET, Reads, normal, packages

MOST, FEW = 10_000, 1_000  # files read; listings, variables, files elsewhere
# bytes that are hashed: of a file, and of all; beyond, a file's size is compared
LARGEST, TOGETHER = 64 << 20, 192 << 20
HASHED = 16  # hexadecimal digits of a variable's hash
_SKIPPED = set(
    """
    .git .hg .svn .memspec __pycache__ site-packages dist-packages node_modules .pytest_cache .mypy_cache .ruff_cache
    .ipynb_checkpoints .tox .nox
    """.split()
)  # folders whose files are nobody's input
_SYSTEM = tuple(
    """
    /proc /sys /dev /etc /run /usr/lib /usr/lib64 /usr/share /usr/include /lib /lib64 /bin /usr/bin /var/lib
    /var/cache
    """.split()
)
_CACHES = tuple(
    """
    memshim matplotlib torch/kernels torch_extensions pip fontconfig triton numba huggingface/token
    huggingface/stored_tokens
    """.split()
)
_OF_MEMSPEC = re.compile(r"(^|/)memspec\.(ya?ml|(workspace|baseline)\.json)$")
_CHUNK = 1 << 20
# git starts no program that the repository names, and reads the repository of another user: a
# container runs as root over a user's folder.
_NEUTRAL = (
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "safe.directory=*",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
)


class Depends(NamedTuple):
    """depends: of a case. Patterns of paths relative to the memspec.yaml's folder; in ignore, $NAME
    is a variable."""

    ignore: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @staticmethod
    def of(case: dict[str, Any]) -> Depends:
        recorded = case.get("depends") or {}
        return Depends(tuple(recorded.get("ignore") or ()), tuple(recorded.get("also") or ()))

    def ignores(self, path: str) -> bool:
        return any(matches(p, path) or matches(p, path + "/") for p in self.ignore)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(p, re.escape(p)) for p in parts) + "(?:/.*)?", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern is of a path or of a folder above it: * and ? stay within a name, ** goes
    through folders."""
    return bool(_pattern(pattern.removesuffix("/")).fullmatch(path))


def of(reads: Reads, project: str, base: str, folder: str, imported: set[str], case: Depends) -> dict[str, Any]:
    """The keys of made that say what a run read. project: the root; base: what paths are relative
    to; folder: of the memspec.yaml; imported: Python files that made.files has."""
    inside: list[Any] = []
    outside: list[Any] = []
    skipped = {os.path.realpath(f) for f in imported}
    for path in map(_source, list(reads.opened)):
        at = _place(path, project)
        if at is None or not os.path.isfile(at) or os.path.realpath(at) in skipped or reads.by_run(at):
            continue
        skipped.add(os.path.realpath(at))
        (inside if at.startswith(project + os.sep) else outside).append(at)
    inside += [f for f in also(folder, project, case) if os.path.realpath(f) not in skipped]
    inside = sorted({f for f in inside if not case.ignores(_relative(f, folder))})
    folders = [f for f in _folders(reads, project) if not case.ignores(_relative(f, folder))]
    ignored = _ignored(project, [*inside, *(os.path.join(f, n) for f in folders for n in os.listdir(f))])
    left = TOGETHER - sum(os.path.getsize(f) for f in imported)
    read: list[dict[str, Any]] = []
    names: dict[str, Any] = {}
    for path in inside[:MOST]:
        size = os.path.getsize(path)
        hashed = size <= min(left, LARGEST)
        left -= size * hashed
        read.append(
            {
                "path": _relative(path, base),
                **({"sha256": digest(path)} if hashed else {"size": size}),
                **({"ignored": True} if path in ignored else {}),
            }
        )
        names.setdefault(os.path.dirname(path), set()).add(os.path.splitext(path)[1])
    listed = []
    for path in folders[:FEW]:
        kinds = sorted(names.get(path, ()))
        if (kinds or path != project) and not any(os.path.join(path, n) in ignored for n in os.listdir(path)):
            listed.append(
                {
                    "path": _relative(path, base),
                    **({"suffixes": kinds} if kinds else {}),
                    "sha256": listing(path, kinds),
                }
            )
    variables = {
        name: hashed_value(name, value)
        for (name, file), value in reads.asked.items()
        if _of_project(file, project) and not any(p.startswith("$") and matches(p[1:], name) for p in case.ignore)
    }
    return {
        "read": sorted(read, key=_path),
        "folders": sorted(listed, key=_path),
        "elsewhere": sorted(map(_outside, sorted(set(outside))[:FEW]), key=_path),
        "variables": dict(sorted(variables.items())[:FEW]),
        "packages": packages(),
    }


def _path(entry: dict[str, Any]) -> str:
    return str(entry["path"])


def _source(path: str) -> str:
    """The source of a module's compiled form."""
    if path.endswith(".pyc"):
        try:
            return importlib.util.source_from_cache(path)
        except ValueError:
            return path
    return path


def _place(path: str, project: str) -> str | None:
    """A file as it is compared: its path below the project, or its real one elsewhere. None where
    it is nobody's input."""
    real = os.path.realpath(path)
    at = path if path.startswith(project + os.sep) and real.startswith(project + os.sep) else real
    if at.startswith(OWN) or real.startswith(OWN) or at.endswith((".pyc", ".so")):
        return None
    if at.startswith(project + os.sep):
        parts = at[len(project) + 1 :].split(os.sep)
        bad = (
            _SKIPPED & set(parts)
            or any(p.endswith((".egg-info", ".dist-info")) for p in parts)
            or _OF_MEMSPEC.search(at)
            or at.startswith(_python(project))
        )
        return None if bad else at
    bad = (
        _SKIPPED & set(at.split(os.sep))
        or at.startswith(_system())
        or any(word in os.path.basename(at).upper() for word in SECRET)
    )
    return None if bad else at


@cache
def _python(project: str) -> tuple[str, ...]:
    """Where Python is installed below the project."""
    return tuple(
        p + os.sep for p in {sys.prefix, sys.exec_prefix, sys.base_prefix} if p.startswith(project + os.sep)
    ) or ("\0",)


@cache
def _system() -> tuple[str, ...]:
    """Folders of the system, of Python, and of caches that are made again wherever they are
    missing."""
    paths = sysconfig.get_paths()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folders = [
        *_SYSTEM,
        paths["stdlib"],
        paths["platstdlib"],
        sys.prefix + "/lib",
        sys.base_prefix + "/lib",
        tempfile.gettempdir(),
        os.path.expanduser("~/.config"),
        os.path.expanduser("~/.triton"),
        *(os.path.join(cache, c) for c in _CACHES),
    ]
    return tuple(os.path.realpath(f) + os.sep for f in folders)


def _of_project(file: str, project: str) -> bool:
    if file.startswith("<"):
        return file in ("<string>", "<stdin>")
    real = os.path.realpath(file)
    return (
        real.startswith(project + os.sep)
        and "-packages" + os.sep not in real
        and not real.startswith((OWN, *_python(project)))
    )


def _relative(path: str, base: str) -> str:
    return os.path.relpath(path, base).replace(os.sep, "/")


def _folders(reads: Reads, project: str) -> list[str]:
    """Folders of the project that the run listed and did not write to."""
    out = []
    made = {os.path.dirname(p) for p in reads.written}
    for path in list(reads.listed):
        real = os.path.realpath(path)
        if (
            real != project
            and _place(os.path.join(path, "x"), project) is None
            or not (real + os.sep).startswith(project + os.sep)
        ):
            continue
        if os.path.isdir(real) and real not in made and path not in made and os.stat(real).st_mtime < reads.began:
            out.append(real)
    return sorted(set(out))


def _outside(path: str) -> dict[str, Any]:
    info, home = os.stat(path), os.path.realpath(os.path.expanduser("~"))
    shown = "~" + path[len(home) :] if path.startswith(home + os.sep) else path
    return {
        "path": shown.replace(os.sep, "/"),
        "size": info.st_size,
        "mtime": int(info.st_mtime),
        **({"sha256": digest(path)} if info.st_size <= LARGEST else {}),
    }


def _ignored(project: str, paths: list[str]) -> set[str]:
    """Those that git does not keep: another clone has them not, or others."""
    if not paths or not os.path.exists(os.path.join(project, ".git")):
        return set()
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "GIT_"))}
    text = "\0".join(_relative(p, project) for p in paths)
    try:
        p = subprocess.run(
            ["git", *_NEUTRAL, "check-ignore", "-z", "--stdin"],
            input=text,
            capture_output=True,
            text=True,
            cwd=project,
            env=environ,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return set()
    return {os.path.join(project, name) for name in p.stdout.split("\0") if name}


def also(folder: str, project: str, case: Depends) -> Iterator[str]:
    """The files that depends: also: names."""
    wanted = [p for p in case.also if not p.startswith("$")]
    if not wanted:
        return
    for at, folders, files in os.walk(project):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED)
        for name in sorted(files):
            path = os.path.join(at, name)
            if any(matches(p, _relative(path, folder)) for p in wanted) and _place(path, project):
                yield path


def listing(folder: str, suffixes: list[str]) -> str:
    """A hash of the names in a folder: all but hidden ones, or those with one of the suffixes."""
    names = sorted(
        n
        for n in os.listdir(folder)
        if not n.startswith(".") and n != "__pycache__" and (not suffixes or os.path.splitext(n)[1] in suffixes)
    )
    return hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()


def hashed_value(name: str, value: str | None) -> str:
    """A variable's value, which cannot be read back from it; "" where it is not set."""
    return (
        ""
        if value is None
        else hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogateescape")).hexdigest()[:HASHED]
    )


def digest(file: str | os.PathLike[str]) -> str:
    r"""SHA-256 of a file with every \r\n read as \n: a checkout on Windows is the same."""
    h, kept = hashlib.sha256(), b""
    with open_regular(file) as f:
        while chunk := f.read(_CHUNK):
            chunk = kept + chunk
            kept = b"\r" if chunk.endswith(b"\r") else b""
            h.update(chunk[: len(chunk) - len(kept)].replace(b"\r\n", b"\n"))
    h.update(kept)
    return h.hexdigest()


def differences(base: str, recorded: dict[str, Any], folder: str, case: Depends) -> list[str]:
    """What of a run's files, listings, variables and distributions is not as it was."""
    out = []
    for f in [*recorded["files"], *recorded.get("read", ())]:
        path = os.path.normpath(os.path.join(base, f["path"]))
        if case.ignores(_relative(path, folder)):
            continue
        if not os.path.isfile(path):
            out += [] if f.get("ignored") else [f"{f['path']} is gone"]
        elif os.path.getsize(path) != f["size"] if "size" in f else digest(path) != f["sha256"]:
            out.append(f"{f['path']} has changed")
    for f in recorded.get("folders", ()):
        path = os.path.normpath(os.path.join(base, f["path"]))
        if not case.ignores(_relative(path, folder)) and (
            not os.path.isdir(path) or listing(path, f.get("suffixes", [])) != f["sha256"]
        ):
            out.append(f"{f['path']} has other files")
    for name, was in recorded.get("variables", {}).items():
        ignored = any(p.startswith("$") and matches(p[1:], name) for p in case.ignore)
        if not ignored and hashed_value(name, os.environ.get(name)) != was:
            out.append(f"variable {name} has changed")
    for name, was in recorded.get("packages", {}).items():
        if (now := _release(name)) not in ("", was):
            out.append(f"{name} {was} → {now}")
    out += [f"{f['path']} has changed" for f in recorded.get("elsewhere", ()) if _other(f)]
    if case.also:
        known = {
            os.path.realpath(os.path.join(base, f["path"])) for f in [*recorded["files"], *recorded.get("read", ())]
        }
        out += [
            f"{_relative(f, base)} is new"
            for f in also(folder, _root(folder), case)
            if os.path.realpath(f) not in known
        ]
    return out


def _root(folder: str) -> str:
    at = Path(folder).resolve()
    return str(next((p for p in (at, *at.parents) if (p / ".git").exists()), at))


def _release(name: str) -> str:
    """Of a distribution as it is installed here; "" where it is not, which is no change: nothing
    runs here then."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _other(f: dict[str, Any]) -> bool:
    """Whether a file elsewhere is another one. One that is not here is not compared: caches are
    filled again."""
    path = os.path.expanduser(f["path"])
    try:
        info = os.stat(path)
    except OSError:
        return False
    if info.st_size != f["size"]:
        return True
    return int(info.st_mtime) != f["mtime"] and "sha256" in f and digest(path) != f["sha256"]


__all__ = ["Depends", "differences", "digest", "matches", "normal", "of"]
