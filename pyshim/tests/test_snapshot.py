"""memspec's predicted snapshots are read by PyTorch's own functions, which know the format by
heart."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim import binary
from memshim.allocator import pytorch_snapshot, snapshot
from memshim.allocator.events import ANNOTATE, Event
from memshim.frames import Stacks

viz = pytest.importorskip("torch.cuda._memory_viz")
ARTIFACT = Path(__file__).parents[2] / "testdata" / "artifacts" / "torchvision" / "mobilenet_v3_small.script.pt"


def predicted(tmp_path, *more):
    """The snapshot of a prediction, and its estimate."""
    out = tmp_path / "run.pickle"
    said = binary.call(
        "estimate",
        str(ARTIFACT),
        "--input",
        "float32[2,3,224,224]",
        "--device",
        "t4",
        "--runtime",
        "eager",
        "--format",
        "json",
        "-o",
        str(out),
        *more,
    )
    assert said.code == 0, said.err
    with open(out, "rb") as f:
        return pickle.load(f), json.loads(said.out)


@pytest.mark.parametrize("conf", ["", "expandable_segments:True"])
def test_pytorch_reads_it(tmp_path, conf):
    snapshot, report = predicted(tmp_path, "--alloc-conf", conf)
    text = viz.segsum(snapshot)  # it adds up the blocks of each segment and asserts what they come to
    assert f"segments: {len(snapshot['segments'])}\n" in text
    text = viz.trace(snapshot)
    assert f"{len(snapshot['device_traces'][0])} entries" in text and "cudaMalloc" in text or conf
    lines = viz.segments(snapshot, format_flamegraph=lambda text: text).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sum(s["total_size"] for s in snapshot["segments"])
    assert any("mobilenetv3.py:" in line and "aten::conv2d" in line or "classifier.3.weight" in line for line in lines)
    assert viz.memory(snapshot, format_flamegraph=lambda text: text)
    assert not viz.compare(snapshot["segments"], snapshot["segments"], format_flamegraph=lambda text: text).strip(), (
        "it differs from itself in nothing"
    )
    for page in viz.trace_plot(snapshot), viz.segment_plot(snapshot):
        assert "MemoryViz.js" in page
    assert len(viz.filter_alloc_free_pairs(snapshot)["device_traces"][0]) <= len(snapshot["device_traces"][0])
    assert report["peak"]["reserved"] == peak(
        snapshot, "segment_map" if conf else "segment_alloc", "segment_unmap" if conf else "segment_free"
    )


def peak(snapshot, takes, gives):
    most = now = 0
    for e in snapshot["device_traces"][0]:
        now += e["size"] * ((e["action"] == takes) - (e["action"] == gives))
        most = max(most, now)
    return most


def test_the_web_viewer_draws_it(tmp_path):
    """MemoryViz.js draws nothing where events have categories and none of them is "unknown", and
    knows integers up to 2**53 only."""
    snapshot, report = predicted(tmp_path)
    events = snapshot["device_traces"][0]
    categories = {e.get("category") for e in events}
    assert "unknown" in categories and {"parameter", "activation", "input"} <= categories
    assert all(e["addr"] < 2**53 for e in events) and all(s["address"] < 2**53 for s in snapshot["segments"])
    held = {h["op"] for h in report["holders"]}
    assert held <= {f["name"] for e in events for f in e["frames"]}, "every holder of the peak is on a stack"


@pytest.mark.parametrize("index, traces", [(0, [True, False]), (1, [False, True])])
def test_a_regions_events_are_those_of_its_device(monkeypatch, index, traces):
    stacks, said = Stacks(), []
    stack = stacks.add([("a.py", 3, "f"), ("b.py", 4, "g")])
    events = [
        Event("alloc", 512, 100, stream=7, stack=stack, time=11),
        Event(ANNOTATE, 0, 0),
        Event("oom", 99, 4096, stack=stack),
        Event("free_completed", 512, 100),
    ]
    region = SimpleNamespace(index=index, events=events, stacks=stacks, mark=lambda: said.append("mark"))
    now = {"segments": ["s"], "device_traces": [["theirs"], ["theirs"]]}
    monkeypatch.setattr(pytorch_snapshot, "allocator_snapshot", lambda: said.append("snapshot") or now)
    frames = [{"filename": "a.py", "line": 3, "name": "f"}, {"filename": "b.py", "line": 4, "name": "g"}]
    seen = [
        {"action": "alloc", "addr": 512, "size": 100, "stream": 7, "time_us": 11, "frames": frames},
        {"action": "oom", "device_free": 99, "size": 4096, "stream": 0, "time_us": 0, "frames": frames},
        {"action": "free_completed", "addr": 512, "size": 100, "stream": 0, "time_us": 0, "frames": []},
    ]
    found = snapshot.snapshot(region)
    assert found == {"segments": ["s"], "device_traces": [seen if mine else [] for mine in traces]}
    assert found["device_traces"][index][0]["frames"] is found["device_traces"][index][1]["frames"], "a stack once"
    assert said == ["mark", "snapshot"]
