"""Write what operators allocate and free on described GPUs, kernels' and libraries' workspaces
among it.

    python -m truth devices testdata/aten t4 a10g h100-sxm-80gb

runs the calls of testdata/aten/<torch>/samples and those of samples/on_devices.py with PyTorch's
own code on pretend GPUs (memshim.pretend: kernels do nothing, the dispatcher, the allocator and the
libraries' plans are the real ones), and writes testdata/aten/<torch>/devices/calls.jsonl and
devices/<gpu>.txt (format: testdata/aten/README.md). Needs a C compiler and no GPU; two minutes a
device.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# files of calls that ran on the host, or on fake tensors alone
NOT_HERE = (
    "data",
    "host",
    "quant",
    "values",
    "written",
    "written_host",
    "written_limits",
    "written_varied_host",
    "written_ways",
)


def name_calls(folder: Path) -> dict[str, dict]:
    """Every recorded call by its name: operator and line of the operator over all files, as the Go
    tests count."""
    out: dict[str, dict] = {}
    count: dict[str, int] = {}
    for file in sorted((folder / "samples").glob("*.jsonl")):
        for text in file.read_text().splitlines():
            line = json.loads(text)
            count[line["op"]] = count.get(line["op"], 0) + 1
            if file.stem not in NOT_HERE and "events" in line and "backend" not in line:
                out[f"{line['op']}/{count[line['op']]}"] = line
    for n, text in enumerate((folder / "devices" / "calls.jsonl").read_text().splitlines(), 1):
        line = json.loads(text)
        out[f"{line['op']}+{n}"] = line
    return out


def fake_events(line: dict) -> str | None:
    """The recorded events in the form of the table; None where a storage changes its size."""
    born: dict[int, int] = {}
    out = []
    for e in line.get("events", [["r"]]):
        if e[0] == "r":
            return None
        if e[0] == "a":
            born[e[2]] = len(born)
            out.append(f"+{e[1]}")
        else:
            out.append(f"-{born.get(e[1], 'x')}")
    return " ".join(out)


def child(device: str, folder: Path, done: Path) -> None:
    """Runs what `done` has not, and appends a line a call to it."""
    import memshim

    memshim.pretend(device)
    sys.path.insert(0, str(HERE))
    from samples import on_device

    calls = name_calls(folder)
    have = {text.split("\t")[0] for text in done.read_text().splitlines()}
    with done.open("a") as out:
        for name, line in calls.items():
            if name not in have:
                out.write(f"{name}\t")
                out.flush()  # a call that ends the process leaves its name
                out.write(on_device.run(line) + "\n")
                out.flush()


def dump(device: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        done = Path(work) / "done.txt"
        done.write_text("")
        while True:
            status = subprocess.run(
                [sys.executable, __file__, "--child", device, str(folder), str(done)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            if status.returncode == 0:
                break
            if not done.read_text().endswith("\t"):
                sys.exit(f"{device}: {status.stderr[-2000:]}")
            with done.open("a") as out:
                out.write("! the process ended\n")
        got = dict(text.split("\t") for text in done.read_text().splitlines())
    calls = name_calls(folder)
    version = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__version__, torch.backends.cudnn.version())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    lines = [
        f"# torch {version[0]}, cuDNN {version[1]}, a pretend {device}. Calls that are not listed do as on fake "
        f"tensors. By python -m truth devices"
    ]
    lines += [f"{name} {events}".rstrip() for name, events in got.items() if events != fake_events(calls[name])]
    (folder / "devices" / f"{device}.txt").write_text("\n".join(lines) + "\n")
    refused = sum(events.startswith("!") for events in got.values())
    print(f"{device}: {len(got)} calls, {refused} do not run, {len(lines) - 1} listed", file=sys.stderr)


def main() -> None:
    if sys.argv[1] == "--child":
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
        return
    sys.path.insert(0, str(HERE))
    from dump_schemas import release

    root, devices = Path(sys.argv[1]), sys.argv[2:]
    folder = root / release()
    (folder / "devices").mkdir(exist_ok=True)
    from samples import on_devices

    texts = [json.dumps(line, separators=(",", ":"), allow_nan=False) for line in on_devices.lines()]
    (folder / "devices" / "calls.jsonl").write_text("\n".join(texts) + "\n")
    for device in devices:
        dump(device, folder)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
