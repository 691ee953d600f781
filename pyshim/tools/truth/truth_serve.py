"""KV cache that vLLM logged on real H100s, beside what `memshim serve`, `memspec estimate` and a
calculator give.

    python -m truth serve [--eager] [--logs] [MODEL…]

The logs are testdata/serving/logs.csv: 0.95 of an H100 of 80 GB, 8,192 tokens batched, 1,024 sequences,
but for a row's own arguments; and logs-later.csv, of later releases: each with its card, its source, the
batch sizes that the engine chose there, and CUDA graphs as the engine estimated them and took them off the
cache. One of a warm cache loaded what an earlier start had compiled: such a row is started twice. A log
has sizes in GiB, to two decimals. Those of the installed release of vLLM are started; --logs starts none
and prints the rest of the columns for all. Models are folders with config.json alone
(testdata/serving/configs.json). --eager compiles nothing: seconds in the place of minutes, and the same
figures where the sampler makes the peak of the profile run. What the driver takes outside PyTorch was
read off the rows that have "read": there, that line is no prediction.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

GIB = 1 << 30
CARD = "h100-sxm-80gb"
SERVING = Path(__file__).resolve().parents[3] / "testdata" / "serving"
SHARE, LENGTH, BATCHED, REQUESTS = "--gpu-memory-utilization", "--max-model-len", 8192, 1024
DEFAULTS = {SHARE: "0.95", LENGTH: "8192"}
LATER = (0, 22)  # from this release on vLLM's loader splits no large block (rounding_later)
LINE = "{:<7} {:<34} {:<15} {:>11} {:>19} {:>25} {:>20}"


class Log(NamedTuple):
    """A row of logs.csv. Sizes are GiB."""

    model: str
    release: str
    gpus: int  # that share each layer
    stages: int
    arguments: list[str]
    read: bool
    sizes: dict[str, float]
    tokens: int
    planner: dict[str, float]  # of llm-d's planner, as published beside the log
    card: str = CARD
    chosen: tuple[int, int] | None = None  # tokens and sequences that the engine chose; else BATCHED, REQUESTS
    warm: bool = False  # the engine loaded what an earlier start had compiled

    @property
    def name(self) -> str:
        """The model and what sets its row apart."""
        ranks = [f"{n} {what}" for n, what in ((self.gpus, "GPUs"), (self.stages, "stages")) if n > 1]
        pairs = zip(self.arguments[::2], self.arguments[1::2], strict=True)
        given = [w for pair in pairs if not (self.chosen and pair[0] in DEFAULTS) for w in pair]
        words = [word.removeprefix("--") for word in given]
        on = [self.card] * (self.card != CARD) + ["warm"] * self.warm
        return " ".join([self.model.removesuffix("-Instruct"), *on, *ranks, *words])

    def said(self, option: str) -> str:
        """What an option has in this row."""
        words = {**DEFAULTS, **dict(zip(self.arguments[::2], self.arguments[1::2], strict=True))}
        return words.get(option, "auto")


def logs() -> Iterator[Log]:
    with (SERVING / "logs.csv").open() as f:
        for row in csv.DictReader(f):
            yield Log(
                row["model"],
                row["release"],
                int(row["gpus"]),
                int(row["stages"]),
                row["arguments"].split(),
                bool(row["read"]),
                {n: float(row[n]) for n in ("loaded", "activation", "outside", "kv", "graphs") if row[n]},
                int(row["tokens"]),
                {n: float(row[f"planner_{n}"]) for n in ("weights", "kv", "tokens") if row[f"planner_{n}"]},
            )
    with (SERVING / "logs-later.csv").open() as f:
        for row in csv.DictReader(f):
            sizes = {n: float(row[n]) for n in ("loaded", "kv", "estimated") if row[n]}
            chosen = int(row["batched"]), int(row["requests"])
            words = row["arguments"].split()
            log = Log(row["model"], row["release"], 1, 1, words, False, sizes, int(row["tokens"]), {})
            yield log._replace(card=row["card"], chosen=chosen, warm=row["cache"] == "warm")


def folder(to: Path, config: dict[str, Any]) -> str:
    to.mkdir()
    (to / "config.json").write_text(json.dumps(config))
    return str(to)


def serve(log: Log, config: dict[str, Any], eager: bool) -> dict[str, Any]:
    """The figures of a row's model, as `memshim serve --json` writes them."""
    with tempfile.TemporaryDirectory() as at:
        to = Path(at, "found.json")
        words = [w for option in DEFAULTS for w in (option, log.said(option))]
        if not log.chosen:
            words += ["--max-num-batched-tokens", str(BATCHED), "--max-num-seqs", str(REQUESTS)]
        words += log.arguments
        words += ["--tensor-parallel-size", str(log.gpus), "--pipeline-parallel-size", str(log.stages)]
        command = ["vllm", "serve", folder(Path(at, "model"), config), *words, *(["--enforce-eager"] if eager else [])]
        options = ["--on", log.card, "--json", str(to)]
        environ = os.environ | {"VLLM_CACHE_ROOT": str(Path(at, "cache"))}
        for _ in range(2 if log.warm and not eager else 1):
            start = [sys.executable, "-m", "memshim", "serve", *options, "--", *command]
            p = subprocess.run(start, stdout=subprocess.DEVNULL, env=environ)
            if p.returncode:
                raise SystemExit(f"truth serve: memshim serve ended with exit code {p.returncode}")
        return json.loads(to.read_text())


