"""Recurrent layers of rows of testdata/measured/h100-recurrent.csv: what each asks the allocator
for. ROWS has the rows, as JSON."""

import json
import os

import cases
import torch
from cases import case


def allocations(call):
    torch.cuda.memory._record_memory_history("all", context=None)
    result = call()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return result, [e["size"] for e in trace if e["action"] == "alloc"]


def seen(row):
    """Inference's workspace, training's, its reserve, all weights, backward's workspace; bytes."""
    number = {k: int(row[k]) for k in ("batch", "steps", "input", "hidden", "layers", "directions", "projected")}
    dtype = getattr(torch, row["dtype"])
    layer = getattr(torch.nn, row["kind"])(
        number["input"],
        number["hidden"],
        number["layers"],
        bidirectional=number["directions"] == 2,
        dropout=float(row["dropout"]),
        **({"proj_size": number["projected"]} if number["projected"] else {}),
    ).to("cuda", dtype)
    sizes = number["steps"], number["batch"], number["input"]
    x = torch.zeros(sizes, device="cuda", dtype=dtype, requires_grad=True)
    (out, _), forward = allocations(lambda: layer(x))
    _, backward = allocations(lambda: out.sum().backward())
    layer.eval()
    with torch.no_grad():
        _, inference = allocations(lambda: layer(x))
    return [inference[-1], *forward[-2:], *backward[-2:]]


@case
def rows():
    return [seen(row) for row in json.loads(os.environ["ROWS"])]


@case
def estimated():
    from memshim import pretend

    return [c.name for c in pretend.report().estimated]


if __name__ == "__main__":
    cases.run()
