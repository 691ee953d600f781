"""Each rank alone, beside the same rank of real processes, on pretend GPUs: event for event of PyTorch's
allocator.

    python -m truth ranks [--world N] [STRATEGY…]

A row has the strategy, the ranks, the number of events of rank 0 and whether the allocator did the
same for each rank: the same actions, sizes and streams in the same order, deaths included; else
where it first did not, and the peaks. Where only the moments of frees differ, both run again in one
order (in_one_order), and the row is equal where they are then; else real processes run up to four times
more: the row is equal where one of these runs equals the rank alone, or where two of them differ so
from each other too and each rank alone freed what the same rank freed in one of them. It says which.
The exit code is 1 where a row is not equal.

make truth-ranks runs all of them; with RELEASES="2.10.0", in an environment with that PyTorch. float8
is there where torchao is, as in the environment of make truth-frameworks.
"""

import argparse
import gc
import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROW = "memshim row: "  # before a row, among what programs print
LIMIT = 900  # seconds of one strategy's processes
TRIES = 4  # further runs of real processes, where only the moments of frees differ
ORDERED = "TRUTH_RANKS_ORDERED"  # set in processes that run in one order
SETTLE = 1.5  # seconds, after which PyTorch's watchdog thread has freed what nobody waited for: it looks each second


def taken(index):
    """What the allocator did on a device: (action, bytes, which stream, the how many-th allocation) of each
    event."""
    import torch

    streams, blocks, out = {}, {}, []
    made = 0
    for e in torch.cuda.memory._snapshot()["device_traces"][index]:
        if e["action"] in ("snapshot", "segment_alloc", "segment_free"):
            continue
        if e["action"] == "alloc":
            blocks[e["addr"]] = made
            made += 1
        at = blocks.get(e["addr"], -1)
        out.append((e["action"], e["size"], streams.setdefault(e["stream"], len(streams)), at))
    return out


def in_one_order():
    """Backward passes run in the thread that calls them, and sets of nodes in pipelining/_backward.py are
    sorted: as PyTorch is, what a pass leaves is freed as its thread and the caller meet, and weights get
    their gradients in the order of addresses."""
    import torch
    from torch.distributed.pipelining import _backward

    torch.autograd.set_multithreading_enabled(False)
    found = _backward.get_param_groups

    def get_param_groups(*args):
        groups = found(*args)
        for group in groups:
            group["params"] = sorted(group["params"], key=lambda node: node.variable.data_ptr())
            group["intermediates"] = sorted(group["intermediates"], key=lambda node: node._sequence_nr())
        return groups

    _backward.get_param_groups = get_param_groups


def run(name, variables, to):
    """A strategy in this process, which is a fork: its events and peaks, as a pickle."""
    os.environ.update(variables)
    out = {"error": "", "events": [], "peaks": None}
    try:
        import torch
        import torch.distributed as dist

        from memshim.pretend import absent

        absent.watch()
        import strategies

        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.cuda.set_device(rank)
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
        if os.environ.get(ORDERED):
            in_one_order()
        gc.disable()  # it collects after so many new objects, of which each process has others
        strategies.STRATEGIES[name](rank, world)
        torch.cuda.synchronize()
        time.sleep(SETTLE)
        gc.collect()
        out["events"] = taken(rank)
        out["peaks"] = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
        dist.destroy_process_group()
    except BaseException as e:
        out["error"] = f"{type(e).__name__}: {e}".splitlines()[0][:300]
        if os.environ.get("VERBOSE"):
            traceback.print_exc()
    Path(to).write_bytes(pickle.dumps(out))


def fork(name, variables, to):
    pid = os.fork()
    if not pid:
        try:
            run(name, variables, to)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    return pid


def torchrun(rank, world, port):
    return {
        "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world),
        "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCH_NCCL_ENABLE_MONITORING": "0",
    }  # fmt: skip


def real(name, world, folder, **variables):
    """What each rank left of real processes."""
    from memshim.program import process_reports

    files = [folder / f"real.{r}" for r in range(world)]
    # the name of a checkpoint's folder is in what ranks send: here it is as long as one in alone's
    exchange = {"CHECKPOINT": str(folder / "whole" / "checkpoint.0"), process_reports.FIGURES: str(folder)}
    port = free_port()
    ends = wait([fork(name, torchrun(r, world, port) | exchange | variables, files[r]) for r in range(world)])
    return [answer(*pair) for pair in zip(files, ends, strict=True)]


