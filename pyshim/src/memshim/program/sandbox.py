"""A program in a copy-on-write view of its working folder: what it writes there is thrown away.
Linux lets an unprivileged process mount one in its own namespaces, where the system allows that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# $1 the folder, $2 what is written, $3 the kernel's own, then the program.
MOUNT = 'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3$4" "$1" && cd "$1" && shift 4 && exec "$@"'
OPTIONS = (",userxattr", "")  # the first is for kernels that want it in a user namespace


class Unavailable(OSError):
    """The system allows no such view. The text is for the user."""


def command(words: list[str], scratch: Path) -> list[str]:
    """The program's command in a view of the working directory; scratch is an empty folder."""
    here = os.getcwd()
    if any(c in here + str(scratch) for c in ":,\\"):
        raise Unavailable(f"--sandbox: got the working folder {here}, want one without ':', ',' or '\\' in its path")
    if not shutil.which("unshare"):
        raise Unavailable("--sandbox: got no unshare (util-linux), which makes the view of the working folder")
    said = ""
    for i, option in enumerate(OPTIONS):
        upper, work = scratch / f"written-{i}", scratch / f"work-{i}"
        upper.mkdir()
        work.mkdir()
        inside = [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            MOUNT,
            "sh",
            here,
            str(upper),
            str(work),
            option,
        ]
        p = subprocess.run([*inside, "true"], capture_output=True, text=True)
        if p.returncode == 0:
            return [*inside, *words]
        said = p.stderr.strip().rpartition("\n")[2] or f"it ended with {p.returncode}"
    raise Unavailable(
        f"--sandbox: this system allows no copy-on-write view of the working folder ({said}); copy the folder and run "
        f"there"
    )


def written(scratch: Path) -> list[Path]:
    """What the program changed, below the working folder."""
    return sorted(
        f.relative_to(upper) for upper in scratch.glob("written-*") for f in upper.rglob("*") if not f.is_dir()
    )
