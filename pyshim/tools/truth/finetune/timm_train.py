"""timm's train script, of its repository at a revision, for an epoch of made-up images: mixed precision,
an average of the weights, mixup, validation and checkpoints, as it is or compiled."""

import runpy
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
import sources  # beside truth's programs

REVISION = "aa4b5850"
ARGUMENTS = """
--model resnet18 --num-classes 4 --input-size 3 64 64 --batch-size 8 --epochs 1 --workers 1 --amp --model-ema
--mixup 0.2 --no-prefetcher
"""

compiled = ["--torchcompile"] if sys.argv[1] == "compiled" else []
folder = Path(tempfile.mkdtemp(prefix="timm-"))
sources.extract("huggingface/pytorch-image-models", REVISION, folder, "train.py")
for part in ("train", "validation"):
    for kind in range(4):
        of_kind = folder / "images" / part / str(kind)
        of_kind.mkdir(parents=True)
        for i in range(8):
            Image.new("RGB", (80, 80), (kind * 60, i * 30, 0)).save(of_kind / f"{i}.png")
places = ["--data-dir", str(folder / "images"), "--output", str(folder / "out")]
sys.argv = ["train.py", *places, *ARGUMENTS.split(), *compiled]
runpy.run_path(str(folder / "train.py"), run_name="__main__")
