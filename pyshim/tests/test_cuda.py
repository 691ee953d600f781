"""What is asked about a GPU where there is none, and recordings of real ones. What runs on a
pretend GPU is in gpu/."""

import json
import pickle
from pathlib import Path

import pytest

from memshim.allocator.blocks import Settings
from memshim.allocator.events import Event, read_entries
from memshim.allocator.history import at_peak, replay
from memshim.case import record, request
from memshim.frames import Stacks
from memshim.gpu import devices, where

torch = pytest.importorskip("torch")
jsonschema = pytest.importorskip("jsonschema")

MIB = 1 << 20
FRAME = {"filename": "/home/u/model.py", "line": 7, "name": "forward"}
ENTRIES = [
    {"action": "segment_alloc", "addr": 1000, "size": 2 * MIB, "stream": 0, "frames": [], "time_us": 1},
    {"action": "alloc", "addr": 1000, "size": 700, "stream": 0, "frames": [FRAME], "time_us": 2},
    {"action": "snapshot", "addr": 0, "size": 0, "stream": 0, "time_us": 2},
    {"action": "alloc", "addr": 3000, "size": 100, "stream": 0, "frames": [FRAME | {"line": 8}], "time_us": 3},
    {"action": "free_requested", "addr": 1000, "size": 700, "stream": 0, "frames": [], "time_us": 4},
    {"action": "free_completed", "addr": 1000, "size": 700, "stream": 0, "frames": [], "time_us": 5},
    {"action": "one of a later release", "addr": 3000, "size": 100, "stream": 0, "time_us": 5},
    {"action": "annotate", "addr": 3000, "size": 100, "stream": 0, "time_us": 5},
    {"action": "alloc", "addr": 1000, "size": 513, "stream": 7, "frames": [FRAME], "time_us": 6},
    {"action": "oom", "device_free": 55, "size": 9 * MIB, "stream": 0, "frames": [], "time_us": 7},
]


class Stored:
    """A history that has been recorded."""

    where, lost, settings = "cuda", "", Settings()

    def __init__(self, entries, before=0, highest=0, segments=()):
        self.stacks, self.before, self._highest, self.segments = Stacks(), {0: before}, highest, segments
        self.events = read_entries(entries, self.stacks)

    def peaks(self):
        return {"allocated": self._highest}


def test_entries_become_events():
    h = Stored(ENTRIES)
    assert [(e.action, e.key, e.size) for e in h.events] == [
        ("segment_alloc", 1000, 2 * MIB),
        ("alloc", 1000, 700),
        ("alloc", 3000, 100),
        ("free_requested", 1000, 700),
        ("free_completed", 1000, 700),
        ("annotate", 3000, 100),
        ("alloc", 1000, 513),
        ("oom", 55, 9 * MIB),
    ], "readings are no events"
    assert [c.bytes for c in replay(h)] == [1024, 512, -1024, 1024], (
        "blocks of 512 B; a block is free when that is asked for"
    )


def test_the_peak_by_line():
    p = at_peak(Stored(ENTRIES, before=5000))
    assert p.total == 5000 + 1024 + 512 and (p.before.mem, p.rounding, p.unknown) == (5000, 1536 - 800, 0)
    assert [(x.frame.line, x.mem, x.count) for x in p.lines] == [(7, 700, 1), (8, 100, 1)] and p.churn == 1313
    assert (p.oom.size, p.oom.free) == (9 * MIB, 55)
    p = at_peak(Stored(ENTRIES, before=5000, highest=7000))
    assert p.total == 7000 and p.unknown == 7000 - 6536, "what the allocator itself says counts"


SNAPSHOTS = Path(__file__).parents[3] / "shared" / "corpus" / "snapshots"


class Plain(pickle.Unpickler):
    """Data only: names nothing, so runs nothing."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"got the global {module}.{name}")


@pytest.mark.skipif(not (SNAPSHOTS / "replay.json").is_file(), reason="no snapshots of real GPUs here")
def test_recordings_of_real_gpus():
    """Against peaks rebuilt from the blocks at the end. Some begin in the middle of a program, in
    segments that nothing records of."""
    exact, worst = 0, 0.0
    for key, known in json.loads((SNAPSHOTS / "replay.json").read_text()).items():
        name, device = key.removeprefix("snapshots/").split("#")
        file = SNAPSHOTS / name
        if not file.is_file() or file.stat().st_size > 1_300_000 or not known["peak_allocated"]:
            continue
        snapshot = Plain(file.open("rb")).load()
        peak = at_peak(Stored(snapshot["device_traces"][int(device)], before=known["base_allocated"]))
        assert sum(x.mem for x in peak.lines) + peak.before.mem + peak.rounding + peak.unknown == peak.total
        exact += peak.total == known["peak_allocated"]
        worst = max(worst, abs(peak.total - known["peak_allocated"]) / known["peak_allocated"])
    assert exact >= 12, "of 16"
    assert worst < 0.0426, "measured; it may only get better"


def test_one_measurement_at_a_time(monkeypatch, tmp_path):
    """Across processes: here another one holds the GPU for a moment."""
    import subprocess
    import sys

    pytest.importorskip("fcntl")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(devices, "hinted", lambda: True)
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            """
import pathlib, sys, time
from memshim.case import request
from memshim.gpu import devices
devices.hinted = lambda: True
with request.alone("auto"):
    print("held", flush=True)
    sys.stdin.readline()
    time.sleep(1)
    pathlib.Path("released").touch()
