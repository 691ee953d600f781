"""Makes and checks the truth that memspec's tests hold: PYTHONPATH=pyshim/tools python -m truth VERB
[ARGUMENTS]

Without a verb it lists them, with what each makes. `python -m truth VERB --help`, or the first lines
of its file, say what it needs.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Verb(NamedTuple):
    file: str  # beside this one
    arguments: str
    makes: str  # below testdata, where no other folder is named; in parentheses what is only printed


VERBS = {
    "schemas": Verb(
        "dump_schemas.py", "testdata/aten", "aten/*/schemas.txt, aten/*/autocast.txt, aten/*/autocast_script.txt"
    ),
    "samples": Verb("dump_samples.py", "testdata/aten [DOMAIN…]", "aten/*/samples/DOMAIN.jsonl"),
    "values": Verb("dump_values.py", "testdata/aten", "aten/*/samples/values.jsonl"),
    "later-samples": Verb(
        "dump_later.py",
        "testdata/aten",
        "aten/*/samples/written.jsonl, aten/*/samples/written_limits.jsonl, aten/*/samples/written_wider.jsonl",
    ),
    "varied-host": Verb("dump_varied_host.py", "testdata/aten [OP…]", "aten/*/samples/written_varied_host.jsonl"),
    "other-paths": Verb("dump_ways.py", "testdata/aten [OP…]", "aten/*/samples/written_ways.jsonl"),
    "refused": Verb("dump_refused.py", "testdata/aten [OP…]", "aten/*/refused.jsonl"),
    "views": Verb("dump_views.py", "testdata/aten", "aten/*/fake_views.txt"),
    "choices": Verb("dump_choices.py", "testdata/aten", "aten/*/choices"),
    "devices": Verb("dump_devices.py", "testdata/aten t4 a10g h100-sxm-80gb", "aten/*/devices"),
    "shims": Verb("dump_shims.py", "engine/artifact/aotinductor/shims.txt", "engine/artifact/aotinductor/shims.txt"),
    "models": Verb(
        "record_models.py", "[--check] [MODEL…]", "artifacts/torchvision, artifacts/small, conformance/*-fake-cuda"
    ),
    "settings": Verb("record_settings.py", "[--check] [NAME…]", "conformance/*-settings"),
    "export-small": Verb("export_small.py", "FOLDER [NAME…]", "artifacts/exported, after memspec strip"),
    "export-models": Verb("export_models.py", "FOLDER [NAME…]", "artifacts/exported/models, after memspec strip"),
    "exported": Verb("record_exported.py", "DEVICE ARCHIVES FOLDER [NAME…]", "conformance/*-exported"),
    "compiled": Verb("record_compiled.py", "DEVICE PACKAGES testdata/compiled [NAME…]", "compiled"),
    "convolution-kinds": Verb("ask_kinds.py", "[--cudnn DIR]", "workspace/kinds.workspace.json"),
    "convolution-rows": Verb("ask_rows.py", "[--cudnn DIR]", "workspace/rows.json"),
    "convolution-models": Verb("ask_models.py", "[--cudnn DIR]", "workspace/models.json"),
    "attention": Verb("ask_attention.py", "[--cudnn DIR]", "workspace/attention.json"),
    "oracle": Verb("oracle/__main__.py", "CATALOG --cache DIR -o FILE [MODEL…]", "pretend/engine"),
    "releases": Verb("truth_releases.py", "[CATALOG…]", "(a table of predictions beside the PyTorch of this Python)"),
    "oracle-part": Verb("oracle/part.py", "CATALOG MODEL DEVICE", "(where a run and its prediction part)"),
    "value-modes": Verb("truth_values.py", "[CASE…]", "(a table of modes beside real values)"),
    "xmem": Verb(
        "xmem.py",
        "[language] [convolutional]",
        "(measured training peaks beside a pretend GPU's and those of four estimators)",
    ),
    "finetune": Verb(
        "truth_finetune.py",
        "[--on DEVICE] [NAME…]",
        "(which programs of fine-tuning libraries work and what they take)",
    ),
    "frameworks": Verb(
        "truth_frameworks.py",
        "[--on DEVICE] [--world N] [NAME…]",
        "(which programs of distributed training's frameworks work and what their ranks take)",
    ),
    "fit": Verb(
        "truth_fit.py",
        "[--on CARD] [NAME…] [finders]",
        "(the largest batch that memshim fit finds beside runs of every batch around it)",
    ),
    "clusters": Verb(
        "truth_clusters.py", "[--release RELEASE] [ROW…]", "(published peaks of real clusters beside a rank alone)"
    ),
    "generate": Verb(
        "truth_generate.py", "[--on CARD] [ROW…]", "(what transformers' generate takes with each kind of cache)"
    ),
    "liger": Verb(
        "truth_liger.py",
        "[--limit SECONDS] [--record] [KERNEL…]",
        "measured/liger.csv, (Liger-Kernel's published benchmarks beside a pretend GPU's)",
    ),
    "h100": Verb(
        "truth_h100.py",
        "[models] [programs] [NAME…]",
        "(peaks recorded on an H100 for this project beside a pretend H100's)",
    ),
    "measured": Verb("measured.py", "[SET[/ROW]…]", "(published peaks of real GPUs beside a pretend GPU's)"),
    "programs": Verb(
        "truth_programs.py", "[SET[/ROW]…]", "(peaks that libraries published of their programs beside a pretend GPU's)"
    ),
    "ranks": Verb(
        "truth_ranks.py", "[--world N] [STRATEGY…]", "(each rank alone beside real processes event by event)"
    ),
    "serve": Verb(
        "truth_serve.py", "[--eager] [--logs] [MODEL…]", "(the KV cache that vLLM logged beside memshim serve's)"
    ),
    "stale": Verb("truth_stale.py", "[PROGRAM…]", "(what makes a recording stale)"),
}


def table() -> str:
    """The verbs as testdata/README.md has them."""
    rows = ["| `python -m truth` | makes |", "|---|---|"]
    rows += [f"| `{name} {v.arguments}` | {v.makes} |" for name, v in VERBS.items()]
    return "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in VERBS:
        for name, v in VERBS.items():
            print(f"{name + ' ' + v.arguments:60} {v.makes}")
        if arguments and arguments[0] not in ("-h", "--help"):
            print(f"truth: got verb {arguments[0]!r}, want one of these", file=sys.stderr)
        return 2 if arguments and arguments[0] not in ("-h", "--help") else 0
    file = HERE / VERBS[arguments[0]].file
    folders = [str(HERE.parents[1] / "src"), str(HERE)]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.argv = [str(file), *arguments[1:]]
    runpy.run_path(str(file), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
