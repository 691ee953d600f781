"""Files that others may have put there are read without waiting, and only where they are files."""

import os

import pytest

from memshim import files
from memshim.allocator import recording
from memshim.origin import dependencies


@pytest.mark.parametrize("read", [files.open_regular, recording.header, dependencies.digest])
def test_a_pipe_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"Not a regular file: '.*pipe'$"):
        read(tmp_path / "pipe")


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").symlink_to("a")
    with files.open_regular(tmp_path / "b") as f:
        assert f.read() == b"text"
