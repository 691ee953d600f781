"""python -m memshim run: programs on a pretend GPU, unmodified, and what is known of them."""

import json
import os
import re
import subprocess
import sys

import pretended
import pytest
import warm
from captured import decode

from memshim import binary
from memshim.program import command, other_values, process_reports, report

pytest.importorskip("torch")
MIB = 1 << 20


pytestmark = pytest.mark.usefixtures("pretend_gpu")


def run(*arguments, stdin="", **kw):
    return warm.run([sys.executable, "-m", "memshim", "run", *arguments], input=stdin, **kw)


TRAIN = """
import json, sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters())
tops = []
for i in range(3):
    torch.cuda.reset_peak_memory_stats()
    model(torch.randn(64, 512, device="cuda")).sum().backward()
    optimizer.step()
    tops.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()])
    optimizer.zero_grad()
print(json.dumps({"argv": sys.argv, "name": __name__, "stdin": sys.stdin.read(), "path": sys.path[0], "tops": tops,
                  "stats": {k: v for k, v in torch.cuda.memory_stats().items() if "peak" not in k}}))
sys.exit(7)
"""


def test_a_training_program(tmp_path):
    """Its output, arguments, standard input and exit code are its own, the allocator does what it
    does without us, and the report is of what it did."""
    (tmp_path / "train.py").write_text(TRAIN)
    p = run(
        "--on", "t4", "--json", str(tmp_path / "out.json"), "--", "train.py", "--epochs", "1", stdin="fed", cwd=tmp_path
    )
    assert p.returncode == 7, p.stderr
    said = json.loads(p.stdout)
    assert (said["argv"], said["name"], said["stdin"], said["path"]) == (
        ["train.py", "--epochs", "1"],
        "__main__",
        "fed",
        str(tmp_path),
    )
    plain = warm.run([sys.executable, "train.py"], cwd=tmp_path, env=pretended.environment("t4"))
    assert json.loads(plain.stdout)["stats"] == said["stats"], (
        "the number of allocations and their sizes are as without us"
    )
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["where"], found["exit"], found["fits"], found["exact"]) == ("pretend", 7, None, True)
    (device,) = found["processes"][0]["devices"]
    assert device["name"] == "Tesla T4" and device["total"] == device["reserved"] + device["context"]
    assert device["allocated"] == max(t[0] for t in said["tops"]) and device["reserved"] == max(
        t[1] for t in said["tops"]
    )
    assert [i["allocated"] for i in device["iterations"]] == [t[0] for t in said["tops"]], (
        "an iteration ends with the optimizer's step"
    )
    lines = {(r["line"], r["backward"]): r["mem"] for r in device["lines"]["rows"]}
    assert lines[5, False] >= 4 * (512 * 2048 + 2048 * 8), "the model's line"
    assert sum(r["mem"] for r in device["lines"]["rows"]) == device["lines"]["peak"] == device["allocated"]
    assert "memshim: train.py on a pretend Tesla T4: ended with 7: total " in p.stderr
    assert "(the most of 2 iterations)" in p.stderr and "train.py:11 (<module>)" in p.stderr


def test_a_program_as_an_artifact(tmp_path):
    """What memspec replays, and predicts from; under other settings of the allocator too."""
    (tmp_path / "train.py").write_text(TRAIN.replace("sys.exit(7)", ""))
    words = "--on", "t4", "--record", "train.rec", "--html", "train.html", "--json", "out.json", "--", "train.py"
    p = run(*words, cwd=tmp_path)
    assert p.returncode == 0 and "  recording        train.rec" in p.stderr, p.stderr
    assert "  page             train.html\n" in p.stderr, p.stderr
    tops = json.loads(p.stdout)["tops"]
    header, events = decode(tmp_path / "train.rec")
    assert (header["where"], header["mode"], header["case"], header["device"]["name"]) == (
        "pretend",
        "training",
        "train.py",
        "Tesla T4",
    )
    assert [[q["allocated"], q["reserved"]] for q in header["phases"][1:4]] == tops and [
        q["name"] for q in header["phases"]
    ][:4] == ["baseline", "first", "steady", "steady"]
    assert any(
        e["size"] == 4 * 512 * 2048 and any(f.endswith("train.py") and n == 5 for f, n in e["lines"]) for e in events
    ), "the model's line"
    said = binary.call("replay", str(tmp_path / "train.rec"))
    assert said.code == 0 and "simulation and recording agree" in said.out, said.out + said.err
    said = binary.call("estimate", str(tmp_path / "train.rec"), "--device", "t4", "--format", "json")
    assert said.code == 0 and max(q["peak"]["reserved"] for q in json.loads(said.out)["passes"]) == max(
        t[1] for t in tops
    ), said.out + said.err
    before = [(tmp_path / name).read_bytes() for name in ("train.rec", "train.html")]
    again = run(*words, cwd=tmp_path)
    after = [(tmp_path / name).read_bytes() for name in ("train.rec", "train.html")]
    assert again.returncode == 0 and after == before, "the same run, the same bytes"
    page = after[1].decode()
    assert "<h3>train.py on t4</h3>" in page and "steady iteration 2" in page and "memshim-" not in page
    assert "data-beside" not in page, "one run stands beside no other"


