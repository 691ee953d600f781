"""Records the cases of a memspec.yaml on a Dask cluster, and judges them all: every size, model and
card, none on a GPU.

    pip install memshim distributed
    python sweep.py memspec.yaml                                   two workers on this machine
    python sweep.py memspec.yaml --scheduler tcp://head:8786       a cluster

Workers are Linux x86-64 with PyTorch, and share this folder: recordings go into .memspec/. What is
recorded already is not run again, so that a sweep that was interrupted goes on.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed


def record(spec, part, parts):
    """One part of the cases, in a worker."""
    command = [sys.executable, "-m", "memshim", "capture", spec, "--shard", f"{part}/{parts}"]
    ended = subprocess.run(command, cwd=Path(spec).parent, capture_output=True, text=True)
    return part, ended.returncode, ended.stdout + ended.stderr


def main():
    p = argparse.ArgumentParser(description="Record the cases of a memspec.yaml on a Dask cluster.")
    p.add_argument("spec", nargs="?", default="memspec.yaml")
    p.add_argument("--scheduler", default="", help="its address; without it two workers start here")
    p.add_argument("--parts", type=int, default=8, help="how many the cases are split into")
    p.add_argument("-o", "--output", default="peaks.csv", help="the figures of every case")
    a = p.parse_args()
    spec = str(Path(a.spec).resolve())
    cluster = a.scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        tasks = [client.submit(record, spec, k, a.parts, pure=False) for k in range(1, a.parts + 1)]
        for _, (part, code, said) in as_completed(tasks, with_results=True):
            print(f"part {part} of {a.parts}: {'recorded' if code == 0 else 'failed'}\n{said}", end="", flush=True)
    if not a.scheduler:
        cluster.close()
    memspec = os.environ.get("MEMSPEC", "memspec")  # its Go command
    return subprocess.run([memspec, "check", spec, "-o", a.output]).returncode


if __name__ == "__main__":
    sys.exit(main())
