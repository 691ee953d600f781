"""Builds memshim's source distribution and its wheels for every system, and tries each in a fresh
environment.

    python pyshim/tools/release.py [--only TARGET]... [DIST]

The binary is cross-compiled, so one machine builds all: Linux x86-64 with a C compiler, Go, and a
Python with setuptools. What is for this system is installed and run; what is not, pip chooses among
all of them for its system and installs into a fresh folder, and the program is looked at: for which
system it is, that it is static, and its version. Where there is qemu-aarch64, that of Linux on
aarch64 is run too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PYSHIM = Path(__file__).resolve().parents[1]
EXAMPLE = PYSHIM.parent / "examples" / "pytest"
ARTIFACT = PYSHIM.parent / "testdata" / "artifacts" / "torchvision" / "mobilenet_v3_small.script.pt"
PROFILE = PYSHIM.parent / "memspec.workspace.json"
# By target: the wheel's tag, and the platforms of pip that it is for; none for this one.
TARGETS = {
    "linux-amd64": (r"manylinux_2_\d+_x86_64(\.manylinux2014_x86_64)?", ()),
    "linux-amd64-musl": (r"musllinux_1_1_x86_64", ("musllinux_1_1_x86_64",)),
    "linux-arm64": (
        r"manylinux_2_17_aarch64\.manylinux2014_aarch64\.musllinux_1_1_aarch64",
        ("manylinux2014_aarch64", "musllinux_1_1_aarch64"),
    ),
    "darwin-amd64": (r"macosx_12_0_x86_64", ("macosx_12_0_x86_64", "macosx_14_0_x86_64")),
    "darwin-arm64": (r"macosx_12_0_arm64", ("macosx_12_0_arm64", "macosx_15_0_arm64")),
    "windows-amd64": (r"win_amd64", ("win_amd64",)),
}
EMULATOR = "qemu-aarch64"


class Wrong(Exception):
    """A distribution that must not go out."""


def expect(condition: object, text: str) -> None:
    if not condition:
        raise Wrong(text)


def run(*command: str | Path, **kw) -> str:
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, **kw)
    expect(p.returncode == 0, f"{' '.join(map(str, command))} ended with {p.returncode}:\n{p.stdout}{p.stderr}")
    return p.stdout


def version() -> str:
    return re.search(r'^version = "(.+)"$', (PYSHIM / "pyproject.toml").read_text(), re.MULTILINE)[1]


def sdist(dist: Path) -> Path:
    run(sys.executable, "-c", "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])", dist, cwd=PYSHIM)
    return dist / f"memshim-{version()}.tar.gz"


def wheel(dist: Path, target: str, source: Path = PYSHIM) -> Path:
    with tempfile.TemporaryDirectory(dir=dist) as folder:
        run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            source,
            env=os.environ
            | {"MEMSHIM_TARGET": target, "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -trimpath".lstrip()},
        )
        (made,) = Path(folder).iterdir()
        return Path(shutil.move(made, dist / made.name))


def system_of(program: bytes) -> tuple[str, bool]:
    """For which system a program is, and whether it needs no library of it, by its header."""
    if program[:4] == b"\x7fELF":
        machine = {62: "amd64", 183: "arm64"}.get(struct.unpack_from("<H", program, 18)[0], "?")
        at, size, count = (struct.unpack_from(f, program, o)[0] for f, o in (("<Q", 32), ("<H", 54), ("<H", 56)))
        kinds = {struct.unpack_from("<I", program, at + i * size)[0] for i in range(count)}
        return f"linux-{machine}", 3 not in kinds  # PT_INTERP: a dynamic linker
    if program[:4] == b"\xcf\xfa\xed\xfe":
        return (
            f"darwin-{ {0x01000007: 'amd64', 0x0100000C: 'arm64'}.get(struct.unpack_from('<I', program, 4)[0], '?') }",
            True,
        )
    if program[:2] == b"MZ":
        at = struct.unpack_from("<I", program, 60)[0]
        return f"windows-{ {0x8664: 'amd64'}.get(struct.unpack_from('<H', program, at + 4)[0], '?') }", True
    return "?", False


def look(made: Path, target: str) -> None:
    """What is in a wheel."""
    tag, _ = TARGETS[target]
    expect(
        re.fullmatch(rf"memshim-{re.escape(version())}-py3-none-{tag}\.whl", made.name),
        f"{made.name}: got another name than for {target}",
    )
    with zipfile.ZipFile(made) as z:
        names = set(z.namelist())
        info = f"memshim-{version()}.dist-info"
        metadata = z.read(f"{info}/METADATA").decode()
        scripts = z.read(f"{info}/entry_points.txt").decode()
        program = z.getinfo("memshim/bin/memspec" + ".exe" * target.startswith("windows"))
        content = z.read(program)
    expect(program.external_attr >> 16 & 0o111 == 0o111, "the program cannot be run")
    expect(
        system_of(content) == (target.removesuffix("-musl"), True),
        f"got a program for {system_of(content)}, want {target} and static",
    )
    expect(version().encode() in content, "the program has another version")
    expect(
        {
            f"{info}/licenses/LICENSE",
            f"{info}/licenses/LICENSES-go.txt",
            "memshim/py.typed",
            "memshim/schemas/measurement.schema.json",
            "memshim/schemas/serving.schema.json",
        }
        <= names,
        "parts are missing",
    )
    pretend = {n for n in names if n.startswith("memshim/pretend/lib/")}
    expect(bool(pretend) == (target == "linux-amd64"), f"got {sorted(pretend)} of the pretend GPU")
    expect(
        "memspec = memshim.binary:main" in scripts
        and "memshim = memshim.__main__:main" in scripts
        and "[pytest11]" in scripts,
        "the commands are missing",
    )
    for line in (
        "License-Expression: Apache-2.0",
        "Project-URL: Homepage",
        "Requires-Python: >=3.10",
        "Classifier: Operating System :: POSIX :: Linux",
        f"Version: {version()}",
    ):
        expect(f"\n{line}" in metadata, f"got no {line!r} in the metadata")
    relative = [link for link in re.findall(r"\]\(([^)]+)\)", metadata) if not link.startswith(("https://", "#"))]
    expect(not relative, f"got links that work in a checkout alone: {relative}")


def project(folder: Path) -> Path:
    """The example, with its artifact beside it."""
    folder.mkdir()
    text = (EXAMPLE / "memspec.yaml").read_text()
    for path in ("../../testdata/artifacts/torchvision/", "../../"):  # of the artifact, and of the profile
        text = text.replace(path, "")
    (folder / "memspec.yaml").write_text(text)
    shutil.copy(ARTIFACT, folder)
    shutil.copy(PROFILE, folder)
    return folder


def install(made: Path, folder: Path) -> None:
    """Into a separate environment, with nothing else on PATH; both commands, the plugin, no
    torch."""
    venv.create(folder / "venv", with_pip=True)
    bin = folder / "venv" / "bin"
    run(bin / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", made)
    environment = {k: v for k, v in os.environ.items() if k not in ("MEMSPEC", "PYTHONPATH")} | {"PATH": str(bin)}
    here = {"cwd": project(folder / "project"), "env": environment}
    said = run(bin / "memspec", "--version", **here)
    expect(said == f"memspec {version()}\n", f"got {said!r} from memspec --version")
    expect(run(bin / "memshim", "--help", **here).startswith("usage: "), "memshim --help")
    for command in ("memspec", "memshim"):
        said = run(bin / command, "check", **here)
        expect("3 cases: 2 pass, 1 warn" in said.splitlines(), f"got from {command} check:\n{said}")
    found = run(
        bin / "python",
        "-c",
        "import importlib.metadata as m; print([e.value for e in m.entry_points(group='pytest11')])",
        **here,
    )
    expect("memshim.judge.plugin" in found, "pytest finds no plugin")


def choose(dist: Path, target: str, folder: Path) -> str:
    """As pip of that system does, of all that is there; its program is run where it can be."""
    for platform in TARGETS[target][1]:
        site = folder / platform
        run(
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-index",
            "--find-links",
            dist,
            "--no-deps",
            "--only-binary",
            ":all:",
            "--platform",
            platform,
            "--python-version",
            "3.10",
            "--target",
            site,
            "memshim",
        )
        program = site / "memshim" / "bin" / ("memspec.exe" if target.startswith("windows") else "memspec")
        expect(program.is_file(), f"pip chose a wheel without {program.name} for {platform}")
        expect(
            system_of(program.read_bytes())[0] == target.removesuffix("-musl"),
            f"pip chose a wheel for another system for {platform}",
        )
        pretend = (site / "memshim" / "pretend" / "lib").is_dir()
        expect(not pretend, f"pip chose the wheel with the pretend GPU for {platform}")
    emulated = {
        "linux-amd64-musl": [],
        "linux-arm64": [found] if (found := shutil.which(EMULATOR) or shutil.which(EMULATOR + "-static")) else None,
    }.get(target)
    if emulated is None:
        return "pip installed it for its system, its program was looked at"
    said = run(*emulated, program, "--version", env={})
    expect(said == f"memspec {version()}\n", f"got {said!r}")
    said = run(*emulated, program, "check", cwd=project(folder / "project"), env={})
    expect("3 cases: 2 pass, 1 warn" in said.splitlines(), f"got from memspec check:\n{said}")
    return "pip installed it for its system, its program was run" + f" by {EMULATOR}" * bool(emulated)


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("dist", nargs="?", default=PYSHIM.parent / "dist", type=Path)
    p.add_argument("--only", action="append", choices=["sdist", *TARGETS], help="repeats")
    a = p.parse_args(arguments)
    wanted = a.only or ["sdist", *TARGETS]
    later = []  # tried once all are there
    a.dist = a.dist.resolve()  # setuptools runs elsewhere
    a.dist.mkdir(parents=True, exist_ok=True)
    for old in a.dist.glob("memshim-*"):
        old.unlink()
    made = []
    try:
        run(sys.executable, PYSHIM / "tools" / "dump_licences.py", "--check")
        for target in wanted:
            with tempfile.TemporaryDirectory(dir=a.dist) as scratch:
                folder = Path(scratch)
                if target == "sdist":
                    file = sdist(a.dist)
                    built = wheel(folder, "linux-amd64", file)
                    look(built, "linux-amd64")
                    how = "built into a wheel"
                    if a.only and "linux-amd64" not in a.only:
                        install(built, folder)
                        how += ", which was installed and run"
                else:
                    file = wheel(a.dist, target)
                    look(file, target)
                    how = "installed and run"
                    if TARGETS[target][1]:
                        later.append((file, target))
                    else:
                        install(file, folder)
                made.append(file)
                if not later or later[-1][0] != file:
                    print(f"{file.name}: {how}", flush=True)
        for file, target in later:
            with tempfile.TemporaryDirectory(dir=a.dist) as scratch:
                print(f"{file.name}: {choose(a.dist, target, Path(scratch))}", flush=True)
    except Wrong as e:
        print(f"release: {e}", file=sys.stderr)
        return 1
    sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(made)]
    (a.dist / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