def estimate(log: Log, config: dict[str, Any]) -> dict[str, Any] | None:
    """What `memspec estimate` has of a row's model; None where it has no such thing: of several GPUs, or
    of weights that the engine quantises."""
    if log.gpus * log.stages > 1 or "--quantization" in log.arguments:
        return None
    from memshim import binary
    from memshim.serving.driver_memory import release

    with tempfile.TemporaryDirectory() as at:
        command = [str(binary.find()), "estimate", folder(Path(at, "model"), config), "--format", "json"]
        batched, requests = log.chosen or (BATCHED, REQUESTS)
        command += ["--device", log.card, "--context", log.said(LENGTH), SHARE, log.said(SHARE)]
        command += ["--batch", str(requests), "--batched-tokens", str(batched)]
        for option in ("--dtype", "--kv-cache-dtype"):
            command += [option, log.said(option)]
        p = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        found = json.loads(p.stdout)
        if release(log.release) >= LATER and found.get("rounding_later") is not None:
            found["weights"] += found["rounding_later"] - found["rounding"]
        return found


def off(ours: float, logged: float) -> str:
    """A size beside that of a log."""
    return f"{ours:.2f} {ours - logged:+.2f}" if f"{ours:.2f}" != f"{logged:.2f}" else f"{ours:.2f} equal"


def share(ours: float, logged: int) -> str:
    return f"{int(ours):,} {(ours - logged) / logged:+.2%}"


def token(log: Log, guess: dict[str, Any]) -> str:
    """Whether the tokens of a log times the bytes of one are what it calls KV memory, to a block of 16 and
    the two decimals that it has. Where a window ends some layers' growth, the log has no such number."""
    if any(part["grows"] != "token" or part.get("tokens") for part in guess["kv_parts"]):
        return "-"
    size = guess["kv_per_token"]
    off = abs(log.tokens * size / GIB - log.sizes["kv"])
    return f"{size:,} " + ("equal" if off < 0.0051 + 16 * size / GIB else "not equal")


def compare(log: Log, found: dict[str, Any] | None, guess: dict[str, Any] | None) -> list[tuple[str, ...]]:
    """Lines of the table: figure, logged, of the engine on a pretend GPU, estimate, planner."""
    worker = min(found["workers"], key=lambda w: w["kv_memory"]) if found else {}
    ours = {n: worker[of] / GIB for n, of in FIGURES.items() if worker.get(of)}
    if found and found["kv"]["eager"]:
        ours = {n: v for n, v in ours.items() if n not in ("graphs", "estimated")}
    known = guess is not None and guess.get("weights") is not None and guess.get("kv_tokens") is not None
    lines = []
    for name, logged in log.sizes.items():
        estimated = off(guess["weights"] / GIB, logged) if known and name == "loaded" else "-"
        planned = log.planner.get({"loaded": "weights"}.get(name, name))
        cells = [off(v, logged) if v is not None else "-" for v in (ours.get(name), planned)]
        lines.append((TITLES[name], f"{logged:.2f} GiB", cells[0], estimated, cells[1]))
    if known:
        lines.append(("KV of a token", "-", "-", token(log, guess), "-"))
    served = share(found["kv"]["tokens"], log.tokens) if found else "-"
    planned = share(log.planner["tokens"], log.tokens) if log.planner else "-"
    estimated = "-"
    if known:
        least, most = (guess["kv_tokens"][end] for end in ("at_least", "at_most"))
        estimated = f"{least:,}–{most:,}" + (" holds" if least <= log.tokens <= most else " not")
    return [*lines, ("tokens", f"{log.tokens:,}", served, estimated, planned)]


FIGURES = {  # of a log, and of a worker
    "loaded": "loaded",
    "activation": "activation",
    "outside": "outside_pytorch",
    "kv": "kv_memory",
    "graphs": "graphs",
    "estimated": "graphs_in_budget",
}
TITLES = {
    "loaded": "weights",
    "activation": "activation",
    "outside": "outside PyTorch",
    "kv": "KV cache",
    "graphs": "CUDA graphs",
    "estimated": "graphs, off KV",
}


def main() -> int:
    configs = json.loads((SERVING / "configs.json").read_text())
    p = argparse.ArgumentParser(prog="python -m truth serve")
    p.add_argument("--eager", action="store_true", help="without torch.compile and CUDA graphs")
    p.add_argument("--logs", action="store_true", help="start no engine")
    p.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(configs))
    a = p.parse_args()
    if wrong := [name for name in a.models if name not in configs]:
        p.error(f"got model {wrong[0]}, want {' or '.join(configs)}")
    rows = [log for log in logs() if log.model in (a.models or configs)]
    installed = "" if a.logs else importlib.metadata.version("vllm")
    if installed:
        rows = [log for log in rows if log.release.rpartition(".")[0] == installed.rpartition(".")[0]]
        if not rows:
            p.error(f"got vLLM {installed}, want a release that a log is of, or --logs")
    print(LINE.format("vLLM", "model", "figure", "logged", "pretend GPU", "memspec estimate", "llm-d planner"))
    for log in rows:
        config = configs[log.model]
        found = serve(log, config, a.eager) if installed else None
        for line in compare(log, found, estimate(log, config)):
            print(LINE.format(log.release, log.name, *line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
