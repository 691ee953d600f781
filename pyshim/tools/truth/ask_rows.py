"""Write testdata/workspace/rows.json: cuDNN's answers to the convolutions of five models (alexnet,
mobilenet_v3_small, resnet50, resnet101 and vgg16, one image of 224×224) in each direction, dtype
and layout, on four classes of devices.

    python -m truth convolution-rows [--cudnn DIR]      once a version of cuDNN

A convolution is a line "x w stride padding dilation groups", an answer "bytes/engine", "-" where
PyTorch's own kernels run. The answers of a version are those to forward convolutions, of "9.26.0
dgrad" and "9.26.0 wgrad" those to their gradients.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from memshim.workspace import cudnn, query, torchwheel

OUT = Path(__file__).parents[3] / "testdata" / "workspace" / "rows.json"
CLASSES = ("sm80", "sm86", "sm89", "sm90")
DTYPES = ("float32", "float16", "bfloat16")
LAYOUTS = ("contiguous", "channels_last")
DIRECTIONS = ("forward", "dgrad", "wgrad")
GROUPS = [(c, d, layout) for c in CLASSES for d in DTYPES for layout in LAYOUTS]


def call(line: str, dtype: str, layout: str, direction: str = "forward") -> dict:
    """A convolution's line as a call."""
    x, w, stride, padding, dilation, groups = line.split()
    sizes, weight = ([int(n) for n in text.split("x")] for text in (x, w))
    last = layout == "channels_last"
    return {
        "op": "conv",
        "direction": direction,
        "dtype": dtype,
        "input": sizes,
        "input_strides": cudnn.strides(sizes, last),
        "weight": weight,
        "weight_strides": cudnn.strides(weight, last),
        "padding": [int(padding)] * 2,
        "stride": [int(stride)] * 2,
        "dilation": [int(dilation)] * 2,
        "groups": int(groups),
        "allow_tf32": True,
    }


def native(c: dict, layout: str) -> bool:
    """Depthwise convolutions that are contiguous have kernels of PyTorch's own, and in half
    precision cuDNN's for these sizes."""
    return layout == "contiguous" and c["groups"] == c["input"][1] > 1 and c["dtype"] != "float16"


def load() -> dict:
    return json.loads(OUT.read_text())


def ask(
    lines: list[str],
    process: query.Process,
    device_class: str,
    direction: str = "forward",
    given: dict[str, dict[str, str]] | None = None,
) -> dict[str, list[str]]:
    """The library's own answers for a class, by class, dtype and layout. process: of that class.
    given: answers, by line, that it is not asked for."""
    out = {}
    for _, dtype, layout in (g for g in GROUPS if g[0] == device_class):
        answers = []
        for line in lines:
            if has := (given or {}).get(f"{device_class} {dtype} {layout}", {}).get(line):
                answers.append(has)
                continue
            c = call(line, dtype, layout, direction)
            if native(c, layout):
                answers.append("-")
                continue
            a = process.ask(c)
            answers.append(f"{a['bytes']}/{a['engine']}")
        out[f"{device_class} {dtype} {layout}"] = answers
    return out


def text(known: dict) -> str:
    def lists(d: dict) -> str:
        return ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in d.items())

    lines = ",\n".join("  " + json.dumps(line) for line in known["convolutions"])
    versions = ",\n".join(f" {json.dumps(v)}: {{\n{lists(a)}\n }}" for v, a in sorted(known["answers"].items()))
    return f'{{"convolutions": [\n{lines}\n],\n"answers": {{\n{versions}\n}}}}\n'


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cudnn", action="append", default=[])
    folder, places = next(torchwheel.folders(p.parse_args().cudnn, Path.home() / ".cache" / "memspec"))
    version, cuda = torchwheel.probe(str(folder))
    known = load()
    names = {d: torchwheel.dotted(version) + (f" {d}" if d != "forward" else "") for d in DIRECTIONS}
    known["answers"] |= {name: {} for name in names.values()}
    for device_class in CLASSES:
        process = query.Process(str(folder), torchwheel.beside(cuda, places), device_class)
        for direction, name in names.items():
            known["answers"][name] |= ask(known["convolutions"], process, device_class, direction)
        process.close()
    OUT.write_text(text(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
