"""findings.md names tests that exist, and lines of the README."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = re.findall(r"^\| (?!finding |---)(.+?) \| (.+) \|$", (HERE / "findings.md").read_text(encoding="utf-8"), re.M)


def test_every_finding_is_held():
    assert len(ROWS) > 60
    readme = " ".join((HERE.parent / "README.md").read_text(encoding="utf-8").split())
    for finding, held in ROWS:
        if said := re.fullmatch(r"not there: (.+)", held):
            assert said[1] in readme, f"{finding}: the README does not say {said[1]!r}"
            continue
        for name in held.split(", "):
            file, _, test = name.partition("::")
            kind = "func" if file.endswith(".go") else "def"
            assert re.search(rf"^{kind} {test}\(", (HERE / file).read_text(encoding="utf-8"), re.M), f"{finding}: there is no {name}"