def alone(name, world, folder, **more):
    """What each rank left, the others being absent."""
    from memshim.pretend import absent

    folder = folder / "alone"  # without what real processes sent
    folder.mkdir()
    files, ends, port = [folder / f"alone.{r}" for r in range(world)], [], free_port()
    for r in range(world):
        one = absent.Rank(r, world, str(folder), name)
        variables = torchrun(r, world, port) | {absent.VARIABLE: json.dumps(one._asdict())} | more
        ends += wait([fork(name, variables | {"CHECKPOINT": str(folder / f"checkpoint.{r}")}, files[r])])
    return [answer(*pair) for pair in zip(files, ends, strict=True)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answer(file, end):
    """What a process left; without a file the error says how it ended."""
    if file.exists():
        return pickle.loads(file.read_bytes())
    return {"error": f"no answer: {end}", "events": [], "peaks": None}


def wait(pids):
    """How each process ended, after LIMIT seconds at the most."""
    until = time.monotonic() + LIMIT
    ends = {}
    while len(ends) < len(pids):
        for p in set(pids) - ends.keys():
            ended, status = os.waitpid(p, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                ends[p] = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            elif time.monotonic() > until:
                os.kill(p, 9)
                os.waitpid(p, 0)
                ends[p] = f"no end within {LIMIT} s"
        time.sleep(0.02)
    return [ends[p] for p in pids]


def said(reals, alones, ordered, again):
    """The rest of a row. For a row in which only the moments of frees differ, and peaks by them, ordered:
    what real processes and each rank alone do in one order; again: what real processes do another time."""
    for rank, (a, b) in enumerate(zip(reals, alones, strict=True)):
        if a["error"] or b["error"]:
            which = "real" if a["error"] else "alone"
            return f"rank {rank} {which} failed: {a['error'] or b['error']}"
    if reals == alones:
        return f"equal: {len(reals[0]['events'])} events"
    if allocations(reals) == allocations(alones):
        one, other = ordered()
        if one == other and not any(run["error"] for run in one):
            return (
                f"equal: {len(one[0]['events'])} events, in one order of threads and sets{other_peaks(reals, alones)}"
            )
    if same_but_for_frees(reals, alones):
        seen = [reals]
        for _ in range(TRIES):
            seen.append(again())
            if not same_but_for_frees(reals, seen[-1]):
                break
            if seen[-1] == alones:
                return f"equal: {len(reals[0]['events'])} events, as in one of several runs of real processes"
            if seen[-1] != reals and all(freed(b) in [freed(run[r]) for run in seen] for r, b in enumerate(alones)):
                return (
                    f"equal: {len(reals[0]['events'])} events, except the moments of frees, in which real processes "
                    "differ from each other too"
                )
    rank, a, b = next((r, a, b) for r, (a, b) in enumerate(zip(reals, alones, strict=True)) if a != b)
    peaks = "the same peaks" if a["peaks"] == b["peaks"] else f"peaks {a['peaks']} are {b['peaks']}"
    a, b = a["events"], b["events"]
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    first = f"{a[at] if at < len(a) else None} is {b[at] if at < len(b) else None}"
    return f"rank {rank} differs from event {at} of {len(a)} on ({len(b)} alone): {first}; {peaks}"


def allocations(runs):
    return [[e for e in run["events"] if e[0] == "alloc"] for run in runs]


def other_peaks(reals, alones):
    """The rest of a row that is equal in one order: peaks that are others as PyTorch is."""
    found = [(r, a["peaks"], b["peaks"]) for r, (a, b) in enumerate(zip(reals, alones)) if a["peaks"] != b["peaks"]]
    return "".join(f"; as PyTorch is, peaks {a} of rank {rank} are {b}" for rank, a, b in found)


def same_but_for_frees(runs, others):
    """Whether each rank made the same allocations in the same order in both, and had the same peaks.
    PyTorch's watchdog thread frees what a message keeps that nobody waits for: each second, with the next
    message, or not before the end."""
    peaks = [[run["peaks"] for run in of] for of in (runs, others)]
    return allocations(runs) == allocations(others) and peaks[0] == peaks[1] and not any(r["error"] for r in others)


def freed(run):
    return sorted(e for e in run["events"] if e[0] != "alloc")


def warm(names, world):
    """In a process on pretend GPUs, which imports once and forks the rest."""
    import strategies
    import torch
    import torch.distributed.fsdp
    import torch.distributed.pipelining
    import torch.distributed.tensor.parallel  # noqa: F401

    found = names or list(strategies.STRATEGIES)
    for name in found:
        with tempfile.TemporaryDirectory(prefix="truth-ranks-") as folder:
            folders = [Path(folder, str(i)) for i in range(2 + TRIES)]
            for made in folders:
                made.mkdir()
            first, second, *others = folders
            further = iter(others)

            def ordered():
                return [by(name, world, second, **{ORDERED: "1"}) for by in (real, alone)]

            reals, alones = real(name, world, first), alone(name, world, first)
            text = said(reals, alones, ordered, lambda: real(name, world, next(further)))
            print(ROW + json.dumps([name, text]), flush=True)


def main():
    p = argparse.ArgumentParser(usage="python -m truth ranks [--world N] [STRATEGY…]")
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--on", default="h100-sxm-80gb")
    p.add_argument("strategies", nargs="*")
    a = p.parse_args()
    import strategies

    from memshim import pretend

    if unknown := [n for n in a.strategies if n not in strategies.STRATEGIES]:
        p.error(f"got {unknown[0]!r}, want one of: {'; '.join(strategies.STRATEGIES)}")
    code = "import sys, truth_ranks; truth_ranks.warm(sys.argv[2:], int(sys.argv[1]))"
    environ = os.environ | pretend.environment(a.on, count=a.world)
    command = [sys.executable, "-c", code, str(a.world), *a.strategies]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    equal = of = 0
    for line in process.stdout:
        if not line.startswith(ROW):
            continue
        name, text = json.loads(line.removeprefix(ROW))
        equal, of = equal + text.startswith("equal"), of + 1
        print(f"{name:32} {a.world}  {text}", flush=True)
    print(f"{equal} of {of} equal")
    return process.wait() or int(equal < of)


if __name__ == "__main__":
    sys.exit(main())
