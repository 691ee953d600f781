"""Write testdata/workspace/kinds.workspace.json: cuDNN's answers to one convolution of every kind,
and to the six whose workspaces a GPU recorded. Run it once a version of cuDNN:
python -m truth convolution-kinds [--cudnn DIR]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from memshim.workspace import cudnn, profiles, query, torchwheel

OUT = Path(__file__).parents[3] / "testdata" / "workspace" / "kinds.workspace.json"
CLASSES = ("sm75-small", "sm80", "sm89")
RECORDED_CLASSES = ("sm70", "sm75-small", "sm75-large", "sm80", "sm86", "sm89")

# The convolutions of a recorded run of JasperSolt/EoR_NN counterfactuals.py (float32, batch 1, 3×3,
# padding 1) in the order of the recording.
RECORDED = (
    ("forward", [1, 30, 256, 256], [16, 30, 3, 3]),
    ("forward", [1, 16, 128, 128], [32, 16, 3, 3]),
    ("forward", [1, 32, 64, 64], [64, 32, 3, 3]),
    ("dgrad", [1, 32, 64, 64], [64, 32, 3, 3]),
    ("dgrad", [1, 16, 128, 128], [32, 16, 3, 3]),
    ("dgrad", [1, 30, 256, 256], [16, 30, 3, 3]),
)


def call(direction: str, x: list[int], w: list[int], dtype: str = "float32", last: bool = False, **other) -> dict:
    n = len(x) - 2
    made = {
        "op": "conv",
        "direction": direction,
        "dtype": dtype,
        "input": x,
        "input_strides": cudnn.strides(x, last),
        "weight": w,
        "weight_strides": cudnn.strides(w, last),
        "padding": [1] * n,
        "stride": [1] * n,
        "dilation": [1] * n,
        "groups": 1,
        "allow_tf32": True,
    } | other
    return {k: v for k, v in made.items() if v is not False}


def recorded() -> list[dict]:
    return [call(*c) for c in RECORDED]


def kinds() -> list[dict]:
    """One to three dimensions, each direction, grouped, transposed, strided and dilated, each
    dtype, layout and flag."""
    out = []
    square, cube = ([8, 64, 56, 56], [64, 64, 3, 3]), ([2, 16, 8, 32, 32], [32, 16, 3, 3, 3])
    for dtype in cudnn.DTYPES:
        for direction in cudnn.OPERATIONS:
            out.append(call(direction, *square, dtype))
            out.append(call(direction, *cube, dtype))
            out.append(call(direction, [8, 64, 1, 512], [128, 64, 1, 3], dtype, padding=[0, 1]))
            out.append(call(direction, [8, 64, 56, 56], [128, 4, 3, 3], dtype, groups=16))
            if dtype != "float64":  # PyTorch keeps it contiguous
                out.append(call(direction, *square, dtype, last=True))
                out.append(call(direction, *cube, dtype, last=True))
                out.append(call(direction, [8, 64, 56, 56], [64, 1, 3, 3], dtype, last=True, groups=64))
        out.append(call("dgrad", [8, 32, 65, 64], [64, 32, 4, 4], dtype, stride=[2, 2]))
        out.append(call("forward", [8, 64, 56, 56], [64, 64, 3, 3], dtype, padding=[2, 2], dilation=[2, 2]))
        out.append(call("wgrad", *square, dtype, deterministic=True))
        out.append(call("forward", *square, dtype, benchmark=True))
    out.append(call("forward", *square, allow_tf32=False))
    return out


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cudnn", action="append", default=[])
    given = p.parse_args().cudnn
    cache = Path.home() / ".cache" / "memspec"
    folder, places = next(torchwheel.folders(given, cache))
    version, cuda = torchwheel.probe(str(folder))
    known, profile = profiles.load(OUT) if OUT.exists() else profiles.Profile(), profiles.Profile()
    for by in known.answerers():
        if by[1] != torchwheel.dotted(version):
            for e in known.entries(by):
                profile.add(by, e, e)
    for device_class in dict.fromkeys([*RECORDED_CLASSES, *CLASSES]):
        try:
            process = query.Process(str(folder), torchwheel.beside(cuda, places), device_class)
        except query.Unable as e:
            print(e, file=sys.stderr)
            continue
        calls = kinds() if device_class in CLASSES else []
        calls += recorded() if device_class in RECORDED_CLASSES else []
        for c in calls:
            try:
                profile.add(("cudnn", torchwheel.dotted(version), device_class), c, process.ask(c))
            except query.Refusal as e:
                print(f"{device_class}: {profiles.key(c)}: {e}", file=sys.stderr)
        process.close()
    profile.write(OUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
