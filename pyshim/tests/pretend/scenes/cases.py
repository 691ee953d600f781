"""What scenes share: cases are functions; what they return is printed."""

import json
import sys
import time

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


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
