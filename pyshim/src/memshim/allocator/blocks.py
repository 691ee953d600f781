"""Which block each allocation got: the allocator's history says what was asked for and where it
lies; the block may be larger.

It is no simulation of what the allocator would choose. It follows what it chose, from a snapshot
on, event by event: a segment is cut where an allocation lies, and free neighbours join, by the
rules of c10/cuda/CUDACachingAllocator.cpp (should_split, try_merge_blocks, round_size).
"""

from __future__ import annotations

from typing import Any, NamedTuple

KIB, MIB = 1 << 10, 1 << 20
MIN_BLOCK = 512  # kMinBlockSize
SMALL = MIB  # kSmallSize: a large block is not cut for a rest of at most that
SMALL_SEGMENT = 2 * MIB  # kSmallBuffer: the small pool's segments, and no others


class Settings(NamedTuple):
    """Of PYTORCH_CUDA_ALLOC_CONF, what decides a block's size."""

    max_split: int = 0  # 0 is no limit
    expandable: bool = False
    divisions: tuple[int, ...] = ()  # roundup_power2_divisions, of 1 MiB, 2 MiB and so on

    @classmethod
    def of(cls, given: dict[str, Any]) -> Settings:
        """A snapshot's allocator_settings."""
        divisions = {int(k): v for k, v in (given.get("roundup_power2_divisions") or {}).items()}
        return cls(
            max(0, given.get("max_split_size") or 0),
            bool(given.get("expandable_segments")),
            tuple(divisions[k] for k in sorted(divisions)) if any(divisions.values()) else (),
        )

    def rounded(self, n: int) -> int:
        """round_size."""
        if n < MIN_BLOCK:
            return MIN_BLOCK
        if self.divisions:
            d = self.divisions[min(max(n.bit_length() - 21, 0), len(self.divisions) - 1)]
            if d > 1 and n > MIN_BLOCK * d:
                floor = 1 << n.bit_length() - 1
                step = floor // d
                return n if n == floor else 2 * floor if not step else -(-n // step) * step
        return -(-n // MIN_BLOCK) * MIN_BLOCK


class _Block:
    __slots__ = ("size", "free", "small", "before", "after")

    def __init__(self, size: int, free: bool, small: bool):
        self.size, self.free, self.small = size, free, small
        self.before: int | None = None  # the neighbours in its segment, by address
        self.after: int | None = None


class Blocks:
    """The blocks of one device. `alloc` and `freed` give the size of the block; what the blocks do
    not allow counts in `astray`, and a block is then as large as the request rounded."""

    def __init__(self, segments: list[dict[str, Any]], settings: Settings = Settings()):
        """segments are a snapshot's, of one device."""
        self.settings, self.astray = settings, 0
        self._at: dict[int, _Block] = {}
        self._lost: dict[int, int] = {}  # blocks whose segment is not known, by address
        for s in segments:
            self._add(
                s["address"], [(b["size"], b["state"] == "inactive") for b in s["blocks"]], s["segment_type"] == "small"
            )

    def _add(self, address: int, blocks: list[tuple[int, bool]], small: bool) -> None:
        last = None
        for size, free in blocks:
            b = self._at[address] = _Block(size, free, small)
            b.before = last
            if last is not None:
                self._at[last].after = address
            last, address = address, address + size

    def alloc(self, address: int, size: int) -> int:
        want, b = self.settings.rounded(size), self._at.get(address)
        if b is None or not b.free or b.size < want:
            self.astray += 1
            self._lost[address] = want
            return want
        rest = b.size - want
        if (
            rest >= MIN_BLOCK
            if b.small or self.settings.expandable
            else rest > SMALL and not 0 < self.settings.max_split <= want
        ):
            new = self._at[address + want] = _Block(rest, True, b.small)
            new.before, new.after = address, b.after
            if b.after is not None:
                self._at[b.after].before = address + want
            b.size, b.after = want, address + want
        b.free = False
        return b.size

    def size_of(self, address: int) -> int:
        """Of a block in use."""
        b = self._at.get(address)
        return b.size if b is not None and not b.free else self._lost.get(address, 0)

    def freed(self, address: int) -> None:
        """free_completed: the block can be had again."""
        b = self._at.get(address)
        if b is None or b.free:
            self.astray += address not in self._lost
            self._lost.pop(address, None)
            return
        b.free = True
        self._join(address)

    def _join(self, address: int) -> None:
        b = self._at[address]
        if b.after is not None and self._at[b.after].free:
            self._absorb(address, b.after)
        if b.before is not None and self._at[b.before].free:
            self._absorb(b.before, address)

    def _absorb(self, into: int, other: int) -> None:
        b, gone = self._at[into], self._at.pop(other)
        b.size += gone.size
        b.after = gone.after
        if b.after is not None:
            self._at[b.after].before = into

    def segment_event(self, action: str, address: int, size: int) -> None:
        """segment_alloc, segment_free, segment_map and segment_unmap; others change no block."""
        if action == "segment_alloc":
            self._add(address, [(size, True)], size == SMALL_SEGMENT)
        elif action == "segment_free":
            b = self._at.pop(address, None)
            self.astray += b is None or not b.free or b.before is not None or b.after is not None
        elif action == "segment_map":
            self._map(address, size)
        elif action == "segment_unmap":
            self._unmap(address, size)

    def _map(self, address: int, size: int) -> None:
        """Pages that lie beside mapped ones join them."""
        self._add(address, [(size, True)], False)
        b = self._at[address]
        following = self._at.get(address + size)
        if following is not None and following.before is None:
            b.after, following.before = address + size, address
        preceding = next((a for a, p in self._at.items() if p.after is None and a + p.size == address), None)
        if preceding is not None:
            self._at[preceding].after, b.before = address, preceding
        self._join(address)

    def _unmap(self, address: int, size: int) -> None:
        """Pages of a free block go."""
        start = next((a for a, b in self._at.items() if b.free and a <= address and address + size <= a + b.size), None)
        if start is None:
            self.astray += 1
            return
        b = self._at.pop(start)
        if b.before is not None:
            self._at[b.before].after = None
        if b.after is not None:
            self._at[b.after].before = None
        for at, length, before, after in (
            (start, address - start, b.before, None),
            (address + size, start + b.size - address - size, None, b.after),
        ):
            if length:
                part = self._at[at] = _Block(length, True, b.small)
                part.before, part.after = before, after
                if before is not None:
                    self._at[before].after = at
                if after is not None:
                    self._at[after].before = at

    def used(self) -> dict[int, int]:
        """The blocks in use: size by address."""
        return {a: b.size for a, b in self._at.items() if not b.free} | self._lost
