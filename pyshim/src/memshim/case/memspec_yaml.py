"""The cases of a memspec.yaml, as the memspec binary reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memshim import binary

if TYPE_CHECKING:
    from memshim.workspace.answers import Queried


class SpecError(Exception):
    """The file cannot be read. The text is memspec's, one line an error."""


def ask(*arguments: str) -> dict[str, Any]:
    """memspec's answer; SpecError where it gives none."""
    return read(binary.ask(*arguments))


def read(answer: binary.Answer) -> dict[str, Any]:
    if answer.json is None:
        raise SpecError(answer.err)
    return answer.json


def selected(spec: str, names: Sequence[str]) -> list[str]:
    """The arguments that name a file and some of its cases."""
    return [str(spec), *(word for n in names for word in ("--case", n))]


def load(spec: str, names: Sequence[str] = (), device: str = "", shard: str = "") -> list[dict[str, Any]]:
    """Every case, or those named: its exact name, else with * and ?; on another device than the
    file says where one is given. shard: of these, one part such as 2/8, as memspec check has it."""
    given = [word for flag, value in (("--device", device), ("--shard", shard)) if value for word in (flag, value)]
    cases: list[dict[str, Any]] = ask("cases", *selected(spec, names), *given)["cases"]
    return cases


def check(
    spec: str, names: Sequence[str] = (), extra: Sequence[str] = (), queried: Queried | None = None
) -> dict[str, Any]:
    """memspec check, as JSON; with cuDNN's own answers where somebody asks for them."""

    def run(more: list[str]) -> binary.Answer:
        return binary.ask("check", *selected(spec, names), *extra, more=more)

    return read(queried.settle(run) if queried is not None else run([]))


def message(spec: str, name: str, extra: Sequence[str] = ()) -> str:
    """What memspec check says of one case: the text of a failing go test. Its last line, which
    counts, is left out."""
    out, said, _ = binary.call("check", *selected(spec, [name]), *extra)
    return "\n".join(out.rstrip("\n").split("\n")[:-1]) or said


def headline(spec: str, name: str, extra: Sequence[str] = ()) -> str:
    """The message's first line, whatever its length."""
    out, _, _ = binary.call("check", *selected(spec, [name]), *extra, columns=1_000_000)
    return out.partition("\n")[0]
