"""Write the calls of samples/later.py, samples/limits.py and samples/wider.py and what PyTorch does
with them, as dump_samples.py does.

    python -m truth later-samples testdata/aten [written written_limits written_wider]

writes testdata/aten/<torch major.minor>/samples/written.jsonl and files beside it, whose names are
the last: lists of exceptions name a call by its number among the operator's in all files. A
call that PyTorch does not take, and is not to refuse, is a problem and reported.
"""

import gc
import logging
import sys
import warnings
from pathlib import Path

import torch  # noqa: F401
import torchvision  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))

from dump_samples import dumped
from dump_schemas import release
from samples import host, later, limits, wider
from samples.record import Refused, record
from samples.resolve import Unresolved

FILES = {"written": later, "written_limits": limits, "written_wider": wider}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()  # each call is collected after
    problems = 0
    for name in sys.argv[2:] or FILES:
        lines = []
        for call in sorted(FILES[name].CALLS, key=lambda c: c.op):
            try:
                lines.append(dumped(record(call)))
            except (Refused, Unresolved) as e:
                problems += 1
                print(f"problem: {call.op}: {str(e)[:200]} {call.args} {call.kwargs}", file=sys.stderr)
        lines += [dumped(host.record(c)) for c in FILES[name].HOST]
        out = Path(sys.argv[1]) / release() / "samples" / f"{name}.jsonl"
        out.write_text("\n".join(dict.fromkeys(lines)) + "\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
