"""Records whole models under settings of a case: dtype, autocast, memory format, other shapes. No
GPU is needed.

    record_settings.py [NAME ...]            write testdata/conformance/<torch>-settings
    record_settings.py --check [NAME ...]    record again, compare with what is there, write nothing

A name is MODEL@SETTING, as `resnet18@bfloat16`; without any, all of them (with --check, a few). The
archives are those of record_models.py: what is recorded here is the live module, run eagerly, and
the scripted archive in PyTorch's interpreter where the setting is one of the archive's own (dtype,
shapes, memory format). There is no second test: a CPU has its own casts.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
import sys
import tempfile

import record_models
from record_models import ROOT

MODELS = [
    "alexnet",
    "resnet18",
    "mobilenet_v3_small",
    "densenet121",
    "googlenet",
    "efficientnet_b0",
    "shufflenet_v2_x0_5",
    "regnet_y_400mf",
    "squeezenet1_1",
    "vit_b_32",
    "swin_t",
    "convnext_tiny",
]
CHECKED = [
    "mobilenet_v3_small@autocast-float16",
    "vit_b_32@autocast-cached",
    "resnet18@channels_last",
    "swin_t@bfloat16",
]


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    dtype: str = ""
    autocast: str = ""
    cached: bool = False  # parameters require a gradient: autocast keeps their casts to the end of the pass
    channels_last: bool = False  # of the input alone
    shape: tuple[int, ...] = (1, 3, 224, 224)
    archive: bool = True  # TorchScript runs it alike


SETTINGS = [
    Setting("float16", dtype="float16"),
    Setting("bfloat16", dtype="bfloat16"),
    Setting("float64", dtype="float64"),
    Setting("autocast-float16", autocast="float16", archive=False),
    Setting("autocast-bfloat16", autocast="bfloat16", archive=False),
    Setting("autocast-cached", autocast="float16", cached=True, archive=False),
    Setting("channels_last", channels_last=True),
    Setting("batch3", shape=(3, 3, 256, 256)),
]
FIXED_SIZE = ("vit_b_32",)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--prefix", default="")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.packages = []
    if "MEMSPEC_RECORD_PREFIX" not in os.environ:
        return record_models.reenter(args, "record_settings.py")
    import record_stream
    import record_torchvision
    import record_watch
    import torch

    torch.set_num_threads(1)
    record_watch.warm()
    cases = {c.name: c for c in record_torchvision.cases()}
    all_names = {f"{m}@{s.name}": (cases[m], s) for m in MODELS for s in SETTINGS}
    names = args.names or (CHECKED if args.check else list(all_names))
    unknown = [n for n in names if n not in all_names]
    if unknown:
        print(
            f"got {', '.join(unknown)}, want MODEL@SETTING of {', '.join(MODELS)} and "
            f"{', '.join(s.name for s in SETTINGS)}",
            file=sys.stderr,
        )
        return 2
    short = ".".join(torch.__version__.split(".")[:2])
    versions = [f"torch {torch.__version__}", *record_torchvision.versions()]
    failed = 0

    def one(name: str) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            return _record(*all_names[name], versions, pathlib.Path(scratch))

    for name, text in zip(names, record_models.side_by_side(one, names) if args.check else map(one, names)):
        target = ROOT / f"testdata/conformance/{short}-settings/{name}.txt"
        if args.check:
            where = record_stream.first_difference(target.read_text(), text) if target.exists() else "is not there"
            failed += bool(where)
            print(f"{name}: {'differs: ' + where if where else 'ok'}", flush=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        print(f"{name}: ok", flush=True)
    return 1 if failed else 0


def _record(case, setting: Setting, versions: list[str], scratch: pathlib.Path) -> str:
    import record_case
    import record_stream

    job = record_models.Job(case, ROOT / "testdata/artifacts", scratch, versions)
    shape = setting.shape if case.name not in FIXED_SIZE else (*setting.shape[:2], 224, 224)
    artifact = job.artifacts / case.artifact("script")
    streams = []
    for kind in ("live.eager", "script.torchscript"):
        if kind == "script.torchscript" and not setting.archive:
            continue
        got, why = job.apart(lambda: _run(case, setting, shape, kind, artifact, scratch))
        if why:
            got = record_stream.Stream(kind, failed=why)
        got.artifact = f"artifacts/{case.artifact('script')}"
        streams.append(got)
    inputs, _ = job.apart(lambda: [record_case.describe(t) for t in _inputs(setting, shape)])
    head = [
        f"setting {k} {v}"
        for k, v in (
            ("dtype", setting.dtype),
            ("autocast", setting.autocast),
            ("cached", "true" if setting.cached else ""),
            ("memory_format", "channels_last" if setting.channels_last else ""),
        )
        if v
    ]
    return record_stream.write(case.name, versions + head, inputs, streams)


def _inputs(setting: Setting, shape: tuple[int, ...]) -> tuple:
    import torch

    x = torch.zeros(shape, dtype=getattr(torch, setting.dtype or "float32"))
    return (x.contiguous(memory_format=torch.channels_last) if setting.channels_last else x,)


@contextlib.contextmanager
def _autocast(dtype):
    """What torch.autocast("cuda", dtype) does; that one turns itself off where no GPU is."""
    import torch

    torch.set_autocast_dtype("cuda", dtype)
    torch.set_autocast_enabled("cuda", True)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", False)


def _run(case, setting: Setting, shape: tuple[int, ...], kind: str, artifact: pathlib.Path, scratch: pathlib.Path):
    import record_archive
    import record_case
    import record_watch
    import torch
    from record_stream import Stream

    inputs = _inputs(setting, shape)
    context = (
        functools.partial(_autocast, getattr(torch, setting.autocast)) if setting.autocast else contextlib.nullcontext
    )
    if kind == "live.eager":
        module = record_case.build(case)
        if setting.dtype:
            module = module.to(getattr(torch, setting.dtype))
        return record_watch.eager(Stream(kind), module, inputs, context=context, requires_grad=setting.cached)
    full = scratch / artifact.name
    stream = Stream(kind)
    stream.remapped = record_archive.refill(str(artifact), str(full), "cuda")
    return record_watch.torchscript(
        stream, str(full), inputs, dtype=getattr(torch, setting.dtype) if setting.dtype else None
    )


if __name__ == "__main__":
    sys.exit(main())