OOM = """
import torch
kept = torch.empty(700 << 20, dtype=torch.uint8, device="cuda")
if {caught}:
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
else:
    torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
"""


def test_a_program_that_does_not_fit(tmp_path):
    (tmp_path / "big.py").write_text(OOM.format(caught=False))
    words = "--on", "t4", "--memory", "2GiB", "--json", "out.json", "--record", "big.rec", "--html", "big.html"
    p = run(*words, "--", "big.py", cwd=tmp_path)
    assert p.returncode == 1 and "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" in p.stderr, (
        "the program's own traceback"
    )
    printed = p.stderr[p.stderr.index("memshim: ") :]
    assert printed.startswith(
        "memshim: big.py on a pretend Tesla T4: does not fit: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    assert p.stderr.count("PYTORCH_CUDA_ALLOC_CONF") + p.stderr.count("PYTORCH_ALLOC_CONF") == 1, (
        "PyTorch's whole text stands there once"
    )
    assert "out of memory: 2.00 GiB asked for at big.py:10 (<module>)" in printed and "700.0 MiB" in printed
    assert json.loads((tmp_path / "out.json").read_text())["fits"] is False
    assert decode(tmp_path / "big.rec")[0]["oom"]["text"].startswith("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert binary.call("replay", str(tmp_path / "big.rec")).code == 0
    page = (tmp_path / "big.html").read_text()
    assert '<details class="case" id="c0" open>' in page and "does not fit: 2.00 GiB asked for" in page


def test_a_program_that_fails_has_no_page(tmp_path):
    """Its recording is of a part of the run."""
    p = run("--on", "t4", "--html", "x.html", "--", "-c", "import torch; torch.ones(9).cuda(); 1 / 0", cwd=tmp_path)
    assert p.returncode == 1 and "\n  page             none: x.html is not written, as the program" in p.stderr
    assert not (tmp_path / "x.html").exists()


def test_a_program_whose_first_tensor_does_not_fit(tmp_path):
    """It took nothing of the GPU, and that is not what is reported."""
    (tmp_path / "big.py").write_text("import torch\ntorch.empty(3 << 30, dtype=torch.uint8, device='cuda')\n")
    p = run("--on", "t4", "--memory", "2GiB", "--json", "out.json", "--record", "big.rec", "--", "big.py", cwd=tmp_path)
    assert (
        p.returncode == 1
        and "memshim: big.py on a pretend Tesla T4: does not fit: CUDA out of memory. Tried to allocate 3.00 GiB."
        in p.stderr
    )
    assert "out of memory: 3.00 GiB asked for at big.py:2 (<module>)" in p.stderr
    assert json.loads((tmp_path / "out.json").read_text())["fits"] is False
    assert binary.call("replay", str(tmp_path / "big.rec")).code == 0


LATER = """
import torch
peak = torch.empty(1500 << 20, dtype=torch.uint8, device="cuda")
del peak
state = torch.empty(900 << 20, dtype=torch.uint8, device="cuda")
torch.empty(1600 << 20, dtype=torch.uint8, device="cuda")
"""


def test_a_program_that_does_not_fit_after_its_peak(tmp_path):
    """As with an optimizer's state, which comes after the first iteration's peak: who holds what is
    reported of the moment at which memory ran out."""
    (tmp_path / "later.py").write_text(LATER)
    p = run("--on", "t4", "--memory", "2GiB", "--json", "out.json", "--", "later.py", cwd=tmp_path)
    assert p.returncode == 1
    printed = p.stderr[p.stderr.index("memshim: ") :]
    assert "peak 1.46 GiB (allocated on a pretend GPU), reached at later.py:3 (<module>)" in printed
    held = printed[printed.index("held when memory ran out: 900.0 MiB") :].splitlines()
    assert len(held) == 3 and held[2].split() == [
        "900.0",
        "MiB",
        "900.0",
        "MiB",
        "900.0",
        "MiB",
        "1",
        "later.py:5",
        "(<module>)",
    ]
    (device,) = json.loads((tmp_path / "out.json").read_text())["processes"][0]["devices"]
    oom = device["lines"]["out_of_memory"]
    assert (oom["size"], oom["held"], [(r["mem"], r["line"]) for r in oom["rows"]]) == (
        1600 << 20,
        900 << 20,
        [(900 << 20, 5)],
    )


def test_a_program_that_catches_it(tmp_path):
    (tmp_path / "big.py").write_text(OOM.format(caught=True))
    p = run("--on", "t4", "--memory", "2GiB", "--", "big.py", cwd=tmp_path)
    assert p.returncode == 0 and "memory ran out 1 time and the program went on" in p.stderr


SPAWN = """
import sys
import torch
import torch.multiprocessing as mp

def worker(rank):
    torch.cuda.set_device(rank)
    kept = torch.empty((rank + 1) * 100 << 20, dtype=torch.uint8, device="cuda")

if __name__ == "__main__":
    mp.spawn(worker, nprocs=2)
"""


def test_each_process_is_reported_apart(tmp_path):
    (tmp_path / "spawn.py").write_text(SPAWN)
    p = run("--on", "t4", "--count", "2", "--json", "out.json", "--record", "each.rec", "--", "spawn.py", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    taken = [[(d["index"], d["allocated"] // MIB) for d in q["devices"]] for q in found["processes"]]
    assert taken[0] == [] and sorted(taken[1:]) == [[(0, 100)], [(1, 200)]], (
        "a process that only started others took nothing"
    )
    assert sorted(decode(tmp_path / f"each.{i}.rec")[0]["phases"][1]["allocated"] // MIB for i in (0, 1)) == [100, 200]
    assert "spawn.py, process " in p.stderr and " on a pretend Tesla T4 1: fits: " in p.stderr


VALUES = """
import importlib.util
assert importlib.util.find_spec("torch"), "transformers and others ask whether there is one, and import it later or not"
import torch
assert (torch.arange(5).cuda() + 1).sum() == 15
big = torch.randn(1 << 20, device="cuda")
if big.sum() > 0.5:
    pass
"""


def test_values_that_no_kernel_computed_are_noted(tmp_path):
    (tmp_path / "ask.py").write_text(VALUES)
    p = run("--on", "t4", "--json", "out.json", "--", "ask.py", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["exact"] is False and found["processes"][0]["reads"][0]["line"] == 7
    assert "  value-read: ask.py:7 (<module>): " in p.stderr


BRANCH = """
import torch
x = torch.randn(1 << 20, device="cuda")
big = torch.cat([x] * 100) if x.abs().mean() > 1e-9 else x
"""


def test_the_ends_of_what_values_decide(tmp_path):
    """Without --check-values the figure is an estimate that names the line; with it the program
    runs with other values too."""
    (tmp_path / "branch.py").write_text(BRANCH)
    p = run("--on", "t4", "--json", "out.json", "--", "branch.py", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert p.returncode == 0 and (found["values"], found["quality"]) == ("balanced", "estimate") and "ends" not in found
    assert "  estimate         values that no kernel computed may decide, read at branch.py:4 (<module>)" in p.stderr
    assert "branch.py on a pretend Tesla T4: fits, as an estimate: total " in p.stderr
    p = run("--on", "t4", "--json", "out.json", "--check-values", "--", "branch.py", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert (
        p.returncode == 0
        and found["quality"] == "bound"
        and "  bound            values that no kernel computed decide" in p.stderr
    )
    assert "branch.py on a pretend Tesla T4: fits: total " in p.stderr
    peaks = {e["values"]: e["peaks"][0]["allocated"] for e in found["ends"]}
    assert (
        list(peaks) == ["least", "most", "skewed"]
        and max(peaks.values()) >= 400 * MIB > 20 * MIB > found["processes"][0]["devices"][0]["allocated"]
    )
    p = run("--on", "t4", "--memory", "1GiB", "--values", "most", "--json", "out.json", "--", "branch.py", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["values"] == "most" and found["processes"][0]["devices"][0]["allocated"] == peaks["most"]


def test_ends_of_which_one_does_not_fit(tmp_path):
    """The first line does not call that a fit."""
    (tmp_path / "branch.py").write_text(BRANCH)
    p = run("--on", "t4", "--memory", "512MiB", "--check-values", "--", "branch.py", cwd=tmp_path)
    assert p.returncode == 3 and "branch.py on a pretend Tesla T4: undecided: total " in p.stderr
    assert re.search(r"^  values most +does not fit$", p.stderr, re.MULTILINE)


def test_a_package_that_is_missing_before_torch_is_imported():
    p = run("--on", "t4", "--", "-c", "import no_such_package.part")
    assert p.returncode == 1
    lines = p.stderr.splitlines()
    assert "ModuleNotFoundError: No module named 'no_such_package'" in lines
    assert f"memshim: got no package no_such_package, want it installed for {sys.executable}" in lines
    p = run("--on", "t4", "--", "-c", "import json.no_such_part")
    assert p.returncode == 1 and "got no package" not in p.stderr


def test_programs_that_report_nothing(tmp_path):
    """No torch, ended in the middle, a module, code, a command that is no Python: the exit code is
    theirs."""
    assert run("--on", "t4", "--", "-c", "print(3)").stdout == "3\n"
    p = run("--on", "t4", "--", "-c", "import os; os._exit(9)")
    assert (
        p.returncode == 9 and "memshim: python -c took nothing of the pretend GPU: torch was never imported" in p.stderr
    )
    p = run("--on", "t4", "--", "-c", "import os; os.kill(os.getpid(), 15)")
    assert p.returncode == 143
    (tmp_path / "mod.py").write_text("import sys; print(sys.argv[1:]); sys.exit(4)")
    p = run("--on", "t4", "--", "-m", "mod", "--on", "x", cwd=tmp_path)
    assert (p.returncode, p.stdout) == (4, "['--on', 'x']\n")
    assert run("--on", "t4", "--", "sh", "-c", "echo $MEMSPEC_PRETEND | cut -c1-13").stdout == "name=Tesla T4\n"


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--on", "t4"], "got no program, want -- train.py"),
        (["--on", "t4", "--", "absent.py"], "absent.py: no such file"),
        (["--on", "t4", "--", "no-such-program"], "no-such-program: no such file, and no program of that name"),
        (["--on", "t4", "--", "-m"], "got -m alone, want what it runs"),
        (["--on", "toaster", "--", "-c", "0"], "got device 'toaster', want a known device"),
        (["--on", "t4", "--memory", "40GB", "--", "-c", "0"], "got size '40GB'"),
        (["--on", "t4", "--count", "17", "--", "-c", "0"], "got 17 devices, want 1 to 16"),
        (["--on", "t4", "--json", "/no/folder/x.json", "--", "-c", "0"], "/no/folder/x.json"),
        (["--on", "t4", "--top", "-1", "--", "-c", "0"], "got --top -1, want 0 or more"),
        (["--on", "t4", "--record", "x.json", "--", "-c", "0"], "got --record x.json, want a name that ends with .rec"),
        (["--on", "t4", "--record", "/no/folder/x.rec", "--", "-c", "0"], "/no/folder/x.rec"),
        (["--on", "t4", "--html", "x.txt", "--", "-c", "0"], "got --html x.txt, want a name that ends with .html"),
        (["--on", "t4", "--html", "/no/folder/x.html", "--", "-c", "0"], "/no/folder/x.html"),
    ],
)
def test_what_cannot_be_run(arguments, text, capsys):
    assert command.main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("memshim run: ") and text in said and said.count("\n") == 1


def test_signals_are_the_programs(tmp_path):
    """A program that ends cleanly when it is asked to has its report."""
    (tmp_path / "wait.py").write_text(
        "import signal, sys, time, torch\nx = torch.empty(50 << 20, dtype=torch.uint8, device='cuda')\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    p = subprocess.Popen(
        [sys.executable, "-m", "memshim", "run", "--on", "t4", "--", "wait.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert p.stdout.readline() == "ready\n"
    p.terminate()
    _, said = p.communicate(timeout=120)
    assert p.returncode == 5 and "peak             allocated 50.0 MiB" in said, said


def test_an_interrupted_program_has_its_report_and_exit_code(tmp_path):
    (tmp_path / "wait.py").write_text(
        "import os, signal, torch\nx = torch.empty(50 << 20, dtype=torch.uint8, device='cuda')\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)\n"
    )
    p = run("--on", "t4", "--", "wait.py", cwd=tmp_path)
    assert p.returncode == 130 and "memshim: wait.py on a pretend Tesla T4: ended by SIGINT: total " in p.stderr
    assert "wait.py:2 (<module>)" in p.stderr


def of_device(name, **more):
    """A process that used one device, as it reports it itself: the context at the lower bound."""
    card = command.pretend.find(name)
    d = {
        "index": 0,
        "name": card.driver,
        "memory": card.memory,
        "context": card.context,
        "allocated": MIB,
        "reserved": 2 * MIB,
        "ooms": 0,
        "iterations": [],
        "lines": {},
        "table": "",
    } | more
    return {
        "pid": 1,
        "arguments": [],
        "host_pinned": 0,
        "exact": True,
        "out_of_memory": "",
        "missing": "",
        "reads": [],
        "timed": [],
        "refused": [],
        "unsized": [],
        "files": [],
        "kept_back": [],
        "ended": "",
        "code": 0,
        "failed": False,
        "devices": [d | {"total": d["reserved"] + d["context"]}],
    }


def test_a_workspace_that_the_library_did_not_say_is_noted():
    """cuDNN before 9.8: of another version, or by formula."""
    p = of_device("t4")
    why = "workspace-estimate: the workspace of cuDNN's convolutions is by formula"
    p |= {"exact": False, "estimated": [{"name": why, "count": 3}]}
    process_reports.ranges([p], [command.pretend.find("t4")])
    assert report.text(report.report(0, [p], ["x"], ["t4"]), "x").splitlines()[-1] == f"  {why}"


def test_what_has_no_known_size_leaves_the_answer_open():
    """Where the rest fits. What does not fit without it does not fit."""
    card = command.pretend.find("t4")
    p = of_device("t4")
    p |= {"exact": False, "unsized": [{"name": "cuSOLVER's workspace: taken as 0", "count": 3}]}
    process_reports.ranges([p], [card])
    found = report.report(0, [p], ["x"], ["t4"])
    assert found["fits"] is None and report.undecided(found)
    assert ": fits without what is not known (cuSOLVER's workspace): total 136.9 MiB of" in report.text(found, "x")
    found = report.report(0, [p | {"out_of_memory": "CUDA out of memory."}], ["x"], ["t4"])
    assert found["fits"] is False


def test_a_total_is_the_range_of_the_devices_row():
    """The range that memspec estimate prints of its recording: what the driver takes is known
    within one, and both ends decide whether it fits."""
    rows = {r["name"]: r for r in json.loads(binary.call("devices", "--format", "json").out)["devices"]}
    for name in ("t4", "a10g", "rtx-3060", "h100-sxm-80gb"):
        p = of_device(name)
        process_reports.ranges([p], [command.pretend.find(name)])
        context = rows[name].get("context_range") or {"low": rows[name]["context"], "high": rows[name]["context"]}
        assert p["devices"][0]["total_range"] == {"low": 2 * MIB + context["low"], "high": 2 * MIB + context["high"]}
    p = of_device("rtx-3060")
    process_reports.ranges([p], [command.pretend.find("t4"), command.pretend.find("rtx-3060")])
    assert p["devices"][0]["total_range"]["high"] > p["devices"][0]["total"], (
        "a card is known by its name where the program reordered them"
    )
    found = report.report(0, [p], ["x"], ["rtx-3060"])
    assert found["fits"] is True and ": fits: total 201.8 MiB to 361.1 MiB of 11.72 GiB\n" in report.text(found, "x")
    assert "total 201.8 MiB to 361.1 MiB (of it 199.8 MiB to 359.1 MiB outside of" in report.text(found, "x")


def test_a_total_that_may_be_more_than_the_card():
    card = command.pretend.find("rtx-3060")
    p = of_device("rtx-3060", reserved=card.memory - card.context - MIB)
    process_reports.ranges([p], [card])
    found = report.report(0, [p], ["x"], ["rtx-3060"])
    assert found["fits"] is None and report.undecided(found), "at its least it fits, at its most it does not"
    assert (
        ": may not fit, as what the driver takes is not known: total 11.72 GiB to 11.88 GiB of 11.72 GiB"
        in report.text(found, "x")
    )
    found["ends"] = [{"fits": None, "failed": False}]
    assert other_values.verdict(found | {"fits": True}) is None, "so it is where other values take more"
