"""Recurrent layers on a pretend H100 ask for what they asked for on an H100."""

import csv
import json
from pathlib import Path

import torch

MEASURED = Path(__file__).parents[3] / "testdata" / "measured" / "h100-recurrent.csv"
FIGURES = ("inference", "training", "reserve", "weights", "backward")
NOTE = "workspace-estimate: cuDNN's recurrent layers, by a formula of cuDNN 9.19 on an H100"

# projections in training: backward asks for more, and no formula fits the one row
UNKNOWN = [("64", "20", "300", "128", "4")]


def rows():
    with MEASURED.open() as f:
        return list(csv.DictReader(f))


def expected(row):
    return [int(row[name]) for name in FIGURES]


def unknown(row):
    return tuple(row[name] for name in ("batch", "steps", "input", "hidden", "projected")) in UNKNOWN


def played(play, chosen, device="h100-sxm-80gb"):
    return play("recurrent", device, environ={"ROWS": json.dumps(chosen)})


def test_allocations_are_those_of_the_h100(play):
    """Every twelfth row, and all with projections."""
    chosen = [r for i, r in enumerate(rows()) if (i % 12 == 0 or r["projected"] != "0") and not unknown(r)]
    assert len(chosen) > 60
    seen = played(play, chosen)["rows"]
    assert [(r, s) for r, s in zip(chosen, seen, strict=True) if s != expected(r)] == []


def test_what_the_recording_does_not_cover_is_estimated(play):
    plain = [r for r in rows() if r["layers"] == "1" and r["directions"] == "1"][:1]
    recorded = torch.backends.cudnn.version() == 91900
    assert played(play, plain)["estimated"] == ([] if recorded else [NOTE])
    assert played(play, plain, "a100-sxm-40gb")["estimated"] == [NOTE]
    dropped = [plain[0] | {"layers": "3", "dropout": "0.5"}]
    assert played(play, dropped)["estimated"] == [NOTE]


def test_dropout_keeps_a_random_state_for_each_thread_of_the_card(play):
    """132 multiprocessors of 2048 threads, 24 bytes each: what the H100 asked for."""
    assert play(STATES, "h100-sxm-80gb")["states"] == [132 * 2048 * 24]


STATES = """
import json, torch
layer = torch.nn.LSTM(8, 8, 2, dropout=0.5).cuda()
torch.cuda.memory._record_memory_history("all", context=None)
layer(torch.zeros(4, 2, 8, device="cuda"))
trace = torch.cuda.memory._snapshot()["device_traces"][0]
print(json.dumps({"states": [e["size"] for e in trace if e["action"] == "alloc" and e["size"] == 6488064]}))
"""
