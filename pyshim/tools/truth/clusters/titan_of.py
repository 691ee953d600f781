"""torchtitan's own train.py of an earlier revision, of its source in the folder that TITAN names: with the
command line of that time. Beside it, in the working folder, what it reads: a tokenizer as Llama 3 has
one, of as many tokens, and some text."""

import base64
import contextlib
import json
import os
import runpy
import sys
from pathlib import Path

TOKENS = 128_000  # Llama 3's, without the 256 that have a meaning
TEXT = "the large cat sees a small red bird near that blue fish and likes it "

source = Path(os.environ["TITAN"])
if not Path("tests").exists():
    made = Path(f"tests.{os.getpid()}")  # other ranks may do the same at this moment
    text = made / "assets" / "c4_test"
    text.mkdir(parents=True)
    tokens = [bytes([i]) for i in range(256)] + [b"%06d" % i for i in range(TOKENS - 256)]
    lines = [base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens)]
    Path(made, "assets", "tokenizer.model").write_bytes(b"".join(lines))
    Path(text, "data.json").write_text("".join(json.dumps({"text": TEXT * 256}) + "\n" for _ in range(64)))
    with contextlib.suppress(OSError):  # another rank's is there
        made.rename("tests")
sys.path.insert(0, str(source))
program = next(p for p in (source / "train.py", source / "torchtitan" / "train.py") if p.exists())
runpy.run_path(str(program), run_name="__main__")
