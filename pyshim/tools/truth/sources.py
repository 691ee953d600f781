"""Programs of other repositories, as they were at a revision."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[3] / ".cache"


def clone(repository: str) -> Path:
    """The bare clone of a repository of GitHub, such as linkedin/Liger-Kernel. It is made once."""
    into = CACHE / f"{repository.replace('/', '+')}.git"
    if not into.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        words = ["git", "clone", "--bare", "--quiet", f"https://github.com/{repository}", str(into)]
        subprocess.run(words, check=True)
    return into


def extract(repository: str, revision: str, into: Path, *paths: str) -> None:
    """These paths of a revision, all where none is named, in a folder."""
    words = ["git", "-C", str(clone(repository)), "archive", revision, *paths]
    packed = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(into, filter="data")
