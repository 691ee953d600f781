"""The cards that can be pretended: rows of memspec's own table, and rows that a user wrote under
`devices:`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from memshim import binary, sizes

FIGURES = ("l2", "clock_khz", "memory_clock_khz", "memory_bus_bits")
LIMITS = tuple(
    """
    threads_per_sm blocks_per_sm registers_per_sm shared_per_sm shared_per_block shared_optin shared_reserved
    """.split()
)


class UnknownDevice(ValueError):
    """A name that is in no row, or a row that is not one. The text says what was wanted."""


@dataclass(frozen=True)
class Device:
    """One card as programs see it. Sizes are bytes."""

    name: str
    driver: str  # its name as the driver spells it
    memory: int
    compute_capability: tuple[int, int]
    sms: int
    # what a CUDA context takes of it; at the lower bound where a range of it is known; None where nothing
    # is: nothing is taken off then
    context: int | None
    l2: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    # those of the four figures above that are not known of this card: they are those of the likest
    # row
    borrowed: tuple[str, ...]
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_per_sm: int
    shared_per_block: int
    shared_optin: int
    shared_reserved: int
    # the most that a context takes with what libraries load later, where a range of it is known
    context_high: int | None = None

    @property
    def sm(self) -> int:
        """86 for 8.6."""
        return self.compute_capability[0] * 10 + self.compute_capability[1]

    @property
    def uncertain(self) -> int:
        """How much more than `context` the context may take, bytes."""
        return max((self.context_high or 0) - (self.context or 0), 0)

    @property
    def nvlink(self) -> bool:
        """Whether boards of it are connected by NVLink wherever there are several: those of the SXM
        form, which the B200 alone has."""
        return "sxm" in self.name.split("-") or self.name == "b200"

    @property
    def multicast(self) -> bool:
        """Whether its switch sends to all boards of a node at once: NVLink SHARP, from compute
        capability 9.0 on."""
        return self.nvlink and self.compute_capability[0] >= 9

    def with_memory(self, memory: int | str) -> Device:
        """The same card with another size of memory."""
        size = sizes.parse(memory)
        if size <= (self.context or 0):
            raise UnknownDevice(
                f"got {sizes.show(size)} of memory for {self.name}, want more than its context of "
                f"{sizes.show(self.context or 0)}"
            )
        return replace(self, memory=size)

    def describe(self, kernels: int) -> str:
        """The line that the C library reads (native/device.c). kernels: the newest architecture
        that PyTorch's own kernels have for it."""
        values = {
            "name": self.driver.replace(";", " ").replace("\n", " "),
            "major": self.compute_capability[0],
            "minor": self.compute_capability[1],
            "kernels": kernels,
            "sms": self.sms,
            "memory": self.memory,
            "context": self.context or 0,
            "l2": self.l2,
            "clock_khz": self.clock_khz,
            "memory_clock_khz": self.memory_clock_khz,
            "bus_bits": self.memory_bus_bits,
            "multicast": int(self.multicast),
        }
        return ";".join(f"{k}={v}" for k, v in (values | {k: getattr(self, k) for k in LIMITS}).items())


@cache
def table() -> dict[str, Any]:
    """What `memspec devices` reports."""
    answer = binary.ask("devices")
    if answer.json is None or "capabilities" not in answer.json:
        raise binary.BinaryError(
            f"got no devices from {binary.find()}: {answer.err or 'it is an older memspec than this memshim'}"
        )
    return answer.json


def rows() -> list[dict[str, Any]]:
    """Every row that can be pretended: those for which memspec has no
    limits cannot."""
    known = {c["compute_capability"] for c in table()["capabilities"]}
    return [r for r in table()["devices"] if r["compute_capability"] in known]


def names() -> list[str]:
    return [r["name"] for r in rows()]


def canonical(name: str) -> str:
    """As rows spell it: "NVIDIA GeForce RTX 4090" is geforce-rtx-4090."""
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split()).removeprefix("nvidia-")


