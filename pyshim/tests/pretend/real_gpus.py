"""What a pretend GPU says, against what real ones were measured to take
(testdata/pretend/measured.csv): the table for the torch of this Python.

    python pyshim/tests/pretend/real_gpus.py [five] [t4] [streams] [compiled]  # t4's language models want transformers

five: five classifiers, first pass, measured with torch 2.10 on a card of capability 8.9. t4:
training steps, measured with torch 2.11 on a Tesla T4.
streams: a decoder's recorded allocator events; the card is not said (events are those of 8.9), the
torch is 2.11 or 2.10.
compiled: a compiled training step's recorded events; its card is not said (the tuner's buffers are
of 48 MiB, a cache of Ada's), the torch is 2.10. Another torch, or another transformers, takes
otherwise; nothing is fitted.
"""

import csv
import dataclasses
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from conftest import play

from memshim.pretend import device, support

MEASURED = Path(__file__).parents[3] / "testdata" / "pretend" / "measured.csv"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "snapshots"  # large, and not in the repository
RECORDED = (  # length, what ran, options, segments, bytes reserved
    (128, "inference", (), 98, 1763704832),
    (128, "training", (), 377, 7235174400),
    (512, "inference", ("autocast",), 101, 1981808640),
    (512, "training", ("autocast",), 400, 12660506624),
)
COMPILED = CORPUS / "bcrafton__assignment2-systems__memory_snapshot.pickle"
FIGURES = {"five": ("baseline allocated", "peak allocated", "peak reserved"), "t4": ("peak allocated", "peak reserved")}


def measured(table):
    """row → figure → (value as it was published, its unit), in the order of the file."""
    out = {}
    with MEASURED.open() as f:
        for r in csv.DictReader(f):
            if r["table"] == table:
                out.setdefault(r["row"], {})[r["figure"]] = r["value"], r["unit"]
    return out


def pretended(table, rows=None):
    """row → figure → bytes."""
    scene, card = {"five": ("truth_five", "rtx-4090"), "t4": ("truth_t4", "t4")}[table]
    found = play(scene, card, *(rows or ()))
    broken = {row: v for row, v in found.items() if isinstance(v, dict)}
    assert not broken, broken
    return {row: dict(zip(FIGURES[table], v)) for row, v in found.items() if row in measured(table)}


def as_published(size, unit, like):
    """The bytes in the unit and with the decimals that were published."""
    return f"{size / 2**20:.{len(like.partition('.')[2])}f}" if unit == "MiB" else str(size)


def lines(table, found):
    for row, figures in measured(table).items():
        for figure, (value, unit) in figures.items():
            if row not in found:
                yield f"{row:31} {figure:19} {value:>10} {unit:3} not run: no transformers here"
                continue
            ours = as_published(found[row][figure], unit, value)
            off = 100 * (float(ours) / float(value) - 1)
            said = "equal" if ours == value else f"{off:+.2f} %" + (" under" if off < 0 else "")
            yield f"{row:31} {figure:19} {value:>10} {unit:3} {ours:>10}  {said}"


def text(table, found):
    torch = support.torch_here()
    body = list(lines(table, found))
    equal = sum(line.endswith("equal") for line in body)
    return (
        f"{table}: measured, and on a pretend GPU with torch {torch.version}: {equal} of {len(body)} equal\n"
        + "\n".join(body)
        + "\n"
    )


def snapshot(length, kind):
    return CORPUS / f"Wedsonlin__assignment2-systems__medium_{length}_{kind}_memory_snapshot.pickle"


def stream(length, kind, options):
    return play("decoder", "rtx-4090", str(snapshot(length, kind)), str(length), kind, *options)


def streams():
    """A line for each recording."""
    for length, kind, options, _, reserved in RECORDED:
        name = f"decoder, {length} tokens, {' '.join((kind, *options))}"
        if not snapshot(length, kind).is_file():
            yield f"{name:45} the recording is not here"
            continue
        seen = stream(length, kind, options)
        ours, recorded = seen["events"]
        held = seen["segments"][0][1]
        yield (
            f"{name:45} {seen['same']:6} of {recorded} events equal from the first, ours {ours}; "
            f"reserved {held} of {reserved}"
        )


def compiled():
    """What the scene saw of the recorded step."""
    card = dataclasses.replace(device.find("rtx-4070-ti"), l2=48 << 20)
    return play("compiled_decoder", card, str(COMPILED))


def compiled_lines():
    if not COMPILED.is_file():
        yield "compiled: the recording is not here"
        return
    seen = compiled()
    version = support.torch_here().version
    yield f"compiled training step: recorded with torch 2.10 on a GPU, and on a pretend GPU with torch {version}"
    yield f"{'events':16} {seen['same']} of {seen['events'][1]} equal from the first, ours {seen['events'][0]}"
    for figure, ours, real in (
        ("peak allocated", *seen["peak"]),
        ("allocated after", *map(sum, seen["blocks"])),
        ("reserved after", *map(sum, seen["segments"])),
        ("segments", *map(len, seen["segments"])),
    ):
        yield f"{figure:16} {real:>10} {ours:>10}  {'equal' if ours == real else f'{100 * (ours / real - 1):+.2f} %'}"


if __name__ == "__main__":
    for name in sys.argv[1:] or (*FIGURES, "streams", "compiled"):
        try:
            if name in ("streams", "compiled"):
                for line in {"streams": streams, "compiled": compiled_lines}[name]():
                    print(line, flush=True)
            else:
                print(text(name, pretended(name)), flush=True)
        except subprocess.TimeoutExpired as e:
            sys.exit(f"truth.py: {e}")
