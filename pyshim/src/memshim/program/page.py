"""The HTML page of a run: memspec writes it from the recordings."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memshim import binary


def check(to: str) -> None:
    """ValueError where a file's name is no page's."""
    if Path(to).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"got --html {to}, want a name that ends with .html")


def write(recordings: Mapping[str, bytes], to: str, record: str) -> str:
    """Write the page of recordings, which have their names on it; several stand side by side. The
    result is what the report says of it: the file, or why there is none.

    record: where the recordings say that they lie. They name sources from there, so that is where
    they are put for memspec to read.
    """
    if not recordings:
        return f"none: {to} is not written, as there is no recording of the run"
    with contextlib.ExitStack() as files:
        words = ["explain", "-o", str(Path(to).absolute())]
        for name, data in recordings.items():
            file = tempfile.NamedTemporaryFile(dir=Path(record).absolute().parent, prefix=".memshim-", suffix=".rec")
            files.enter_context(file).write(data)
            file.flush()
            words += ["--name", name, file.name]
        said = binary.call(*words)
    return to if said.code in (0, 1, 3) else f"none: {said.err}"


def named(data: list[bytes], program: str) -> dict[str, bytes]:
    """Recordings of a program's processes and devices by name: the program's where there is one, else
    with numbers, as --record numbers them."""
    return {program: data[0]} if len(data) == 1 else {f"{program} {i}": one for i, one in enumerate(data)}
