"""torchtitan's own train.py with its own command line. Beside it, in the working folder, what its debug
model reads: a tokenizer and some text."""

import json
import runpy
from pathlib import Path

import tiny

tokenizer = Path("tests/assets/tokenizer")
text = Path("tests/assets/c4_test")
if not text.exists():
    tokenizer.mkdir(parents=True, exist_ok=True)
    tiny.tokenizer().save_pretrained(tokenizer)
    text.mkdir(exist_ok=True)
    rows = [json.dumps({"text": tiny.text(i, 4096)}) + "\n" for i in range(64)]
    Path(text, "data.json").write_text("".join(rows))
runpy.run_module("torchtitan.train", run_name="__main__")
