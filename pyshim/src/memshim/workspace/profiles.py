"""Workspace profiles: the file that memspec reads (engine/workspace/profile). Sorted, one entry a
line, so that it merges and compares as text."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

SCHEMA = 1
Answerer = tuple[str, str, str]  # library, version, device class

_DIMS = ("input", "input_strides", "weight", "weight_strides", "padding", "stride", "dilation")
_FLAGS = (("deterministic", "deterministic"), ("allow_tf32", "tf32"), ("benchmark", "benchmark"))
_CALL = ("op", "direction", "dtype", *_DIMS, "groups", *(name for name, _ in _FLAGS))


class ProfileError(Exception):
    """A file that is no workspace profile, or that contradicts itself."""


def key(call: dict[str, Any]) -> str:
    """The call as a line of text, as engine/workspace/profile writes it: equal keys get equal
    answers."""
    dims = [",".join(map(str, call[n])) for n in _DIMS]
    flags = [word for name, word in _FLAGS if call.get(name)]
    return " ".join([call["op"], call["direction"], call["dtype"], *dims, str(call["groups"]), *flags])


class Profile:
    """The answers of one or several files."""

    def __init__(self) -> None:
        self._entries: dict[Answerer, dict[str, dict[str, Any]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def get(self, by: Answerer, call: dict[str, Any]) -> dict[str, Any] | None:
        return self._entries.get(by, {}).get(key(call))

    def add(self, by: Answerer, call: dict[str, Any], answer: dict[str, Any]) -> None:
        """One more entry. ProfileError where another answer is there."""
        entry = {n: call[n] for n in _CALL if n in call and call[n] is not False}
        entry |= {"bytes": answer["bytes"], "engine": answer["engine"]}
        if answer.get("most"):
            entry["most"] = answer["most"]
        old = self._entries.setdefault(by, {}).setdefault(key(call), entry)
        if old != entry:
            raise ProfileError(
                f"got two answers of {' '.join(by)} for {key(call)}: {old['bytes']} B of engine {old['engine']} and "
                f"{entry['bytes']} B of engine {entry['engine']}"
            )

    def merge(self, other: Profile) -> None:
        for by, entries in other._entries.items():
            for e in entries.values():
                self.add(by, e, e)

    def answerers(self) -> list[Answerer]:
        return sorted(self._entries)

    def entries(self, by: Answerer) -> list[dict[str, Any]]:
        return list(self._entries.get(by, {}).values())

    def text(self) -> str:
        groups = []
        for by in sorted(self._entries):
            library, version, device_class = map(json.dumps, by)
            entries = self._entries[by]
            lines = ",\n".join(json.dumps(entries[k], separators=(",", ":")) for k in sorted(entries))
            groups.append(
                f'{{"library": {library}, "version": {version}, "class": {device_class}, "entries": [\n{lines}\n]}}'
            )
        return f'{{"schema": {SCHEMA}, "groups": [' + ",".join("\n" + g for g in groups) + "\n]}\n"

    def write(self, path: Path) -> None:
        try:
            f, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            with os.fdopen(f, "w", encoding="utf-8") as out:
                out.write(self.text())
            os.chmod(part, 0o644)
            os.replace(part, path)
        except OSError as e:
            raise ProfileError(f"{path}: cannot be written: {str(e.strerror).lower()}") from e


def load(path: Path) -> Profile:
    """The profile in a file; memspec's own reader checks every field of it, this one what it
    uses."""
    try:
        if path.exists() and not path.is_file():
            raise ProfileError(f"{path}: got no plain file, want a workspace profile")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise ProfileError(f"{path}: {str(e.strerror).lower()}") from e
    except ValueError as e:
        raise ProfileError(f"{path}: not a workspace profile: {e}") from e
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ProfileError(
            f"{path}: got a workspace profile of schema {schema}, want {SCHEMA}: make it again with this version"
        )
    out = Profile()
    try:
        for g in data["groups"]:
            for entry in g["entries"]:
                out.add((g["library"], g["version"], g["class"]), entry, entry)
    except ProfileError as e:
        raise ProfileError(f"{path}: {e}") from e
    except (KeyError, TypeError, AttributeError) as e:
        raise ProfileError(f"{path}: not a workspace profile: {type(e).__name__} {e}") from e
    return out
