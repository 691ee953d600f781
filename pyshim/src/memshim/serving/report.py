"""The figures of an engine's start: as JSON by schemas/serving.schema.json, and as a table."""

from __future__ import annotations

from typing import Any

from memshim.pretend.device import Device
from memshim.serving.driver_memory import Taken, graphs
from memshim.sizes import show

SCHEMA = 1
# Releases of vLLM that started; all but 0.22.0, 0.27.1, 0.30.0 and 0.33.0 were compared with logs.
TRIED = ("0.17.0", "0.17.1", "0.18.0", "0.19.0", "0.22.0", "0.24.0", "0.27.1", "0.30.0", "0.33.0")


def figures(
    version: str,
    torch: str,
    program: list[str],
    cards: list[Device],
    taken: Taken,
    arguments: dict[str, Any],
    workers: list[dict[str, Any]],
    engine: dict[str, Any] | None,
    error: dict[str, Any] | None,
    generated: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What --json writes. Sizes are bytes. fits is null where the engine did not start for another
    reason than memory."""
    return {
        "schema": SCHEMA,
        "engine": {"name": "vllm", "release": version},
        "torch": torch,
        "command": program,
        "model": arguments.get("model"),
        "made_up": arguments.get("made_up", []),
        "defaults": arguments.get("defaults", []),
        "device": {
            "name": cards[0].name,
            "driver_name": cards[0].driver,
            "memory": cards[0].memory,
            "count": len(cards),
        },
        "fits": True if engine else False if error and error["unfit"] else None,
        "exact": False,  # the driver's part is an estimate
        "driver": taken.as_json(),
        "workers": workers,
        "kv": engine,
        "error": {k: error[k] for k in ("stage", "kind", "text")} if error else None,
        **({"generated": generated} if generated else {}),
    }


def replicated(engines: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of the replica that has the fewest tokens, with those of all."""
    least = min(engines, key=lambda e: int(e["tokens"]))
    return {**least, "replicas": len(engines), "tokens_in_all": sum(int(e["tokens"]) for e in engines)}


def text(found: dict[str, Any]) -> str:
    """The table of an engine that started, of the worker that has the least for its KV cache."""
    kv, worker = found["kv"], min(found["workers"], key=lambda w: int(w["kv_memory"]))
    device = found["device"]
    on = device["driver_name"] if device["count"] == 1 else f"{device['driver_name']}, {device['count']} of them"
    share = f"{kv['gpu_memory_utilization']:g}"
    driver = found["driver"]
    replicas = kv.get("replicas", 1)
    each = f" in each of {replicas} replicas" if replicas > 1 else ""
    rows = [
        ("budget", worker["requested"], f"{share} of {show(worker['total'])}"),
        ("loaded", worker["loaded"], "weights, and what loading leaves"),
        ("activation", worker["activation"], _batch(found)),
        (
            "outside PyTorch",
            worker["outside_pytorch"],
            f"estimate: the driver, by {driver['source']}",
        ),
        ("KV cache", worker["kv_memory"], f"{kv['blocks']:,} blocks of {kv['block_size']} tokens, {_dtype(kv)}"),
    ]
    if not kv["eager"]:
        rows.append(("CUDA graphs", *_graphs(kv, worker, device["driver_name"])))
    lines = [
        f"memshim: vLLM {found['engine']['release']}, {found['model']} on a pretend {on}: "
        f"{kv['tokens']:,} tokens of KV cache{each} (estimate)"
    ]
    lines += [f"  {name:<16} {_size(size):>10}  {note}" for name, size, note in rows]
    lines.append(f"  {'concurrency':<16} {kv['concurrency']:>10.2f}  requests of max_model_len {kv['max_model_len']:,}")
    if replicas > 1:
        in_all = f"{kv['tokens_in_all']:,} tokens in all; the other rows are of one"
        lines.append(f"  {'replicas':<16} {replicas:>10}  {in_all}")
    lines.append(f"  {'next limit':<16} {_next(kv)}")
    if found.get("generated"):
        lines += _generated(found)
    if found["made_up"]:
        lines.append(f"  {'made up':<16} {', '.join(found['made_up'])}")
    if found["engine"]["release"] not in TRIED:
        lines.append(f"  {'not tried':<16} vLLM {found['engine']['release']}; releases that were: {', '.join(TRIED)}")
    return "\n".join(lines)


def _generated(found: dict[str, Any]) -> list[str]:
    """What generation took of the GPU that took the most, beside the profile run's activations."""
    made = found["generated"]
    took = max(made["workers"], key=lambda w: int(w["activation"]))
    profiled = next(w["activation"] for w in found["workers"] if w["rank"] == took["rank"])
    more, grown = took["activation"] - (profiled or 0), took["reserved"] - took["reserved_before"]
    beside = "the engine measured no activation" if profiled is None else "no more than the profile run"
    if profiled is not None and more > 0:
        beside = f"{show(more)} more than the profile run"
    rows = [
        (
            "generation",
            took["activation"],
            f"{beside}: {made['at_once']:,} requests at once, {made['tokens']:,} tokens after {made['prompt']:,} each",
        ),
        ("  in use", took["in_use"], f"{show(grown)} more in PyTorch's pools than after the start"),
    ]
    return [f"  {name:<16} {show(size):>10}  {note}" for name, size, note in rows]


def _next(kv: dict[str, Any]) -> str:
    """What ends the requests that are served at once."""
    if kv["concurrency"] < kv["max_num_seqs"]:
        return (
            f"the KV cache, at {int(kv['concurrency']):,} requests of {kv['max_model_len']:,} tokens; max_num_seqs is "
            f"{kv['max_num_seqs']:,}"
        )
    return f"max_num_seqs, at {kv['max_num_seqs']:,} requests; the KV cache holds {int(kv['concurrency']):,}"


def unfit(found: dict[str, Any]) -> str:
    """One line: what does not fit."""
    where = {"memory at start": "at start", "KV cache": "for the KV cache"}
    stage = found["error"]["stage"]
    loaded = f" after {show(found['workers'][0]['loaded'])} of weights" if found["workers"] else ""
    return (
        f"{found['model']} does not fit {found['device']['name']} ({show(found['device']['memory'])}) "
        f"{where.get(stage, 'in the ' + stage)}{loaded}: {found['error']['text']}"
    )


def _batch(found: dict[str, Any]) -> str:
    """The sizes of the profile run, and which of them the engine chose."""
    said = [
        f"{name} {found['kv'][name]:,}" + (" (the engine's default)" if name in found["defaults"] else "")
        for name in ("max_num_batched_tokens", "max_num_seqs")
    ]
    return "profile run: " + ", ".join(said)


def _graphs(kv: dict[str, Any], worker: dict[str, Any], card: str) -> tuple[int, str]:
    """What CUDA graphs take of a worker's GPU, where that counts, and how much of it is the driver's."""
    size = worker["graphs_in_budget"]
    where = "as the engine estimates them, taken off the KV cache" if size else "beside the budget"
    size = size or worker["graphs"]
    if not (captured := kv.get("captured")) or not worker["graphs_of_driver"]:
        return size, f"{where}; the driver's part is not known"
    taken = graphs(worker["graphs_of_driver"], captured["experts"], card)
    return size, (
        f"{where}; {show(taken.bytes)} of it the driver's, an estimate: {show(taken.least)} to {show(taken.most)} by "
        f"{taken.source}"
    )


def graphs_in_budget(workers: list[dict[str, Any]]) -> int:
    """What the driver takes for CUDA graphs of the GPU that has the least for its KV cache, where the engine takes
    them off it."""
    worker = min(workers, key=lambda w: int(w["kv_memory"]))
    return int(worker["graphs_of_driver"]) if worker["graphs_in_budget"] else 0


def _size(n: int | None) -> str:
    return "not measured" if n is None else show(n)


def _dtype(kv: dict[str, Any]) -> str:
    return str(kv["dtype"] if kv["kv_cache_dtype"] == "auto" else kv["kv_cache_dtype"])
