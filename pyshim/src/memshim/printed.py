"""What memshim's own streams print: names and texts in it may come from anybody's files."""

from __future__ import annotations

import os
import re
from typing import Any, TextIO

# Control characters other than those that end lines and columns, blanks of no width, and marks that
# end a line or change the direction of what follows.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# What a runner of GitHub Actions takes for a command: ##[name] anywhere in a line, :: at its
# beginning (ActionCommand.TryParse and TryParseV2 of actions/runner).
BRACKET = re.compile(r"##\[")
COLONS = re.compile(r"(?m)^([ \t]*):(?=:)")
ZERO_WIDTH = "\u200b"


def printable(text: str) -> str:
    """The text without what a terminal or a runner of GitHub Actions would act upon."""
    text = HIDDEN.sub("\ufffd", text)
    if os.environ.get("GITHUB_ACTIONS"):
        text = BRACKET.sub(f"##{ZERO_WIDTH}[", text)
        text = COLONS.sub(rf"\1:{ZERO_WIDTH}", text)
    return text


def say(*values: Any, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """print, of what is printable."""
    print(printable(" ".join(map(str, values))), end=end, file=file, flush=flush)
