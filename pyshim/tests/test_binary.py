"""The memspec binary: where it is found, when it is built, and what it answers."""

import os
import stat
import types

import pytest

from memshim import binary


def program(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without memspec, Go or a checkout."""
    monkeypatch.delenv("MEMSPEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(binary, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(binary, "checkout", lambda: None)
    return tmp_path


def test_there_is_none(machine):
    with pytest.raises(binary.BinaryError, match="got no memspec: set MEMSPEC, or put it on PATH"):
        binary.find()


def test_the_variable_comes_first(machine, monkeypatch):
    named = program(machine / "own" / "memspec")
    program(machine / "package" / "bin" / "memspec")
    monkeypatch.setenv("MEMSPEC", str(named))
    assert binary.find() == str(named)
    named.chmod(0o644)
    with pytest.raises(binary.BinaryError, match=f"got MEMSPEC={named}, which is no program that can be run"):
        binary.find()


def test_then_that_of_the_wheel_then_that_of_the_checkout_then_that_of_the_path(machine, monkeypatch):
    on_path = program(machine / "bin" / "memspec")
    assert binary.find() == str(on_path)
    monkeypatch.setattr(binary, "checkout", lambda: machine)
    monkeypatch.setattr(binary, "build", lambda root: f"built in {root}")
    assert binary.find() == str(on_path), "without Go nothing is built"
    program(machine / "bin" / "go")
    assert binary.find() == f"built in {machine}"
    beside = program(machine / "package" / "bin" / "memspec")
    assert binary.find() == str(beside)


def test_the_script_that_calls_this_is_not_it(machine):
    program(machine / "bin" / "memspec", "#!/usr/bin/python\nfrom memshim.binary import main\n")
    with pytest.raises(binary.BinaryError):
        binary.find()
    assert binary._ours(str(machine / "absent")) is False


def test_a_package_of_a_checkout_is_known(tmp_path):
    package = tmp_path / "pyshim" / "src" / "memshim"
    for made in (package, tmp_path / "cmd" / "memspec", tmp_path / "lib" / "src" / "memshim"):
        made.mkdir(parents=True)
    assert binary.checkout(package) is None
    (tmp_path / "go.mod").touch()
    assert binary.checkout(package) is None
    (tmp_path / "cmd" / "memspec" / "main.go").touch()
    assert binary.checkout(package) == tmp_path
    assert binary.checkout(tmp_path / "lib" / "src" / "memshim") is None, "it is installed there"


@pytest.fixture
def sources(tmp_path):
    for name in ("go.mod", "cmd/a.go", "engine/testdata/new.go", "engine/table.json", "cmd/new.txt", "internal/b.go"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000, 2000 if "new" in name else 1000))
    return tmp_path


@pytest.mark.parametrize("name", ["go.mod", "cmd/a.go", "engine/table.json", "internal/b.go"])
def test_the_newest_source(sources, name):
    assert binary.newest(sources) == 1000, "neither data of tests nor other files of commands"
    os.utime(sources / name, (1500, 1500))
    assert binary.newest(sources) == 1500


def test_it_is_built_where_it_is_older_than_a_source(sources, monkeypatch):
    built = []

    def run(command, cwd, env, **more):
        built.append((command[:2], cwd, env["CGO_ENABLED"]))
        program(type(sources)(command[command.index("-o") + 1]), "new")
        return types.SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(binary.subprocess, "run", run)
    out = sources / ".cache" / "memshim" / "memspec"
    assert binary.build(sources) == str(out) and out.read_text() == "new"
    assert built == [(["go", "build"], sources, "0")]
    assert stat.S_IMODE(out.parent.stat().st_mode) == 0o700 and os.listdir(out.parent) == ["memspec"]
    os.utime(out, (1000, 1000))
    assert binary.build(sources) == str(out) and len(built) == 1, "as old as the newest source"
    os.utime(out, (999, 999))
    assert binary.build(sources) and len(built) == 2


def test_what_the_compiler_says_is_the_error(sources, monkeypatch):
    failed = types.SimpleNamespace(returncode=1, stderr="a.go:1: no\n")
    monkeypatch.setattr(binary.subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(binary.BinaryError, match="go build ./cmd/memspec failed in .*:\na.go:1: no$"):
        binary.build(sources)
    (sources / ".cache" / "memshim").chmod(0o777)
    with pytest.raises(binary.BinaryError, match="want one that this user alone may write to"):
        binary.build(sources)


@pytest.fixture
def says(tmp_path, monkeypatch):
    """memspec is a script."""

    def write(text):
        monkeypatch.setenv("MEMSPEC", str(program(tmp_path / "memspec", "#!/bin/sh\n" + text)))

    return write


def test_what_it_wrote_and_how_it_ended(says, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    says('echo "$COLUMNS $*"; echo " wrong " >&2; exit 3')
    assert binary.call("check", "-v") == ("90 check -v\n", "wrong", 3)
    assert binary.call("check", columns=70).out == "70 check\n"


def test_its_json_is_read(says):
    says("""echo "{\\"a\\": \\"$*\\"}"; exit 1""")
    assert binary.ask("cases", "x", more=["--set", "y"]) == ({"a": "cases x --set y --format json"}, "", 1)
    says("echo why >&2; exit 2")
    assert binary.ask("cases") == (None, "why", 2)
    says("exit 2")
    assert binary.ask("cases", "x", more=["y"]) == (None, "memspec cases x said nothing", 2)
    says("echo usage: another; echo memspec")
    with pytest.raises(binary.BinaryError, match="got an answer that is not memspec's: usage: another$"):
        binary.ask("cases")


def test_the_command_is_the_binary(machine, monkeypatch, capsys):
    assert binary.main() == 2
    assert capsys.readouterr().err.startswith("memspec: got no memspec")
    became = []
    monkeypatch.setattr(binary.os, "execv", lambda *a: became.append(a))
    monkeypatch.setattr(binary.sys, "argv", ["memspec", "check", "-v"])
    on_path = program(machine / "bin" / "memspec")
    binary.main()
    assert became == [(str(on_path), ["memspec", "check", "-v"])]
