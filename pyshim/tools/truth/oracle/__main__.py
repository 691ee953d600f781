"""The static engine compared with PyTorch on pretend GPUs: python -m truth oracle CATALOG --cache DIR
[MODEL…]

Archives of each model are made once, runs and cuDNN's answers are kept in the cache, so that it
goes on where it was stopped; predictions are made anew.
Exit code 1: something is called exact and is not, or is beyond what its report says. timm and
transformers have to be installed for the catalogs of that name. Prints a line for every model and
writes the table where -o says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

from oracle import predict, table
from oracle.configuration import BATCHES, DEVICES, SETTINGS, Run
from oracle.work import UNCLEAN

PATIENCE = 600  # seconds for a model


class Store:
    """Lines of JSON in a file, the last of a key holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []

    def add(self, line: dict) -> None:
        self.lines.append(line)
        with self.path.open("a") as f:
            f.write(json.dumps(line) + "\n")


def work(device: str, catalog: str, cache: Path, what: str, tasks: list[dict], store: Store, done) -> None:
    """Gives the tasks to processes one by one; one that ends early is followed by another, for what
    done says is left of its task."""
    tasks = list(tasks)
    while tasks:
        log = (cache / f"{what}.{device}.log").open("ab")
        p = subprocess.Popen(
            [sys.executable, "-m", "oracle.work", device, catalog, str(cache), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        text = "".join(json.dumps(t) + "\n" for t in tasks)

        def feed(p=p, text=text) -> None:
            try:
                p.stdin.write(text)
                p.stdin.close()
            except BrokenPipeError:
                pass

        Thread(target=feed, daemon=True).start()
        begun = None
        for line in p.stdout:
            told = json.loads(line)
            if told.get("begun"):
                begun = told
            else:
                begun = None
                store.add(told)
        code = p.wait()
        if begun and code != UNCLEAN:
            store.add({k: v for k, v in begun.items() if k != "begun"} | {"failed": f"the process ended with {code}"})
        elif code and code != UNCLEAN and what in ("make", "tell"):
            store.add(
                {"model": done(tasks)[0]["model"]}
                | dict.fromkeys(("script", "trace") if what == "make" else ("told",), f"the process ended with {code}")
            )
        left = done(tasks)
        if len(left) == len(tasks) and left == tasks and code:
            raise SystemExit(f"oracle: a process of {device} ended with {code} and did nothing: see {log.name}")
        tasks = left


def main() -> int:
    p = argparse.ArgumentParser(
        prog="python -m truth oracle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("catalog", help="torchvision, detection, timm or transformers")
    p.add_argument("models", nargs="*")
    p.add_argument("--cache", type=Path, required=True)
    p.add_argument("--device", action="append", default=[])
    p.add_argument("--setting", action="append", default=[])
    p.add_argument("--batch", action="append", type=int, default=[])
    p.add_argument("--limit", type=int, default=0, help="only so many models")
    p.add_argument(
        "--told",
        action="store_true",
        help="traced archives also with the sidecar of memshim export, which takes seconds a model",
    )
    p.add_argument("--kept", action="store_true", help="run nothing: only what the cache has")
    p.add_argument("-o", "--output", type=Path)
    p.add_argument("-v", action="store_true", help="a line for every configuration that is not equal")
    a = p.parse_intermixed_args()
    from oracle.catalog import CATALOGS

    models = {m.name: m for m in CATALOGS[a.catalog]()}
    names = a.models or list(models)
    if a.limit:
        names = names[: a.limit]
    cache = a.cache / a.catalog
    devices, settings, batches = a.device or DEVICES, a.setting or SETTINGS, a.batch or BATCHES

    made = Store(cache / "made.jsonl")

    def unmade(tasks: list[dict]) -> list[dict]:
        return [t for t in tasks if t["model"] not in {x["model"] for x in made.lines}]

    begin = time.time()
    if not a.kept:
        work("t4", a.catalog, cache, "make", unmade([{"model": n} for n in names]), made, unmade)
    kinds = {x["model"]: [k for k in ("script", "trace") if not x[k]] for x in made.lines}
    beside = Store(cache / "told.jsonl")

    def untold(tasks: list[dict]) -> list[dict]:
        return [t for t in tasks if t["model"] not in {x["model"] for x in beside.lines}]

    if a.told and not a.kept:
        work(
            "t4",
            a.catalog,
            cache,
            "tell",
            untold([{"model": n} for n in names if "trace" in kinds.get(n, ())]),
            beside,
            untold,
        )
    for x in beside.lines:
        if not x["told"]:
            kinds[x["model"]].append("told")

    stores = {}
    for device in devices:
        store = stores[device] = Store(cache / f"runs.{device}.jsonl")

        def unrun(tasks: list[dict]) -> list[dict]:
            there = {(x["model"], x["batch"], x["setting"], x["run"]) for x in store.lines}
            left = [t | {"runs": [r for r in t["runs"] if (t["model"], *r) not in there]} for t in tasks]
            return [t for t in left if t["runs"]]

        for what, which in () if a.kept else (("run", ("live", "script")), ("follow", ("trace",))):
            tasks = [
                {
                    "model": n,
                    "runs": [
                        [b, s, r]
                        for b in batches
                        for s in settings
                        if s != "channels_last" or models[n].layouts
                        for r in which
                        if r == "live" or r in kinds[n]
                    ],
                }
                for n in names
            ]
            work(device, a.catalog, cache, what, unrun(tasks), store, unrun)
    print(f"# made and run in {time.time() - begin:.0f} s", file=sys.stderr)

    rows = []
    for name in (n for n in names if n in kinds):
        told = {}
        for device in devices:
            for x in stores[device].lines:
                if x["model"] == name and x["setting"] in settings and x["batch"] in batches:
                    told[Run(name, device, x["batch"], x["setting"], x["run"])] = x
        runs = [r for r, x in told.items() if "failed" not in x]
        row = table.Row(name, kinds[name], told, predict.reports(models[name], runs, cache, kinds[name]))
        rows.append(row)
        print(row.line(), flush=True)
        if a.v:
            for text in row.off():
                print("   ", text, flush=True)
    print(table.total(rows))
    if a.output:
        a.output.write_text(table.text(rows))
    return 1 if any(v.word not in table.HOLDS for r in rows for v in r.verdicts().values()) else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
