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


class _Row(NamedTuple):
    since: tuple[int, int]  # the first release of vLLM
    taken: Taken


CARD = "H100"  # in the names of the cards that the logs are of
# Newest first. A log has two decimals of a GiB.
_ROWS = (
    _Row(
        (0, 18),
        Taken(256 * MIB, 246 * MIB, 277 * MIB, "0.24 to 0.27 GiB in public logs of vLLM 0.19 on one H100"),
    ),
    _Row(
        (0, 0),
        Taken(133 * MIB, 128 * MIB, 138 * MIB, "0.13 GiB in public logs of vLLM up to 0.17 on one H100"),
    ),
)


def release(version: str) -> tuple[int, int]:
    """0, 19 of 0.19.0; 0, 0 of what is no release."""
    parts = version.split(".")
    numbers = [int(p) for p in parts[:2] if p.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def of(version: str, card: str) -> Taken:
    """What is charged for a release of vLLM on a card, by the driver's name of it."""
    row = next(r for r in _ROWS if release(version) >= r.since)
    if CARD in card:
        return row.taken
    return row.taken._replace(source=f"{row.taken.source}; no log of {card}")
