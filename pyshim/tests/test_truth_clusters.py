"""The table of published peaks of clusters: what is asked of each row. `python -m truth clusters` runs
them."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import truth_clusters as clusters  # noqa: E402


def test_every_row_can_be_run(found_binary):
    from memshim.pretend import device

    rows = clusters.rows()
    for r in rows:
        assert r.measured > 0 and r.source and device.find(r.gpu).name == r.gpu, r
        assert r.release in (clusters.PACKAGE, *clusters.RELEASES)
    assert len({(r.release, r.row) for r in rows}) == len(rows)


def test_how_a_row_runs():
    row = clusters.Row(
        "8B", clusters.PACKAGE, "h200-sxm", 8, "last", "--compile.components 'model loss'", 82.4, "a report"
    )
    options = clusters.options(row)
    assert options[:7] == ["--world-size", "8", "--nproc-per-node", "8", "--rank", "last", "--"]
    assert options[-2:] == ["--compile.components", "model loss"]


def test_a_row_of_an_earlier_release_takes_its_configurations(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CACHE", tmp_path)
    source = tmp_path / "torchtitan-9dec370ad"
    (source / "train_configs").mkdir(parents=True)
    row = clusters.Row("8B", "2024-12", "h200-sxm", 8, "first", "--job.config_file CONFIGS/8b.toml", 82.4, "a report")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in clusters.variables(row)
    settled = row._replace(allocator="expandable_segments:True")
    assert clusters.variables(settled)["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    program = clusters.program(row)
    assert program[1:3] == ["--job.config_file", str(source / "train_configs" / "8b.toml")]
    assert program[-2:] == ["--training.steps", "3"]
    assert Path(program[0]).exists() and clusters.folder("2024-12") == source


def test_the_source_of_a_release_is_fetched_whole_or_not_at_all(tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(repository)]
    repository.mkdir()
    (repository / "train.py").write_text("print()")
    for words in (["init", "-q"], ["add", "train.py"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    revision = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.setattr(clusters, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(clusters, "RELEASES", {"then": clusters.Release(revision, "")})
    monkeypatch.setattr(clusters, "TORCHTITAN", str(tmp_path / "nothing"))
    with pytest.raises(subprocess.CalledProcessError):
        clusters.fetch("then")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setattr(clusters, "TORCHTITAN", repository.as_uri())
    clusters.fetch("then")
    assert [f.name for f in clusters.folder("then").iterdir()] == ["train.py"]


TOOK = """
import subprocess, sys
from truth_frameworks import ended
busy = "import time; b = bytearray(200 << 20); t = time.process_time()\\nwhile time.process_time() < t + .3: pass"
large, small = [ended(subprocess.Popen([sys.executable, "-c", code]), 60) for code in (busy, "pass")]
assert large.ru_maxrss > (200 << 10) > small.ru_maxrss, (large, small)
assert large.ru_utime + large.ru_stime >= 0.3 > small.ru_utime + small.ru_stime, (large, small)
assert ended(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE), 0) is None
"""


def test_what_a_process_took_is_its_own():
    """Linux counts the memory of the one that starts it, too: that is a small one."""
    run = subprocess.run([sys.executable, "-c", TOOK], cwd=TOOLS / "truth", capture_output=True, text=True, timeout=120)
    assert not run.returncode, run.stderr


def test_a_name_is_a_row_or_a_part_of_several():
    rows = [clusters.rows()[0]._replace(row=r) for r in ("405B 1F1B", "405B 1F1B CP 2", "70B")]
    named = {n: [r.row for r in rows if clusters.is_named(r, n, rows)] for n in ("405B", "405B 1F1B", "CP")}
    assert named == {"405B": ["405B 1F1B", "405B 1F1B CP 2"], "405B 1F1B": ["405B 1F1B"], "CP": ["405B 1F1B CP 2"]}


def test_an_error_is_in_percent_of_what_was_measured():
    row = clusters.rows()[0]._replace(measured=80.0)
    assert clusters.error(row, 78 << 30) == pytest.approx(-2.5)
