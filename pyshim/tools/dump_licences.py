"""Writes LICENSES-go.txt: the licences of the Go modules that are linked into the memspec binary,
and Go's own.

    python pyshim/tools/dump_licences.py [--check]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "pyshim" / "LICENSES-go.txt"
FORMAT = "{{if .Module}}{{if not .Module.Main}}{{.Module.Path}}\t{{.Module.Version}}\t{{.Module.Dir}}{{end}}{{end}}"
SYSTEMS = ("linux", "darwin", "windows")  # each links its own modules


def go(*arguments: str, **environment: str) -> str:
    import os

    return subprocess.run(
        ["go", *arguments], cwd=ROOT, check=True, capture_output=True, text=True, env=os.environ | environment
    ).stdout


def text() -> str:
    modules = {
        tuple(line.split("\t"))
        for system in SYSTEMS
        for line in go("list", "-deps", "-f", FORMAT, "./cmd/memspec", GOOS=system, CGO_ENABLED="0").splitlines()
        if line
    }
    out = ["The program memspec has these parts beside its own code. Their licences:", ""]
    for path, version, folder in [("Go, its standard library", "", go("env", "GOROOT").strip()), *sorted(modules)]:
        files = sorted(
            f for f in Path(folder).iterdir() if f.name.upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING"))
        )
        if not files:
            raise SystemExit(f"{path} {version}: got no licence in {folder}")
        out += ["=" * 80, f"{path} {version}".rstrip(), "=" * 80, ""]
        out += [line for f in files for line in [*f.read_text(encoding="utf-8").rstrip().splitlines(), ""]]
    return "\n".join(out)


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        same = FILE.is_file() and FILE.read_text(encoding="utf-8") == text()
        print(
            "" if same else f"{FILE.relative_to(ROOT)}: not current, run python pyshim/tools/dump_licences.py",
            end="" if same else "\n",
        )
        return 0 if same else 1
    FILE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
