"""The C library of this process, through ctypes: which bytes of device memory are known, what was
read, what was refused (native/bytes.c, notes.c)."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memshim.pretend import build


class _Reads(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ulonglong), ("bytes", ctypes.c_ulonglong)]


class Note(NamedTuple):
    """A call or a size: refused, absent, unsized or estimated, or an unfollowed read; how often."""

    kind: str
    name: str
    count: int  # type: ignore[assignment]  # hides a method of tuple


COMMUNICATOR = 10  # numbers that native/communicators.c keeps of each
KINDS = ("refused", "absent", "unsized", "unfollowed", "estimated")


class Library:
    """The functions that native/ exports for Python. One a process."""

    def __init__(self) -> None:
        lib = ctypes.CDLL(build.LIBRARY)  # by its name: the one that is loaded
        if not hasattr(lib, "memspec_pretend_track"):
            raise OSError(f"got a {build.LIBRARY} that is not memshim's: this process has no pretend GPU")
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.known = lib.memspec_pretend_known
        self.known.argtypes = [pointer, size]
        self.chosen = lib.memspec_pretend_chosen
        self.chosen.argtypes = [pointer, size]
        self.untouched = lib.memspec_pretend_untouched
        self.untouched.argtypes = [pointer, size]
        self.wrote = lib.memspec_pretend_wrote
        self.wrote.argtypes, self.wrote.restype = [pointer, size, ctypes.c_int], None
        self.chose = lib.memspec_pretend_chose
        self.chose.argtypes, self.chose.restype = [pointer, size], None
        self.unknown = lib.memspec_pretend_unknown
        self.unknown.argtypes, self.unknown.restype = [pointer, size], None
        self.zero = lib.memspec_pretend_zero
        self.zero.argtypes, self.zero.restype = [pointer, size], None
        self.track = lib.memspec_pretend_track
        self.track.argtypes, self.track.restype = [ctypes.c_int, size], None
        self.answer = lib.memspec_pretend_answer
        self.answer.argtypes, self.answer.restype = [ctypes.c_uint64], None
        self.values = lib.memspec_pretend_values
        self.values.argtypes, self.values.restype = [ctypes.c_int], None
        self.split = lib.memspec_pretend_split
        self.split.argtypes, self.split.restype = [ctypes.c_int] * 4, None
        self.alone = lib.memspec_pretend_alone
        self.alone.argtypes, self.alone.restype = [ctypes.c_char_p, ctypes.c_int], None
        self.multicast = lib.memspec_pretend_multicast
        self.multicast.argtypes = [size]
        self.agreed = lib.memspec_pretend_agreed
        self.agreed.argtypes, self.agreed.restype = [ctypes.c_int], None
        self._communicator = lib.memspec_pretend_communicator
        self._communicator.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_int)]
        self._communicator.restype = ctypes.c_bool
        self.expect = lib.memspec_pretend_expect
        self.expect.argtypes, self.expect.restype = [ctypes.c_char_p, size, size, ctypes.c_int], None
        self.expect_end = lib.memspec_pretend_expect_end
        self.expect_end.restype = None
        self.answers_end = lib.memspec_pretend_answers_end
        self._take = lib.memspec_pretend_take
        self._take.argtypes, self._take.restype = [ctypes.c_int, size], ctypes.c_bool
        self._give = lib.memspec_pretend_give
        self._give.argtypes, self._give.restype = [ctypes.c_int, size], None
        self._note = lib.memspec_pretend_note
        self._note.argtypes = [
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_int),
            ctypes.POINTER(ctypes.c_char_p),
            ctypes.POINTER(ctypes.c_ulonglong),
        ]
        self._note.restype = ctypes.c_bool
        self._figures = lib.memspec_pretend_figures
        self._figures.restype = ctypes.c_char_p
        self._pinned = lib.memspec_pretend_pinned
        self._pinned.restype = ctypes.c_uint64
        lib.memspec_pretend_reads.restype = ctypes.POINTER(_Reads)
        lib.memspec_pretend_operators.restype = ctypes.POINTER(ctypes.c_int)
        self._lib, self._threads = lib, threading.local()

    def reads(self) -> _Reads:
        """Of bytes that are not known, by this thread: how many, and the size of the last."""
        reads: _Reads | None = getattr(self._threads, "reads", None)
        if reads is None:
            reads = self._threads.reads = self._lib.memspec_pretend_reads().contents
        return reads

    def operators(self) -> ctypes.c_int:
        """1 inside of an operator whose writes the library knows, -1 of one whose are not; the
        caller sets it."""
        operators: ctypes.c_int | None = getattr(self._threads, "operators", None)
        if operators is None:
            operators = self._threads.operators = self._lib.memspec_pretend_operators().contents
        return operators

    def figures(self) -> str:
        """The file, in the folder that MEMSPEC_PRETEND_FIGURES names, where this process's figures
        are kept; "" where none is wanted."""
        return (self._figures() or b"").decode()

    def pinned(self) -> int:
        """The peak of this process's page-locked memory of the host, bytes."""
        return int(self._pinned())

    def take(self, device: int, size: int) -> bool:
        """Take bytes of a device beside its allocations, as a driver does for modules; False where
        there is no room."""
        return bool(self._take(device, size))

    def give(self, device: int, size: int) -> None:
        """Give back bytes that take took."""
        self._give(device, size)

    def communicators(self) -> list[list[int]]:
        """What is kept of each of NCCL's communicators, in the order in which they were made
        (communicators.Communicator)."""
        numbers = (ctypes.c_int * COMMUNICATOR)()
        found: list[list[int]] = []
        while self._communicator(len(found), numbers):
            found.append(list(numbers))
        return found

    def notes(self) -> list[Note]:
        kind, name, count = ctypes.c_int(), ctypes.c_char_p(), ctypes.c_ulonglong()
        found: list[Note] = []
        while self._note(len(found), ctypes.byref(kind), ctypes.byref(name), ctypes.byref(count)):
            found.append(Note(KINDS[kind.value], (name.value or b"").decode(), count.value))
        return found


