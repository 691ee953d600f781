"""Each rank alone, beside the same rank of real processes, on pretend GPUs: event for event of PyTorch's
allocator.

    python -m truth ranks [--world N] [STRATEGY…]

A row has the strategy, the ranks, the number of events of rank 0 and whether the allocator did the
same for each rank: the same actions, sizes and streams in the same order, deaths included; else
where it first did not, and the peaks.
"""

import argparse
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

LIMIT = 900  # seconds of one strategy's processes


def taken(index):
    """What the allocator did on a device: (action, bytes, which stream, which allocation) of each event."""
    import torch

    streams, blocks, out = {}, {}, []
    for e in torch.cuda.memory._snapshot()["device_traces"][index]:
        if e["action"] in ("snapshot", "segment_alloc", "segment_free"):
            continue
        if e["action"] == "alloc":
            blocks[e["addr"]] = len(out)
        at = blocks.get(e["addr"], -1)
        out.append((e["action"], e["size"], streams.setdefault(e["stream"], len(streams)), at))
    return out


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
        strategies.STRATEGIES[name](rank, world)
        torch.cuda.synchronize()
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
        finally:
            sys.stdout.flush()
            os._exit(0)
    return pid


def torchrun(rank, world, port):
    return {
        "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world),
        "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCH_NCCL_ENABLE_MONITORING": "0",
    }  # fmt: skip


def compare(name, world, folder):
    """(real, alone) of each rank."""
    from memshim.pretend import absent
    from memshim.program import process_reports

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    real = [folder / f"real.{r}" for r in range(world)]
    exchange = {"CHECKPOINT": str(folder / "checkpoint"), process_reports.FIGURES: str(folder)}
    ends = wait([fork(name, torchrun(r, world, port) | exchange, real[r]) for r in range(world)])
    alone = [folder / f"alone.{r}" for r in range(world)]
    for r in range(world):
        one = absent.Rank(r, world, str(folder), name)
        variables = torchrun(r, world, port) | {absent.VARIABLE: json.dumps(one._asdict())}
        ends += wait([fork(name, variables | {"CHECKPOINT": str(folder / f"checkpoint.{r}")}, alone[r])])
    found = [answer(*pair) for pair in zip([*real, *alone], ends, strict=True)]
    return list(zip(found[:world], found[world:], strict=True))


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


def said(pairs):
    """The rest of a row."""
    for rank, (real, alone) in enumerate(pairs):
        if real["error"] or alone["error"]:
            which = "real" if real["error"] else "alone"
            return f"rank {rank} {which} failed: {real['error'] or alone['error']}"
    for rank, (real, alone) in enumerate(pairs):
        a, b = real["events"], alone["events"]
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            first = f"{a[at] if at < len(a) else None} is {b[at] if at < len(b) else None}"
            peaks = (
                "the same peaks" if real["peaks"] == alone["peaks"] else f"peaks {real['peaks']} are {alone['peaks']}"
            )
            return f"rank {rank} differs from event {at} of {len(a)} on ({len(b)} alone): {first}; {peaks}"
    return f"equal: {len(pairs[0][0]['events'])} events"


def warm(names, world):
    """In a process on pretend GPUs, which imports once and forks the rest."""
    import strategies
    import torch
    import torch.distributed.fsdp
    import torch.distributed.pipelining
    import torch.distributed.tensor.parallel  # noqa: F401

    found = names or list(strategies.STRATEGIES)
    for name in found:
        with tempfile.TemporaryDirectory(prefix="memshim-ranks-") as folder:
            pairs = compare(name, world, Path(folder))
            print(json.dumps([name, said(pairs)]), flush=True)


def main():
    p = argparse.ArgumentParser(usage="python -m truth ranks [--world N] [STRATEGY…]")
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--on", default="h100-sxm-80gb")
    p.add_argument("strategies", nargs="*")
    a = p.parse_args()
    from memshim import pretend

    code = "import sys, truth_ranks; truth_ranks.warm(sys.argv[2:], int(sys.argv[1]))"
    environ = os.environ | pretend.environment(a.on, count=a.world)
    command = [sys.executable, "-c", code, str(a.world), *a.strategies]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    equal = of = 0
    for line in process.stdout:
        if not line.startswith("["):
            continue
        name, text = json.loads(line)
        equal, of = equal + text.startswith("equal"), of + 1
        print(f"{name:32} {a.world}  {text}", flush=True)
    print(f"{equal} of {of} equal")
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
