"""What a driver takes of a card while an engine starts, beside PyTorch's allocator: modules and
library handles. No rule gives these bytes. They are read off published logs, so that each is an
estimate with its source.
"""

from __future__ import annotations

from typing import NamedTuple

from memshim.sizes import MIB


class Taken(NamedTuple):
    """Bytes that the driver takes over an engine's profile run: what is charged, and the range that
    logs have."""

    bytes: int
    least: int
    most: int
    source: str

    def as_json(self) -> dict[str, int | str]:
        return {"kind": "estimate", **self._asdict()}


CARD = "H100"  # in the names of the cards that the logs are of
# By the first release of vLLM, newest first. A log has two decimals of a GiB.
_ONE_GPU = (
    ((0, 18), Taken(256 * MIB, 246 * MIB, 277 * MIB, "0.24 to 0.27 GiB in public logs of vLLM 0.19 on one H100")),
    ((0, 0), Taken(133 * MIB, 128 * MIB, 138 * MIB, "0.13 GiB in public logs of vLLM up to 0.17 on one H100")),
)
# With NCCL, whose own memory at the start is not among it.
_SEVERAL = Taken(2109 * MIB, 2109 * MIB, 2264 * MIB, "2.06 to 2.21 GiB in public logs of vLLM 0.19 on 2 and 4 H100")


def release(version: str) -> tuple[int, int]:
    """0, 19 of 0.19.0; 0, 0 of what is no release."""
    parts = version.split(".")
    numbers = [int(p) for p in parts[:2] if p.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def of(version: str, card: str, gpus: int = 1) -> Taken:
    """What is charged for a release of vLLM on each of some cards, by the driver's name of them."""
    taken = next(t for since, t in _ONE_GPU if release(version) >= since) if gpus == 1 else _SEVERAL
    return taken if CARD in card else taken._replace(source=f"{taken.source}; no log of {card}")
