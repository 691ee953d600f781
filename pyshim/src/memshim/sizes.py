"""Sizes in bytes: read and printed as memspec does, in IEC units only."""

from __future__ import annotations

import re

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
_UNITS = {"": 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse(text: str | float) -> int:
    """`1GiB`, `1.5 MiB`, `512B`, `4096`: bytes. A fraction of a byte is rounded."""
    if isinstance(text, int) and not isinstance(text, bool):
        if text < 0:
            raise ValueError(f"got size {text}, want 0 or more")
        return text
    m = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if not m:
        raise ValueError(f"got size {text!r}, want one such as 4096, 1.5GiB or 6 GiB")
    number, unit = m.groups()
    if unit not in _UNITS:
        meant = next(
            (u for u in _UNITS if u and u[0] == unit[0].upper() and unit[1:].lower() in ("", "i", "b", "ib")), ""
        )
        raise ValueError(f"got size {text!r}: the unit {unit!r}, want {meant or 'B, KiB, MiB, GiB or TiB'}")
    whole, _, fraction = number.partition(".")
    size = _UNITS[unit]
    return (
        int(whole) * size + (int(fraction) * size * 2 + 10 ** len(fraction)) // (2 * 10 ** len(fraction))
        if fraction
        else int(whole) * size
    )


def show(n: int) -> str:
    """For people: two decimals from 1 GiB up, one from 1 KiB up, whole bytes below."""
    sign, n = ("-", -n) if n < 0 else ("", n)
    units = [("TiB", TIB, 2), ("GiB", GIB, 2), ("MiB", MIB, 1), ("KiB", KIB, 1)]
    for i, (name, size, decimals) in enumerate(units):
        if n >= size:
            text = f"{n / size:.{decimals}f}"
            if i > 0 and text.startswith("1024"):  # 1023.99 MiB is 1.00 GiB, not 1024.0 MiB
                return f"{sign}{1:.{units[i - 1][2]}f} {units[i - 1][0]}"
            return f"{sign}{text} {name}"
    return f"{sign}{n} B"
