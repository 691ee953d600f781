"""Which values a pretend GPU gives where no kernel computed any. A run that is repeated in
another mode shows whether such a value decides about memory.

MEMSPEC_VALUES names the mode of a process; Values.choose changes it in a process that is forked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from memshim.pretend.value_reads import VALUES

Number = bool | int | float

BALANCED, LEAST, MOST, SKEWED = MODES = ("balanced", "least", "most", "skewed")
LARGE = 1e30  # a float in mode most: a size that is computed from it raises, a comparison with it takes the other side
NEGATIVE = -1.0  # a float in mode least: a comparison with zero takes the other side
BETWEEN = 0.5  # a float in mode skewed: a comparison with two positive limits takes the other side
MANY = 4096  # an integer without a known range in mode most: a loop over it still ends
# Reads of single values at one place, of chosen ones in a row of the same; from then on the opposite value is given,
# so that a loop ends.
ENDLESS = 4096

ASSUMED = {
    BALANCED: "indices spread evenly, other values zero",
    LEAST: "unknown values at the lower end of their range",
    MOST: "unknown values at the upper end of their range",
    SKEWED: "indices the same for nearly all, booleans flipped, floats one half",
}


def of_environment(environ: Mapping[str, str]) -> str:
    """The mode that MEMSPEC_VALUES names, balanced without it. ValueError for any other."""
    return checked(environ.get(VALUES) or BALANCED)


def checked(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"got {VALUES}={mode!r}, want one of {', '.join(MODES)}")
    return mode


def number(mode: str, value: Number, dtype: torch.dtype) -> Number:
    """What a read of one unknown value gives: value is what lies in memory, zero mostly."""
    if isinstance(value, bool):
        return {LEAST: False, MOST: True, SKEWED: not value}.get(mode, value)
    if mode == LEAST:
        return negative(dtype) if isinstance(value, float) else 0
    if mode == MOST:
        return large(dtype) if isinstance(value, float) else MANY
    return BETWEEN if mode == SKEWED and isinstance(value, float) else value


def large(dtype: torch.dtype) -> float:
    """A large finite number of a floating-point type."""
    return min(LARGE, torch.finfo(dtype).max) if dtype.is_floating_point else float(MANY)


def negative(dtype: torch.dtype) -> float:
    """A negative number of a floating-point type, zero of one that has none."""
    return NEGATIVE if not dtype.is_floating_point or torch.finfo(dtype).min < 0 else 0.0


def opposite(value: Number, dtype: torch.dtype, turn: int, chosen: bool = False) -> Number:
    """Another value, which ends a loop that waits for one. Floats take turns: a loop may wait for a
    large one, for zero or for a negative one. chosen: an integer has a range, which a large one would
    leave."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return (0.0, large(dtype), negative(dtype))[turn % 3]
    return 0 if value else 1 if chosen else MANY


def everywhere(mode: str, dtype: torch.dtype) -> Number | None:
    """What a copy of unknown values holds; None for what lies in memory."""
    if mode == LEAST:
        return negative(dtype) if dtype.is_floating_point else 0
    if mode == MOST:
        return True if dtype is torch.bool else large(dtype) if dtype.is_floating_point else MANY
    return BETWEEN if dtype.is_floating_point else dtype is torch.bool or None  # booleans flipped


def given(mode: str, value: Number | None, chosen: bool) -> str:
    """In words, what a read gave: "" for zero."""
    if not chosen and not value and mode == BALANCED:
        return ""
    if value is None:
        return ASSUMED[mode]
    shown = str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{shown}: {ASSUMED[mode]}"


def kind(value: Any) -> str:
    """Of what is read, by its type or dtype: bool, int or float."""
    if isinstance(value, torch.dtype):
        return "bool" if value is torch.bool else "float" if value.is_floating_point or value.is_complex else "int"
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"


def spread(mode: str, turn: int, rows: int, k: int, n: int) -> torch.Tensor:
    """rows x k indices below n, those of a row distinct (k <= n). Balanced: each index as often as
    any other, give or take one.
    Skewed: each turn has others, so that what several turns choose is distinct too."""
    if mode == BALANCED:
        places = torch.arange(rows * k, device="cpu")
        even = places % n if rows * k >= n else (2 * places + 1) * n // (2 * rows * k)
        return even.view(rows, k)
    row = torch.arange(k, device="cpu")
    if mode == MOST:
        row = n - 1 - row
    elif mode == SKEWED:
        row = (row + n // 2 + turn) % n
    return row.expand(rows, k)


def route(mode: str, turn: int, rows: int, k: int, n: int) -> torch.Tensor:
    """As spread, of what is chosen by scores. Where there are enough rows (tokens) for every index (expert), modes most
    and skewed give one index nearly all rows and each of the others some, at least one: all experts have gradients and
    states, and one has the largest temporaries. In mode most that is the last but one: in the backward pass
    it comes early, when most is still saved, and after the first gradients. In mode skewed it is the second."""
    if mode in (BALANCED, LEAST) or rows < n or n < 3 or k == n:
        return spread(mode, turn, rows, k, n)
    heavy = n - 2 if mode == MOST else 1
    light = [i for i in range(n) if i != heavy]
    row = [heavy, *light[: k - 1]]
    chosen = torch.tensor(row, device="cpu").repeat(rows, 1)
    rest = light[k - 1 :]
    chosen[: len(rest), -1] = torch.tensor(rest, device="cpu")
    return chosen
