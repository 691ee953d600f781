"""What a driver takes of a card while an engine starts, beside PyTorch's allocator: modules and
library handles. No rule gives these bytes. They are read off published logs, so that each is an
estimate with its source.
"""

from __future__ import annotations

from typing import NamedTuple

from memshim.sizes import MIB


class Taken(NamedTuple):
    """Bytes that the driver takes over an engine's profile run: what is charged, and the range that
    logs have. logged: the logs are of this release, this card and this number of GPUs."""

    bytes: int
    least: int
    most: int
    source: str
    logged: bool = True

    def as_json(self) -> dict[str, int | str]:
        return {"kind": "estimate", **self._asdict()}


CARD = "H100"  # in the names of the cards that the logs are of
LATER, EARLIER, SEVERAL = (0, 19), (0, 17), (2, 4)  # releases of the logs, and their numbers of GPUs but one
# A log has two decimals of a GiB.
_LATER = Taken(256 * MIB, 246 * MIB, 277 * MIB, "0.24 to 0.27 GiB in public logs of vLLM 0.19 on one H100")
_EARLIER = Taken(133 * MIB, 128 * MIB, 138 * MIB, "0.13 GiB in public logs of vLLM up to 0.17 on one H100")
# With NCCL, whose own memory at the start is not among it.
_SEVERAL = Taken(2109 * MIB, 2109 * MIB, 2264 * MIB, "2.06 to 2.21 GiB in public logs of vLLM 0.19 on 2 and 4 H100")


def release(version: str) -> tuple[int, int]:
    """0, 19 of 0.19.0; 0, 0 of what is no release."""
    parts = version.split(".")
    numbers = [int(p) for p in parts[:2] if p.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def of(version: str, card: str, gpus: int = 1) -> Taken:
    """What is charged for a release of vLLM on each of some cards, by the driver's name of them."""
    at = release(version)
    taken = (_LATER if at > EARLIER else _EARLIER) if gpus == 1 else _SEVERAL
    lacks = [
        what
        for what, logged in (
            (card, CARD in card),
            (f"vLLM {version}", at == LATER if taken is not _EARLIER else (0, 0) < at <= EARLIER),
            (f"{gpus} GPUs", gpus == 1 or gpus in SEVERAL),
        )
        if not logged
    ]
    if lacks:
        return taken._replace(source=f"{taken.source}; no log of {', '.join(lacks)}", logged=False)
    return taken
