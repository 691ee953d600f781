"""Records what PyTorch itself allocates and frees when it runs whole models, without a GPU.

    record_models.py [--catalog torchvision|small] [MODEL ...]    write testdata/artifacts and testdata/conformance
    record_models.py --check [MODEL ...]     record again and compare with what is there; write nothing

Without names, all models whose records are kept in the repository; with --check, a quick choice of
them.

Needs torch 2.15 and torchvision. Each run happens in a separate process: the first pass of a
fresh interpreter. Files that PyTorch writes into an archive name the source by absolute path, so
packages are imported through a neutral prefix (a symbolic link); --prefix says where.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import traceback

TOOLS = pathlib.Path(os.path.abspath(__file__)).parent
ROOT = pathlib.Path(os.environ.get("MEMSPEC_RECORD_ROOT") or TOOLS.parents[2])
PREFIX = "/opt/python"  # what the committed archives name
# What --check looks at when no model is named: small and quick, one a kind of thing.
SAMPLE = ["alexnet", "mobilenet_v3_small", "vit_b_32", "alias", "list_growth", "loop_nested", "size_arithmetic"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--catalog", default="torchvision,small", help="modules record_<CATALOG> with cases() and versions()"
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", action="store_true", help="only models that have no streams yet")
    parser.add_argument("--artifacts", default=str(ROOT / "testdata/artifacts"))
    parser.add_argument("--conformance", default="", help="default: testdata/conformance/<torch>-fake-cuda")
    parser.add_argument("--prefix", default="", help=f"default: {PREFIX} to write, a temporary folder to check")
    parser.add_argument("--packages", action="append", default=[], help="one more folder of packages or catalogs")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    if "MEMSPEC_RECORD_PREFIX" not in os.environ:
        return reenter(args)
    return _record(args)


def reenter(args: argparse.Namespace, program: str = "record_models.py") -> int:
    """Runs this program again so that every Python file is imported through the neutral prefix."""
    import sysconfig

    made = None
    prefix = args.prefix
    if not prefix and args.check:
        made = tempfile.TemporaryDirectory()
        prefix = made.name
    prefix = pathlib.Path(prefix or PREFIX)
    links = {
        "site-packages": sysconfig.get_paths()["purelib"],
        "record": str(TOOLS),
        "shim": str(TOOLS.parents[1] / "src"),
        "testdata": str(ROOT / "testdata"),
    }
    links |= {f"more{n}/site-packages": os.path.abspath(p) for n, p in enumerate(args.packages)}
    for name, target in links.items():
        link = prefix / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        link.symlink_to(target)
    path = [str(prefix / name) for name in links if name != "testdata"]
    env = {k: os.environ[k] for k in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if k in os.environ}
    env |= {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MEMSPEC_RECORD_PREFIX": str(prefix),
        "MEMSPEC_RECORD_ROOT": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "KINETO_LOG_LEVEL": "99",
    }
    command = [sys.executable, "-S", "-P", str(prefix / "record" / program), *sys.argv[1:]]
    try:
        return os.waitstatus_to_exitcode(os.spawnve(os.P_WAIT, sys.executable, command, env) << 8)
    finally:
        if made:
            made.cleanup()


def _record(args: argparse.Namespace) -> int:
    import importlib
    import platform

    import record_on_cpu  # noqa: F401 (imported before processes are forked)
    import record_watch
    import torch

    torch.set_num_threads(1)
    record_watch.warm()
    cases = {}
    versions = {}
    kept = []
    for catalog in args.catalog.split(","):
        module = importlib.import_module(f"record_{catalog}")
        for case in module.cases():
            cases[case.name] = case
            versions[case.name] = module.versions()
            if case.name not in getattr(module, "LEFT_OUT", ()):
                kept.append(case.name)
    names = args.models or (SAMPLE if args.check else kept)
    unknown = [n for n in names if n not in cases]
    if unknown:
        print(f"got {', '.join(unknown)}, want models of the catalog {args.catalog}", file=sys.stderr)
        return 2
    python = ".".join(platform.python_version_tuple()[:2])
    here = [f"torch {torch.__version__}", f"python {python}"]
    short = ".".join(torch.__version__.split(".")[:2])
    conformance = pathlib.Path(args.conformance or ROOT / f"testdata/conformance/{short}-fake-cuda")

    def one(name: str) -> str:
        target = conformance / f"{name}.txt"
        with tempfile.TemporaryDirectory() as scratch:
            job = Job(cases[name], pathlib.Path(args.artifacts), pathlib.Path(scratch), here + versions[name])
            return job.check(target) if args.check else job.write(target)

    if args.missing:
        names = [name for name in names if not (conformance / f"{name}.txt").exists()]
    failed = 0
    for name, text in zip(names, side_by_side(one, names) if args.check else map(one, names)):
        print(f"{name}: {text or 'ok'}", flush=True)
        failed += text.startswith(("differs", "failed"))
    if failed:
        print(f"{failed} of {len(names)} models failed", file=sys.stderr)
    return 1 if failed else 0


def side_by_side(work, names: list[str]):
    """What the work gives for each name, in order; two forked processes share it. Some models take
    gigabytes: no more than two."""
    import concurrent.futures
    import multiprocessing

    global _work
    _work = work  # what a forked process has already need not be pickled
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_one, names)


def _one(name: str):
    return _work(name)


class Job:
    """All recordings of one model."""

    def __init__(self, case, artifacts: pathlib.Path, scratch: pathlib.Path, versions: list[str]) -> None:
        self.case, self.artifacts, self.scratch, self.versions = case, artifacts, scratch, versions
        self.prefix = os.environ["MEMSPEC_RECORD_PREFIX"]

    def write(self, target: pathlib.Path) -> str:
        import record_archive

        lacks = []
        for kind in self.case.kinds:
            blob, why = self.export(kind)
            path = self.artifacts / self.case.artifact(kind)
            if why:
                lacks.append(f"{kind}: {why}")
                continue
            strange = record_archive.foreign_paths(blob, self.prefix)
            if strange:
                return f"failed: the {kind} archive names {strange[0]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blob)
        text, note = self.streams(self.artifacts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return "; ".join([f"not made: {x}" for x in lacks] + note)

    def check(self, target: pathlib.Path) -> str:
        import record_archive
        import record_stream

        if not target.exists():
            return f"differs: {target} is not there"
        for kind in self.case.kinds:
            path = self.artifacts / self.case.artifact(kind)
            blob, why = self.export(kind)
            if path.exists() != (not why):
                return f"differs: {path.name}: {why or 'is not there'}"
            if path.exists():
                # Without the debug records: these name the prefix.
                records = record_archive.differing(path.read_bytes(), blob, debug=False)
                if records:
                    return f"differs: {path.name}: record {records[0]} and {len(records) - 1} more"
        text, _ = self.streams(self.artifacts)
        where = record_stream.first_difference(target.read_text(), text)
        return f"differs: {target.name}: {where}" if where else ""

    def export(self, kind: str) -> tuple[bytes, str]:
        import record_archive
        import record_export

        path = self.scratch / "m.pt"  # the archive's root is named after it, once a record: keep it short
        _, why = self.apart(lambda: record_export.export(self.case, kind, str(path)))
        if why:
            return b"", why
        blob = record_archive.strip(str(path))
        path.unlink()
        return blob, ""

    def streams(self, artifacts: pathlib.Path) -> tuple[str, list[str]]:
        """Runs the live module and the artifacts as they lie there, and writes the streams."""
        import record_case
        import record_stream

        streams, notes = [], []
        for kind in ("live", *self.case.kinds):
            name = "live.eager" if kind == "live" else f"{kind}.torchscript"
            stripped = artifacts / self.case.artifact(kind) if kind != "live" else None
            if stripped and not stripped.exists():
                continue
            shown = f"artifacts/{self.case.artifact(kind)}" if stripped else ""
            got, why = self.apart(lambda: self.one(name, stripped))
            if why:
                got = record_stream.Stream(name, failed=why)
                notes.append(f"{name} failed: {why}")
            got.artifact = shown
            if not why:
                recorded, why = self.apart(lambda: self.second(stripped, got.ops))
                got.on_cpu = f"failed {why}" if why else got.against(recorded)
                if got.on_cpu != "same events":
                    notes.append(f"{name}: births {got.births()} peak {got.peak()}; on CPU {got.on_cpu}")
            streams.append(got)
        inputs, why = self.apart(lambda: [record_case.describe(i) for i in self.case.inputs()])
        return record_stream.write(self.case.name, self.versions, inputs, streams), notes

    def one(self, name: str, stripped):
        import record_archive
        import record_case
        import record_watch
        from record_stream import Stream

        if stripped is None:
            return record_watch.eager(Stream(name), record_case.build(self.case), self.case.inputs())
        full = self.scratch / stripped.name
        remapped = record_archive.refill(str(stripped), str(full), "cuda")
        stream = record_watch.torchscript(Stream(name), str(full), self.case.inputs())
        stream.remapped = remapped
        return stream

    def second(self, stripped, ops: set[str]) -> list[tuple[int, int]]:
        import record_archive
        import record_case
        import record_on_cpu
        import torch

        if stripped is None:
            return record_on_cpu.run(record_case.build(self.case), self.case.inputs(), ops)
        full = self.scratch / stripped.name
        record_archive.refill(str(stripped), str(full))
        return record_on_cpu.run(torch.jit.load(str(full), map_location="cpu"), self.case.inputs(), ops)

    def apart(self, work):
        """Runs the work in a forked process: its result, and why there is none."""
        import pickle

        out = self.scratch / "result"
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.environ["PYTHONWARNINGS"] = "ignore"
            import warnings

            warnings.simplefilter("ignore")
            code = 1
            try:
                out.write_bytes(pickle.dumps((work(), "")))
                code = 0
            except BaseException as error:
                if os.environ.get("MEMSPEC_RECORD_TRACEBACK"):
                    traceback.print_exc()
                lines = [x.strip() for x in str(error).splitlines() if x.strip()]
                out.write_bytes(pickle.dumps((None, f"{type(error).__name__}: {' '.join(lines[-3:])}"[:300])))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if status:
            return None, f"the process ended with status {os.waitstatus_to_exitcode(status)}"
        return pickle.loads(out.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
