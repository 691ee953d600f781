"""What scenes share: cases are functions; what they return is printed."""

import json
import sys
import time

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def events_of(call):
    """The allocator's events of a call, in the words of testdata/measured/h100-*.csv: +N is an
    allocation of N bytes, -K the free of the K-th, counted from 0."""
    import torch

    torch.cuda.memory._record_memory_history("all", context=None)
    result = call()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    del result
    born, events = {}, []
    for e in trace:
        if e["action"] == "alloc":
            born[e["addr"]] = sum(w.startswith("+") for w in events)
            events.append(f"+{e['size']}")
        elif e["action"] == "free_requested":
            events.append(f"-{born[e['addr']]}")
    return " ".join(events)


def run():
    """Every case, or those named on the command line."""
    seen = {}
    for name in sys.argv[1:] or CASES:
        start = time.perf_counter()
        try:
            seen[name] = CASES[name]()
        except Exception as e:
            seen[name] = {"error": type(e).__name__, "text": str(e)}
        print(f"{name}: {time.perf_counter() - start:.2f} s", file=sys.stderr)
    print(json.dumps(seen))
