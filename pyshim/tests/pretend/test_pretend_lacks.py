"""What this PyTorch lacks is in the table of all releases (MEMSPEC_UPDATE=1 writes its row)."""

import os
import re
from pathlib import Path

import lacks
import pytest

TABLE = Path(__file__).parents[3] / "testdata" / "pretend" / "lacks.md"


def version(row):
    return [int(n) for n in re.findall(r"\d+", row.split("|")[1])]


def test_the_table_has_what_this_torch_lacks(found_binary):
    head, rows = TABLE.read_text().splitlines()[:2], TABLE.read_text().splitlines()[2:]
    row = lacks.row()
    if os.environ.get("MEMSPEC_UPDATE"):
        rows = sorted([r for r in rows if version(r) != version(row)] + [row], key=version)
        TABLE.write_text("\n".join([*head, *rows]) + "\n")
    held = [r for r in rows if version(r) == version(row)]
    if not held:
        pytest.skip(f"nothing was recorded with torch {row.split('|')[1].strip()}")
    assert held == [row]
