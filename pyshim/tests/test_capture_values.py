"""memshim capture of what reads values, and of archives."""

import json

import pytest
from captured import capture, decode

import memshim
from memshim import binary
from memshim.case.build import load_source

torch = pytest.importorskip("torch")

ZOO = """
import torch
from torch import nn

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(256, 256)

    def forward(self, x):
        y = self.l(x)
        if y.sum() > 0:  # read
            y = torch.cat([y, y, y])
        n = int(x.shape[0])
        return self.l(y)[:n]

class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(256, 256)

    def forward(self, x, mask):
        if mask.all():
            return self.l(x)
        return self.l(torch.cat([x, x]))

def net():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
"""
READ = next(i for i, line in enumerate(ZOO.splitlines(), 1) if line.endswith("# read"))
ROWS = 4 * 256 * 8192  # bytes of x, which has too many values to be followed


pytestmark = pytest.mark.usefixtures("pretend_gpu")


SPEC = f"""
version: 1
defaults: {{device: t4}}
models:
  branches:
    source: zoo.py:Branches
    inputs: ["float32[8192,256]"]
    cases:
      - {{name: unknown, budget: {{allocated: 1GiB}}}}
      - {{name: taken, assume: {{"zoo.py:{READ}": 1}}, budget: {{allocated: 1GiB}}}}
"""


def test_a_value_that_no_kernel_computed_is_noted_and_can_be_assumed(folder):
    (folder / "memspec.yaml").write_text(SPEC)
    p = capture(folder, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    files = {decode(f)[0]["case"]: decode(f)[0] for f in (folder / ".memspec").iterdir()}
    (unknown,), (taken,) = files["unknown"]["notes"], files["taken"]["notes"]
    assert (unknown["id"], unknown["file"], unknown["line"]) == (
        "value-read",
        "zoo.py",
        READ,
    ) and "and was given false" in unknown["text"]
    assert taken["text"].endswith("and was given 1, as assume: says")
    peaks = {name: f["phases"][1]["requested"] - f["phases"][0]["requested"] for name, f in files.items()}
    assert peaks["taken"] >= 2 * 3 * ROWS > peaks["unknown"] >= 2 * ROWS, "the other way, by assumption"
    said = binary.call("check", str(folder / "memspec.yaml"), "--format", "json")
    reports = {c["name"]: c["report"] for c in json.loads(said.out)["cases"]}
    ids = {name: [n["id"] for n in r["notes"] if n["id"] != "dependencies-unchecked"] for name, r in reports.items()}
    assert said.code == 0 and ids == {"unknown": ["value-read", "value-decides"], "taken": ["value-stated"]}, (
        "memspec says so too"
    )
    places = {
        (n["first"]["file"], n["first"]["line"]) for n in reports["unknown"]["notes"] if n["id"] in ids["unknown"]
    }
    assert places == {("zoo.py", READ)}
    assert (reports["unknown"]["quality"], reports["taken"]["quality"]) == ("bound", "exact")
    assert reports["unknown"]["other_values"][0]["allocated"] == reports["taken"]["peak"]["allocated"], (
        "the other end is what the assumption takes"
    )


def test_a_value_that_the_host_gave_is_read_as_it_is(folder):
    p = capture(
        folder,
        "zoo.py:Masked",
        "--input",
        "float32[2048,256]",
        "--input",
        "bool[2048]",
        "--on",
        "t4",
        "-o",
        "masked.rec",
    )
    assert p.returncode == 0, p.stderr
    assert decode(folder / "masked.rec")[0]["notes"] == []


@pytest.mark.parametrize("kind", ["script", "trace", "export"])
def test_an_archive_is_run_by_pytorch_itself(folder, kind):
    """With the memory of its source: the same tensors at the same moments."""
    name = "net.pt2" if kind == "export" else f"{kind}.pt"
    memshim.export(load_source("zoo.py:net", str(folder)), folder / name, torch.zeros(2048, 256), kind=kind)
    for source in (name, "zoo.py:net"):
        p = capture(
            folder, source, "--input", "float32[2048,256]", "--on", "t4", "-o", source.replace(":", "-") + ".rec"
        )
        assert p.returncode == 0, p.stderr
    (archive, of_archive), (source, of_source) = decode(folder / f"{name}.rec"), decode(folder / "zoo.py-net.rec")
    assert (archive["artifact"], archive["source"], archive["built"]) == (name, "", "artifact") and source[
        "built"
    ] == "source"
    assert archive["weights"] == source["weights"] == 4 * (256 * 512 + 512 + 512 * 256 + 256)
    assert [p["requested"] for p in archive["phases"][:2]] == [p["requested"] for p in source["phases"][:2]]
    made = lambda events: sorted(e["size"] for e in events if e["action"] == "alloc")
    end = [h["phases"][1]["events"] for h in (archive, source)]
    assert made(of_archive[: end[0]]) == made(of_source[: end[1]])
    said = binary.call("replay", str(folder / f"{name}.rec"))
    assert said.code == 0 and "simulation and recording agree" in said.out


def test_a_stripped_archive_has_nothing_to_run(folder):
    memshim.export(load_source("zoo.py:net", str(folder)), folder / "stripped.pt", strip=True)
    p = capture(folder, "stripped.pt", "--input", "float32[2048,256]", "--on", "t4", "-o", "none.rec")
    assert p.returncode == 2 and not (folder / "none.rec").exists()
    assert p.stderr.strip().splitlines()[-1].startswith("memshim capture: stripped.pt is stripped"), p.stderr