""",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert other.stdout.readline() == "held\n"
    with request.alone("cpu"):  # CPU tensors wait for nobody: it is held until a line comes
        other.stdin.write("\n")
        other.stdin.flush()
    with request.alone("cuda"):
        assert (tmp_path / "released").exists()
    other.wait()


@pytest.mark.parametrize(
    "answer, used, driver",
    [
        ("GPU-1, 512\nGPU-2, 0\n", {"GPU-1": 512 * MIB, "GPU-2": 0}, "GPU-1"),
        ("GPU-1, [N/A]\n", None, "GPU-1"),
        ("", None, ""),
    ],
)
def test_nvidia_smi(tmp_path, monkeypatch, answer, used, driver):
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\nprintf '{answer}'\n".replace("\n'", "\\n'") if answer else "#!/bin/sh\nexit 9\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert devices.used() == used
    assert devices.driver_version() == driver, "its first cell"


def test_a_hidden_gpu_is_none(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.look() == devices.Seen(why="no GPU here")


@pytest.mark.parametrize(
    "body, want",
    [
        (
            """echo '[{"name": "Stand-in"}, {"name": "Another"}]'""",
            devices.Seen(({"name": "Stand-in"}, {"name": "Another"})),
        ),
        ("echo a warning; echo '[]'", devices.Seen(why="no GPU here")),
        ("exit 0", devices.Seen(why="no GPU here")),
        ("""echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1""", devices.Seen(why="no torch here")),
        (
            "echo Traceback >&2; echo 'ImportError: libcudart.so' >&2; exit 1",
            devices.Seen(why="PyTorch fails when asked for the GPU: ImportError: libcudart.so"),
        ),
        ("kill -9 $$", devices.Seen(why="PyTorch fails when asked for the GPU: it ended with -9")),
        ("exec sleep 60", devices.Seen(why="PyTorch gives no answer about the GPU in 0.2 s")),
    ],
)
def test_pytorch_is_asked_for_the_gpu(tmp_path, monkeypatch, body, want):
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{body}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(devices, "hinted", lambda: True)
    monkeypatch.setattr(devices, "PATIENCE", 0.2 if "sleep" in body else 60)
    monkeypatch.setattr("sys.executable", str(fake))
    assert devices.look() == want


@pytest.mark.parametrize(
    "name, count, error",
    [
        ("mps", 1, "got device 'mps', want cuda, cuda:N or cpu"),
        ("nonsense", 1, "got device 'nonsense', want cuda, cuda:N or cpu"),
        ("cuda", 0, "got device 'cuda', but PyTorch finds no GPU here"),
        ("cuda:1", 1, "got device 'cuda:1', but PyTorch finds 1 GPU here"),
    ],
)
def test_devices_that_are_not_there(monkeypatch, capsys, tmp_path, name, count, error):
    from memshim.__main__ import main

    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(ValueError) as e:
        where.of(name)
    assert str(e.value) == error
    script = tmp_path / "script.py"
    script.write_text("import torch\nm = torch.nn.Linear(1, 1)\n")
    for command in (
        ["trace", "--device", name, str(script)],
        ["track", "--device", name, "--at", "1", str(script)],
        ["profile", "--device", name, f"{script}:m", "--input", "float32[1,1]"],
    ):
        assert main(command) == 2
        assert error in capsys.readouterr().err.splitlines()[-1]


def test_events_keep_what_is_known():
    out, stacks = {}, Stacks()
    others, mine = stacks.add([("a.py", 1, "f"), ("b.py", 2, "g")]), stacks.add([("c.py", 3, "h"), ("b.py", 2, "g")])
    record.put_events(
        out, [Event("alloc", 1, 2), Event("annotate", 1, 2, 0, "", others), Event("alloc", 1, 2, 3, "op", mine)], stacks
    )
    assert out["events"] == [
        {"action": "alloc", "key": 1, "size": 2},
        {"action": "alloc", "key": 1, "size": 2, "stream": 3, "op": "op", "stack": 0},
    ]
    assert out["stacks"] == [[0, 1]] and [f["file"] for f in out["frames"]] == ["c.py", "b.py"], "those of its events"
