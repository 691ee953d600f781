"""The cases of a memspec.yaml, as the memspec binary reads them."""

from __future__ import annotations

from memshim import binary


class SpecError(Exception):
    """The file cannot be read. The text is memspec's, one line an error."""


def ask(*arguments: str) -> dict:
    """memspec's answer; SpecError where it gives none."""
    answer = binary.ask(*arguments)
    if answer.json is None:
        raise SpecError(answer.err)
    return answer.json


def selected(spec: str, names: list[str]) -> list[str]:
    """The arguments that name a file and some of its cases."""
    return [str(spec), *(word for n in names for word in ("--case", n))]


def load(spec: str, names: list[str] = ()) -> list[dict]:
    """Every case, or those named: its exact name, else with * and ?."""
    return ask("cases", *selected(spec, list(names)))["cases"]


def check(spec: str, names: list[str] = (), extra: list[str] = ()) -> dict:
    """memspec check, as JSON."""
    return ask("check", *selected(spec, list(names)), *extra)


def message(spec: str, name: str, extra: list[str] = ()) -> str:
    """What memspec check says of one case: the text of a failing go test. Its last line, which counts, is left out."""
    out, said, _ = binary.call("check", *selected(spec, [name]), *extra)
    return "\n".join(out.rstrip("\n").split("\n")[:-1]) or said


def headline(spec: str, name: str) -> str:
    """The message's first line, whatever its length."""
    out, _, _ = binary.call("check", *selected(spec, [name]), columns=1_000_000)
    return out.partition("\n")[0]
