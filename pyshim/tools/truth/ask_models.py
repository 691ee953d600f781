"""Write testdata/workspace/models.json: cuDNN's answers to the convolutions of 22 models, in each
direction, float32 and float16, two layouts. Run it once for each version of cuDNN:

    python -m truth convolution-models [--cudnn DIR] [--class CLASS]...

The file has the convolutions as lines "x w stride padding dilation groups" (a single number is for
all dimensions): first those that the formula of engine/workspace was fitted to, then those held
out. The answers of a version, device class, dtype, layout and direction are one text: bytes/engine
of each line, or - where PyTorch's own kernels run or cuDNN has no plan.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from memshim.workspace import cudnn, query, torchwheel

OUT = Path(__file__).parents[3] / "testdata" / "workspace" / "models.json"
CLASSES = ("sm75-small", "sm80", "sm89", "sm90", "sm120")
DTYPES = ("float32", "float16")
LAYOUTS = ("contiguous", "channels_last")
DIRECTIONS = ("forward", "dgrad", "wgrad")


def call(line: str, dtype: str, layout: str, direction: str) -> dict:
    """A convolution's line as a call."""
    x, w, *rest, groups = ([int(n) for n in text.split("x")] for text in line.split())
    stride, padding, dilation = (n * (len(x) - 2) if len(n) == 1 else n for n in rest)
    last = layout == "channels_last"
    return {
        "op": "conv",
        "direction": direction,
        "dtype": dtype,
        "input": x,
        "input_strides": cudnn.strides(x, last),
        "weight": w,
        "weight_strides": cudnn.strides(w, last),
        "padding": padding,
        "stride": stride,
        "dilation": dilation,
        "groups": groups[0],
        "allow_tf32": True,
    }


def native(c: dict, layout: str) -> bool:
    """Depthwise convolutions that are contiguous have PyTorch's own kernels, and in half precision
    cuDNN's for some sizes."""
    return layout == "contiguous" and c["groups"] == c["input"][1] > 1 and c["dtype"] != "float16"


def lines(known: dict) -> list[str]:
    return known["fitted"] + known["held_out"]


def answer(process: query.Process, c: dict, layout: str) -> str:
    if native(c, layout):
        return "-"
    try:
        a = process.ask(c)
    except query.Refusal:
        return "-"
    return f"{a['bytes']}/{a['engine']}"


def load() -> dict:
    return json.loads(OUT.read_text())


def text(known: dict) -> str:
    def block(items: list[str]) -> str:
        return ",\n".join(f"  {item}" for item in items)

    fitted, held = (block([json.dumps(line) for line in known[half]]) for half in ("fitted", "held_out"))
    answers = block([f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(known["answers"].items())])
    return f'{{"fitted": [\n{fitted}\n],\n"held_out": [\n{held}\n],\n"answers": {{\n{answers}\n}}}}\n'


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cudnn", action="append", default=[])
    p.add_argument("--class", action="append", dest="classes", choices=CLASSES)
    given = p.parse_args()
    folder, places = next(torchwheel.folders(given.cudnn, Path.home() / ".cache" / "memspec"))
    version, cuda = torchwheel.probe(str(folder))
    known = load()
    for device_class in given.classes or CLASSES:
        process = query.Process(str(folder), torchwheel.beside(cuda, places), device_class)
        for dtype in DTYPES:
            for layout in LAYOUTS:
                for direction in DIRECTIONS:
                    group = f"{torchwheel.dotted(version)} {device_class} {dtype} {layout} {direction}"
                    known["answers"][group] = " ".join(
                        answer(process, call(line, dtype, layout, direction), layout) for line in lines(known)
                    )
        process.close()
    OUT.write_text(text(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
