"""What the code that inductor writes says of its own lines.

A buffer's line in it is followed by the first kernel that takes the buffer, and above that a
comment with the operators that the kernel was made of (torch/_inductor/codegen/wrapper.py). The
line of the user's code stands below it in the stack: PyTorch puts it there
(PyCodeCache.stack_frames_for_code).
"""

from __future__ import annotations

import re
from functools import cache

_FILE = re.compile(r"[\\/]c[a-z2-7]{51}\.py$")  # a hash of its text (torch/_inductor/codecache.py)
_BUFFER = re.compile(r"\s*(\w+) = empty_strided\w*\(")
_MADE_OF = re.compile(r"\s*#.*\bOriginal ATen: \[(.*)\]")
_NO_USE = re.compile(r"\s*(#|del |assert_|\w+ = \w+; del )")


def generated(file: str) -> bool:
    """Whether inductor wrote a file."""
    return bool(_FILE.search(file))


@cache
def operators(file: str, line: int) -> str:
    """The operators that the kernel was made of which first takes the buffer that a line makes, as
    "aten::addmm, aten::gelu"; "" where it does not record."""
    text = _text(file)
    made = _BUFFER.match(text[line - 1]) if 0 < line <= len(text) else None
    if made is None:
        return ""
    name, operators = re.compile(rf"\b{made[1]}\b"), ""
    for at in text[line:]:
        if of := _MADE_OF.match(at):
            operators = ", ".join(x.replace(".", "::", 1) for x in of[1].split(", ") if x)
        elif at.lstrip().startswith(("return ", "def ")):
            return ""
        elif name.search(at) and not _NO_USE.match(at):
            return operators
    return ""


@cache
def _text(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8") as f:
            return f.read().splitlines()
    except OSError:
        return []