def find(name: str) -> Device:
    """A row of memspec's table by its name or one of its aliases."""
    wanted = canonical(name)
    for row in table()["devices"]:
        if wanted == row["name"] or wanted in row["aliases"]:
            return of_row(row)
    close = [n for n in names() if n.startswith(wanted)] or difflib.get_close_matches(wanted, names(), 3)
    hint = f": did you mean {' or '.join(close)}?" if close else ""
    raise UnknownDevice(f"got device {name!r}, want a known device{hint} (all: memspec devices)")


def capability(text: Any) -> tuple[int, int]:
    major, _, minor = str(text).partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise UnknownDevice(f"got compute capability {text!r}, want one such as 8.6")
    return int(major), int(minor)


def of_row(row: dict[str, Any]) -> Device:
    """A row of `memspec devices --format json`, or one of `devices:` with a name: {name, memory,
    compute_capability, sms, context}."""
    name = row.get("name") or "a device"
    unknown = sorted(
        row.keys()
        - {
            "name",
            "aliases",
            "memory",
            "memory_from",
            "compute_capability",
            "sms",
            "context",
            "context_range",
            "source",
            "driver",
            *FIGURES,
            "figures_source",
        }
    )
    if unknown:
        raise UnknownDevice(f"{name}: got {unknown[0]!r}, want name, memory, compute_capability, sms, context")
    if row.get("memory") is None or not row.get("compute_capability"):
        raise UnknownDevice(f"got device {name}, which is no card: want one with memory and a compute capability")
    sms = row.get("sms")
    if not isinstance(sms, int) or isinstance(sms, bool) or sms < 1:
        raise UnknownDevice(f"{name}: got sms {sms!r}, want a whole number from 1")
    of = capability(row["compute_capability"])
    limits = next((c for c in table()["capabilities"] if capability(c["compute_capability"]) == of), None)
    if limits is None:
        known = ", ".join(c["compute_capability"] for c in table()["capabilities"])
        raise UnknownDevice(
            f"{name}: got compute capability {row['compute_capability']}, want one of {known}: PyTorch 2.6 and newer "
            f"run on these"
        )
    context, high = row.get("context"), None
    if context is None and row.get("context_range"):
        # what every process takes, as memspec has it
        context, high = row["context_range"]["low"], row["context_range"]["high"]
    borrowed = tuple(k for k in FIGURES if not row.get(k))
    figures = {k: nearest(of, sms, k)[k] if k in borrowed else row[k] for k in FIGURES}
    return Device(
        name=name,
        driver=row.get("driver") or name,
        memory=sizes.parse(row["memory"]),
        compute_capability=of,
        sms=sms,
        context=None if context is None else sizes.parse(context),
        borrowed=borrowed,
        context_high=high,
        **figures,
        **{k: limits[k] for k in LIMITS},
    )


def of_case(row: dict[str, Any]) -> Device:
    """The device of a case, as `memspec cases` states it: a row of the table, with the memory that
    the case gives it, or one of `devices:`."""
    if not row["memory"]:
        raise UnknownDevice(
            f"got device {row['name']}, which is no card: want one with memory and a compute capability"
        )
    try:
        found = find(row["name"])
    except UnknownDevice:
        return of_row(
            {k: row[k] for k in ("name", "memory", "compute_capability", "sms", "context", *FIGURES) if row.get(k)}
        )
    return found if row["memory"] == found.memory else found.with_memory(row["memory"])


def nearest(of: tuple[int, int], sms: int, figure: str) -> dict[str, Any]:
    """The likest row that has the figure: the nearest capability, then the nearest number of
    multiprocessors."""

    def distance(r: dict[str, Any]) -> tuple[Any, ...]:
        its = capability(r["compute_capability"])
        return its[0] != of[0], abs(its[0] * 10 + its[1] - of[0] * 10 - of[1]), abs(r["sms"] - sms)

    return min((r for r in rows() if r[figure]), key=distance)
