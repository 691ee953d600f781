"""A sweep over models of a catalog: archives of each are made once, runs and cuDNN's answers are kept
in a folder, so that it goes on where it was stopped; predictions are made anew."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from oracle import predict, table
from oracle.catalog import CATALOGS
from oracle.configuration import BATCHES, DEVICES, SETTINGS, Run
from oracle.work import UNCLEAN

ARCHIVES = {"make": ("script", "trace"), "sidecar": ("sidecar",)}  # what a process makes of a model


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
            answer = json.loads(line)
            if answer.get("begun"):
                begun = answer
            else:
                begun = None
                store.add(answer)
        code = p.wait()
        if begun and code != UNCLEAN:
            store.add({k: v for k, v in begun.items() if k != "begun"} | {"failed": f"the process ended with {code}"})
        elif code and code != UNCLEAN and what in ARCHIVES:
            store.add(
                {"model": done(tasks)[0]["model"]} | dict.fromkeys(ARCHIVES[what], f"the process ended with {code}")
            )
        left = done(tasks)
        if len(left) == len(tasks) and left == tasks and code:
            raise SystemExit(f"oracle: a process of {device} ended with {code} and did nothing: see {log.name}")
        tasks = left


class Sweep(NamedTuple):
    """What is compared: every model with every device, setting and batch."""

    catalog: str
    folder: Path  # what is kept, below a folder named after the catalog
    models: Sequence[str] = ()  # all where none is named
    devices: Sequence[str] = DEVICES
    settings: Sequence[str] = SETTINGS
    batches: Sequence[int] = BATCHES
    sidecars: bool = False  # traced archives also with the sidecar of memshim export
    kept: bool = False  # nothing is run: only what the folder has

    def rows(self) -> Iterator[table.Row]:
        """A row for each model, when all are run."""
        models = {m.name: m for m in CATALOGS[self.catalog]()}
        names = self.models or list(models)
        cache = self.folder / self.catalog
        kinds = self.made(cache, names)
        stores = {d: Store(cache / f"runs.{d}.jsonl") for d in self.devices}
        begin = time.time()
        for device, store in () if self.kept else stores.items():
            self.run(device, store, cache, {n: models[n] for n in names}, kinds)
        print(f"# run in {time.time() - begin:.0f} s", file=sys.stderr)
        for name in (n for n in names if n in kinds):
            found = {}
            for device, store in stores.items():
                for x in store.lines:
                    if x["model"] == name and x["setting"] in self.settings and x["batch"] in self.batches:
                        found[Run(name, device, x["batch"], x["setting"], x["run"])] = x
            runs = [r for r, x in found.items() if "failed" not in x]
            yield table.Row(name, kinds[name], found, predict.reports(models[name], runs, cache, kinds[name]))

    def made(self, cache: Path, names: Sequence[str]) -> dict[str, list[str]]:
        """The archives that each model has, of those that a prediction can be of; missing ones are
        made."""
        made, beside = Store(cache / "made.jsonl"), Store(cache / "sidecars.jsonl")

        def unmade(tasks: list[dict]) -> list[dict]:
            return [t for t in tasks if t["model"] not in {x["model"] for x in made.lines}]

        def without(tasks: list[dict]) -> list[dict]:
            return [t for t in tasks if t["model"] not in {x["model"] for x in beside.lines}]

        if not self.kept:
            work("t4", self.catalog, cache, "make", unmade([{"model": n} for n in names]), made, unmade)
        kinds = {x["model"]: [k for k in ARCHIVES["make"] if not x[k]] for x in made.lines}
        if self.sidecars and not self.kept:
            tasks = without([{"model": n} for n in names if "trace" in kinds.get(n, ())])
            work("t4", self.catalog, cache, "sidecar", tasks, beside, without)
        for x in beside.lines:
            if not x["sidecar"]:
                kinds[x["model"]].append("sidecar")
        return kinds

    def run(self, device: str, store: Store, cache: Path, models: dict, kinds: dict[str, list[str]]) -> None:
        """Runs what the store has not."""

        def unrun(tasks: list[dict]) -> list[dict]:
            there = {(x["model"], x["batch"], x["setting"], x["run"]) for x in store.lines}
            left = [t | {"runs": [r for r in t["runs"] if (t["model"], *r) not in there]} for t in tasks]
            return [t for t in left if t["runs"]]

        for what, which in (("run", ("live", "script")), ("follow", ("trace",))):
            tasks = [
                {
                    "model": n,
                    "runs": [
                        [b, s, r]
                        for b in self.batches
                        for s in self.settings
                        if s != "channels_last" or m.layouts
                        for r in which
                        if r == "live" or r in kinds[n]
                    ],
                }
                for n, m in models.items()
            ]
            work(device, self.catalog, cache, what, unrun(tasks), store, unrun)


def holds(rows: Sequence[table.Row]) -> bool:
    """Whether all that is called exact is equal, and the rest is what its report says."""
    return all(v.word in table.HOLDS for r in rows for v in r.verdicts().values())
