"""The header of a .rec, which anybody may have written."""

from __future__ import annotations

import gzip

import pytest

from memshim.allocator import recording


def test_first_line_is_limited(tmp_path, monkeypatch):
    path = tmp_path / "m.rec"
    line = b'{"record": {"made": 1}}'
    path.write_bytes(gzip.compress(line + b"\n"))
    monkeypatch.setattr(recording, "MOST_HEADER", len(line) + 1)
    assert recording.header(path) == {"made": 1}
    monkeypatch.setattr(recording, "MOST_HEADER", len(line))
    with pytest.raises(ValueError, match="got a first line of more than 23 characters"):
        recording.header(path)
