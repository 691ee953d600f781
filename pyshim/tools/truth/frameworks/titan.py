"""torchtitan's own train.py with its own command line. Beside it, in the working folder, what its debug
model reads: a tokenizer and some text."""

import contextlib
import json
import os
import runpy
from pathlib import Path

import tiny

if not Path("tests").exists():
    made = Path(f"tests.{os.getpid()}")  # other ranks do the same at this moment
    text = made / "assets" / "c4_test"
    text.mkdir(parents=True)
    tiny.tokenizer().save_pretrained(made / "assets" / "tokenizer")
    rows = [json.dumps({"text": tiny.text(i, 4096)}) + "\n" for i in range(64)]
    Path(text, "data.json").write_text("".join(rows))
    with contextlib.suppress(OSError):  # another rank's is there
        made.rename("tests")
runpy.run_module("torchtitan.train", run_name="__main__")
