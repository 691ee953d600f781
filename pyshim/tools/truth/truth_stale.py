"""What makes a recording stale, tried on programs: python -m truth stale [PROGRAM ...]

The programs of stale_programs.py, which use transformers, timm, Lightning and Hydra, are written into
a repository and recorded. A shallow clone of it in another folder, with another HOME and by another
user, must raise no alarm. Then each change of the table is made in the clone and must be found: a
config, a source, a variable, a release. The same clone is made of this repository, whose examples and
own models must raise no alarm either. The exit code is 1 where a line is not as it should be.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stale_programs import PROGRAMS, Program

from memshim import binary

ROOT = Path(__file__).parents[3]
NOBODY = 65534


def main() -> int:
    wanted = sys.argv[1:]
    programs = [p for p in PROGRAMS if not wanted or p.name in wanted]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="stale-") as folder:
        os.chmod(folder, 0o755)
        first, clone = Path(folder) / "made" / "here", Path(folder) / "another" / "place" / "clone"
        made = [p for p in programs if record(p, first)]
        git(first, "add", "-A")
        git(first, "commit", "-qm", "recorded")
        cloned(first, clone)
        print(f"{'program':24} {'what':44} {'alarm':6} of")
        for p in made:
            wrong += line(p.name, "untouched, elsewhere", stale(clone / p.name), False)
            for change in p.changes:
                edit, env = change.file and clone / p.name / change.file, change.env
                before = edit.read_text() if edit else ""
                if edit:
                    edit.write_text(change.text(before))
                wrong += line(p.name, change.what, stale(clone / p.name, env), True)
                if edit:
                    edit.write_text(before)
        if not wanted:
            own = Path(folder) / "another" / "memspec"
            cloned(ROOT, own)
            for spec in (own / "memspec.yaml", *sorted(own.glob("examples/*/memspec.yaml"))):
                wrong += line(str(spec.parent.relative_to(own)), "untouched, elsewhere", stale(spec.parent), False)
        skipped = [p.name for p in programs if p not in made]
    if skipped:
        print("not recorded:", ", ".join(skipped))
    print(f"{wrong} not as they should be")
    return 1 if wrong or skipped else 0


def line(name: str, what: str, found: list[str] | str, wanted: bool) -> int:
    """A line of the table; 1 where it is not as it should be."""
    ok = isinstance(found, list) and bool(found) == wanted
    text = found if isinstance(found, str) else "; ".join(found)
    said = "yes" if found else "none"
    print(f"{name:24} {what:44} {said:6} {text[:100]}{'' if ok else '  NOT AS IT SHOULD BE'}", flush=True)
    return 0 if ok else 1


def record(p: Program, root: Path) -> bool:
    """Writes a program below the repository and records it there."""
    folder = root / p.name
    if not (root / ".git").exists():
        root.mkdir(parents=True)
        git(root, "init", "-q")
    for name, text in p.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    words = p.command or ["capture", "memspec.yaml"]
    done = subprocess.run(
        [sys.executable, "-m", "memshim", *words], cwd=folder, capture_output=True, text=True, timeout=600
    )
    for beside in p.leaves:
        shutil.rmtree(folder / beside, ignore_errors=True)
    if done.returncode not in (0, 3):
        print(f"{p.name}: {(done.stdout + done.stderr)[-1500:]}")
        return False
    git(root, "add", "-A")
    return True


def cloned(of: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{of}", str(to)], check=True, capture_output=True)
    subprocess.run(["chmod", "-R", "a+rX", str(to)], check=True)


def stale(folder: Path, env: dict[str, str] | None = None) -> list[str] | str:
    """What memspec check finds stale there, by another user with another HOME; a text where it found
    nothing to check."""
    environ = {"HOME": "/nonexistent", "USER": "nobody", "PATH": "/usr/bin:/bin", **(env or {})}
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    p = subprocess.run(
        [PUBLIC or binary.find(), "check", "--format", "json"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        **who,
    )
    try:
        cases = json.loads(p.stdout)["cases"]
    except (ValueError, KeyError):
        return f"no verdict: {p.stderr.strip()[-200:]}"
    broken = [c["error"] for c in cases if c["error"]]
    if broken or not cases:
        return f"no verdict: {broken[:1]}"
    notes = [n["text"] for c in cases for n in c["report"]["notes"] if n["id"] == "artifact-stale"]
    return list(dict.fromkeys(n.partition(" since the artifact")[0] for n in notes))


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words], cwd=folder, check=True)


PUBLIC = ""  # a copy of the command that another user can run

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="memspec-") as held:
        os.chmod(held, 0o755)
        PUBLIC = shutil.copy(binary.find(), Path(held) / "memspec")
        sys.exit(main())
