"""What a breakdown reads off a region's events: what was cached at a moment; and where the working directory is."""

import sys
import types

import pytest

import memshim
from memshim import workdir
from memshim.allocator.events import Event

pytest.importorskip("torch")
from memshim.look import breakdown


def cached(*actions, where="cuda"):
    region = types.SimpleNamespace(
        where=where, events=[Event(a, 1, size) for a, size in actions], now=lambda: {"reserved": 100}
    )
    return breakdown._cached(region, 1, 30)


def test_what_was_reserved_at_a_moment_is_what_is_now_less_what_came_later():
    before = [("segment_alloc", 40), ("alloc", 8)]
    assert cached(*before) == 70
    assert cached(*before, ("segment_alloc", 7), ("alloc", 5), ("segment_map", 3)) == 60
    assert cached(*before, ("segment_free", 7), ("segment_unmap", 3), ("free_completed", 5)) == 80
    assert cached(*before, where="cpu") is None


@pytest.mark.parametrize(
    "hidden, path, shown",
    [("/here", ["/lib"], ["/here", "/lib"]), ("", ["/lib"], ["/lib"]), ("/here", ["/lib", "/here"], ["/lib", "/here"])],
)
def test_the_working_directory_is_put_back_for_users_code(monkeypatch, hidden, path, shown):
    monkeypatch.setattr(memshim, "HIDDEN", hidden)
    monkeypatch.setattr(sys, "path", path)
    workdir.show()
    assert sys.path == shown
