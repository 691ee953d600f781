"""python -m memshim: which command runs, and what an error of it comes to."""

import signal
import sys
import types

import pytest

from memshim import __main__


@pytest.fixture
def command(monkeypatch):
    """Two commands, of which what is given is done."""
    module = types.ModuleType("given_command")
    monkeypatch.setitem(sys.modules, "given_command", module)
    monkeypatch.setattr(
        __main__, "COMMANDS", {"check": ("given_command", "one"), "trace": ("given_command:other", "two")}
    )
    before = signal.getsignal(signal.SIGTERM)
    yield module
    signal.signal(signal.SIGTERM, before)


def test_a_command_gets_the_other_words(command):
    command.main, command.other = (lambda rest: len(rest)), (lambda rest: 40 + len(rest))
    assert (__main__.main(["check", "a", "b"]), __main__.main(["trace", "a"])) == (2, 41)


def test_without_a_command_there_is_help(command, capsys):
    assert __main__.main([]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", __main__.usage() + "\n")
    for word in ("-h", "--help"):
        assert __main__.main([word]) == 0
        assert capsys.readouterr().out == __main__.usage() + "\n"
    assert __main__.usage().splitlines()[2:4] == ["  check  one", "  trace  two"]


def test_the_version_is_known_where_it_is_installed(capsys):
    assert [__main__.main([w]) for w in ("version", "--version")] == [0, 0]
    assert capsys.readouterr().out.startswith("memshim ")


def test_a_command_that_is_none(command, capsys):
    assert __main__.main(["chek"]) == 2
    assert capsys.readouterr().err == "memshim: got command 'chek', want one of check, trace\n"


@pytest.mark.parametrize("words, ends", [(["check"], True), (["check", "--request", "-"], False), (["trace"], False)])
def test_a_command_with_processes_ends_them_when_it_is_asked_to_end(command, words, ends):
    command.main = command.other = lambda rest: 0
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    __main__.main(words)
    assert (signal.getsignal(signal.SIGTERM) is __main__._end) is ends
    with pytest.raises(SystemExit) as e:
        __main__._end(15, None)
    assert e.value.code == 143


def raising(error):
    def act(rest):
        raise error

    return act


@pytest.mark.parametrize(
    "error, code, last, traced",
    [
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2, "memshim: got no PyTorch", False),
        (ModuleNotFoundError("No module named 'x'", name="x"), 2, "memshim: got no package x", True),
        (FileNotFoundError(2, "No such file", "a.yaml"), 2, "memshim: FileNotFoundError: ", False),
        (ValueError("wrong"), 2, "memshim: ValueError: wrong", True),
        (KeyboardInterrupt(), 130, "memshim: interrupted", False),
    ],
)
def test_an_error_is_named_on_the_last_line(command, monkeypatch, capsys, error, code, last, traced):
    from memshim.case import errors

    monkeypatch.setattr(errors, "TORCH_MISSING", "got no PyTorch")
    command.main = raising(error)
    assert __main__.main(["check"]) == code
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith(last) and ("Traceback" in said) is traced


def test_an_error_of_a_users_script_is_the_scripts(command):
    command.other = raising(ValueError("wrong"))
    with pytest.raises(ValueError, match="wrong"):
        __main__.main(["trace"])