def gate_functions() -> ctypes.CDLL:
    """The functions of native/gate.c."""
    lib = Library()._lib
    lib.memspec_pretend_gate_current.restype = ctypes.c_void_p
    lib.memspec_pretend_gate_probed.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
    lib.memspec_pretend_gate_probed.restype = ctypes.c_uint64
    lib.memspec_pretend_gate_registered.restype = ctypes.c_uint64
    lib.memspec_pretend_gate_ready.restype = lib.memspec_pretend_gate_open.restype = ctypes.c_bool
    lib.memspec_pretend_gate_open.argtypes = [
        ctypes.c_uint16,
        ctypes.c_uint16,
        ctypes.c_uint64,
        ctypes.c_int64,
        ctypes.c_void_p,
    ]
    return lib


def hear(events: Iterable[str], act: Callable[[str, tuple[Any, ...]], None]) -> None:
    """Call act with Python's audit events of these names, and perhaps with others: where the library is
    not loaded it is a hook as Python has them, which is called for each id()."""
    if os.environ.get("MEMSPEC_PRETEND"):
        try:
            heard = ctypes.PyDLL(build.LIBRARY).memspec_pretend_hear
        except (OSError, AttributeError):
            pass
        else:
            heard.argtypes, heard.restype = [ctypes.c_char_p, ctypes.py_object], ctypes.c_bool
            if heard(f" {' '.join(events)} ".encode(), act):
                _heard.append(act)
                return
    sys.addaudithook(act)


_heard: list[Any] = []  # they stay


def stack_finder(make: Callable[[], str]) -> Callable[[], str] | None:
    """A function that gives what make does: the text of the stack of its caller's caller. It calls make
    once for each stack. None where this process has no such library, or Python is older than 3.11. It
    is called once in a process."""
    if not os.environ.get("MEMSPEC_PRETEND"):
        return None
    try:
        finder = ctypes.PyDLL(build.LIBRARY).memspec_pretend_stack_finder
    except (OSError, AttributeError):
        return None
    finder.argtypes, finder.restype = [ctypes.py_object], ctypes.c_void_p
    address = finder(make)
    if not address:
        return None
    found: Callable[[], str] = ctypes.cast(address, ctypes.py_object).value  # a reference more, for it stays
    return found
