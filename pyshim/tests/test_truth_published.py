"""The tables of published peaks: their rows, and how a figure is read from what a program prints."""

import csv
import json
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]

from truth import sources, truth_liger, truth_programs  # noqa: E402


def test_every_program_has_rows_and_every_row_a_program():
    files = {f.name for f in (TOOLS / "truth" / "programs").glob("*.py")}
    assert {p.file for p in truth_programs.SETS.values()} == files
    assert {r["set"] for r in truth_programs.rows([])} == set(truth_programs.SETS)


def test_a_row_of_a_set_is_chosen_by_name():
    assert [r["measured"] for r in truth_programs.rows(["torchtune/3b lora"])] == ["8.5"]
    assert truth_programs.rows(["torchtune/no such"]) == []


def test_a_row_names_the_repository_and_the_revision_of_its_program():
    origins = {truth_programs.origin(r) for r in truth_programs.rows(["torchao-generate/llama-2-7b float32"])}
    assert origins == {("pytorch/ao", "317392d0")}
    assert all(re.fullmatch(r"[0-9a-f]{8}", truth_programs.origin(r)[1]) for r in truth_programs.rows([]))


def test_the_made_up_text_of_torchtune_ends():
    recipe = runpy.run_path(str(TOOLS / "truth" / "programs" / "torchtune_recipe.py"))
    assert sum(len(sample["tokens"]) for sample in recipe["Tokens"](256)) == 64 * 256


@pytest.mark.parametrize(
    "said, code, line",
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            0,
            "| out of memory | out of memory | |",
        ),
        ("ModuleNotFoundError: No module named 'peft'", 1, "| out of memory | ModuleNotFoundError: No module named"),
    ],
    ids=["it does", "it ends otherwise"],
)
def test_what_ran_out_of_memory_has_to_do_so_here(monkeypatch, capsys, said, code, line):
    row = {"set": "litgpt", "row": "a", "figure": "allocated", "measured": "out of memory", "unit": ""}
    monkeypatch.setattr(truth_programs, "rows", lambda names: [row])
    monkeypatch.setattr(truth_programs, "run", lambda row: (None, said, 5.0))
    monkeypatch.setattr(sys, "argv", ["programs"])
    assert truth_programs.main() == code
    out = capsys.readouterr().out
    assert line in out and f"{1 - code} of 1 that ran out of memory there do so here" in out


def test_one_made_up_sample_of_litgpt_is_the_longest():
    script = runpy.run_path(str(TOOLS / "truth" / "programs" / "litgpt_script.py"))
    lengths = [len(sample["input_ids"]) for sample in script["samples"](1044)]
    assert (lengths[0], set(lengths[1:])) == (1044, {128})


def test_the_figures_at_the_head_of_a_script_of_litgpt_are_put():
    script = runpy.run_path(str(TOOLS / "truth" / "programs" / "litgpt_script.py"))
    trains = types.SimpleNamespace(micro_batch_size=4, batch_size=128, gradient_accumulation_iters=32)
    given = {"micro_batch_size": 1, "devices": 2, "quantize": "bnb.nf4"}
    assert script["settle"](trains, given) == {"quantize": "bnb.nf4"}
    assert trains.devices == 2
    assert (trains.micro_batch_size, trains.batch_size, trains.gradient_accumulation_iters) == (1, 2, 2)
    assert script["settle"](types.SimpleNamespace(), {"quantize": "bnb.nf4"}) == {"quantize": "bnb.nf4"}


@pytest.mark.parametrize(
    "name, printed, figure",
    [
        ("torchao-generate", "Peak Memory Usage: 13.88 GB\nModel Size: 13.21 GB\n", 13.88),
        ("torchtune", "Step 1 | peak_memory_active:20.5 \nStep 2 | peak_memory_active:24.25 \n", 24.25),
        ("litgpt", "Memory used: 4.82 GB\n", 4.82),
        ("torchao-optimizers", "OutOfMemoryError: CUDA out of memory\n", None),
    ],
    ids=["one", "the largest", "of two decimals", "none"],
)
def test_the_figure_is_the_largest_that_the_program_prints(name, printed, figure):
    assert truth_programs.largest(truth_programs.SETS[name].figure, printed) == figure


def test_a_row_of_liger_has_the_key_of_the_authors_table():
    with truth_liger.ROWS.open() as f:
        row = next(r for r in csv.DictReader(f) if r["kernel"] == "geglu")
    authors = {
        "kernel_name": row["kernel"],
        "kernel_provider": row["provider"],
        "kernel_operation_mode": row["mode"],
        "x_value": row["x"],
        "extra_benchmark_config_str": row["config"],
    }
    assert truth_liger.key(authors) == truth_liger.key(row)
    assert json.loads(row["config"])["hidden_act"] == "gelu_pytorch_tanh"


def liger_row(tmp_path, monkeypatch, **columns):
    row = dict.fromkeys(truth_liger.NAMES, "") | {"torch": "2.6.0", "measured": "100", "pretended": ""} | columns
    table = tmp_path / "rows.csv"
    with table.open("w", newline="") as f:
        writer = csv.DictWriter(f, row)
        writer.writeheader()
        writer.writerows([row, row | {"x": "2", "pretended": "104"}])
    monkeypatch.setattr(truth_liger, "ROWS", table)
    return row


def test_what_a_row_of_liger_gave_is_recorded_beside_the_others(tmp_path, monkeypatch):
    row = liger_row(tmp_path, monkeypatch, kernel="rope", x="1")
    truth_liger.record([(row, 101.5)])
    assert [r["pretended"] for r in truth_liger.rows()] == ["101.5", "104"]


def test_the_totals_of_liger_count_the_rows_with_a_result(tmp_path, monkeypatch):
    liger_row(tmp_path, monkeypatch, kernel="rope", x="1")
    assert truth_liger.totals(truth_liger.rows()) == [
        "| Liger-Kernel's authors, 1 kernels (`liger`, 1 of 2 rows) | allocated | not stated | 2.6.0 "
        "| 1 | 0 | 4.00 | 4.00 | +4.00 |"
    ]


@pytest.mark.parametrize("script, runs", [("rope", [[]]), ("fused_moe", [[], ["--sweep-dim", "num_experts"]])])
def test_a_script_of_liger_runs_once_for_each_of_its_sweeps(monkeypatch, script, runs):
    found = []
    monkeypatch.setattr(truth_liger, "prepared", lambda revision, into: None)
    monkeypatch.setattr(truth_liger.frameworks, "report_of", lambda options, gpu, limit: found.append(options[3:]))
    assert truth_liger.run(script, "abc", "t4", 5) == ({}, "no end within 5 s")
    assert found == runs


def page_lines():
    """The lines of the first table of the page of published figures, without its head."""
    lines = (TOOLS.parents[1] / "docs" / "accuracy-published.md").read_text().splitlines()
    start = lines.index(truth_liger.PAGE.splitlines()[0]) + 2
    return lines[start : lines.index("", start)]


def test_the_page_has_the_totals_of_liger():
    assert set(truth_liger.totals(truth_liger.rows())) <= set(page_lines())


def test_the_page_has_the_sums_of_its_table():
    cells = [line.split(" | ") for line in page_lines()]
    rows, within = (sum(int(c[column]) for c in cells) for column in (4, 5))
    page = " ".join((TOOLS.parents[1] / "docs" / "accuracy-published.md").read_text().split())
    assert f"Of {rows} rows {within} are within 2 %." in page


def test_files_of_a_revision_are_extracted(tmp_path, monkeypatch):
    repository = tmp_path / "owner+name.git"
    repository.mkdir()

    def git(*words):
        subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a", *words], check=True)

    git("init", "--quiet")
    (repository / "kept.py").write_text("1\n")
    (repository / "other.txt").write_text("2\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    (repository / "kept.py").write_text("3\n")
    git("commit", "--quiet", "-am", "second")
    monkeypatch.setattr(sources, "CACHE", tmp_path)
    sources.extract("owner/name", "HEAD~1", tmp_path / "out", "kept.py")
    assert [(f.name, f.read_text()) for f in (tmp_path / "out").iterdir()] == [("kept.py", "1\n")]


@pytest.mark.parametrize("verb", ["liger", "programs"])
def test_an_unknown_row_is_named(verb):
    p = subprocess.run([sys.executable, "-m", "truth", verb, "no-such"], cwd=TOOLS, capture_output=True, text=True)
    assert p.returncode == 2 and "no-such" in p.stderr and len(p.stderr.splitlines()) == 1, p.stderr
