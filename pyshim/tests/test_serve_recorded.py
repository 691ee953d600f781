"""serve: in memspec.yaml: an engine is started once, and what it came to is recorded, judged by Go, and
stale once something that it read has changed. The engine is fake_engine/ (test_serve.py)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import captured
import pretended
import pytest

import memshim
from memshim.case import capture, memspec_yaml

SCHEMA = json.loads((Path(memshim.__file__).parent / "schemas" / "serving.schema.json").read_text())
FAKE = str(Path(__file__).parent / "fake_engine")

SPEC = """
version: 1
models:
  chat:
    serve: [vllm, serve, models/tiny]
    env: {VLLM_STATED: "1"}
    device: t4
    budget: {loaded: 9MiB, activation: 1MiB}
    at_least: {kv_tokens: 1000}
    allow: [driver-unlogged]
    cases:
      - {}
      - {env: {FAKE_ENGINE: unfit}, name: unfit}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, found_binary):
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("engines")
    (folder / "models" / "tiny").mkdir(parents=True)
    (folder / "models" / "tiny" / "config.json").write_text("{}")
    (folder / "memspec.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as m:
        m.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ["PYTHONPATH"]]))
        m.setenv("VLLM_ATTENTION_BACKEND", "FLASH_ATTN")
        m.setenv("VLLM_API_KEY", "secret")
        m.setenv("VLLM_LOGGING_LEVEL", "INFO")
        p = captured.capture(folder, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    return folder


def check(folder, *words, backend="FLASH_ATTN"):
    environ = os.environ | {"VLLM_ATTENTION_BACKEND": backend, "COLUMNS": "400"}
    return subprocess.run(
        [os.environ["MEMSPEC"], "check", *words], cwd=folder, env=environ, capture_output=True, text=True
    )


def test_a_case_of_an_engine_is_recorded_and_judged(recorded):
    p = check(recorded)
    passed, failed = sorted(line for line in p.stdout.splitlines() if " on t4, vllm: " in line)[::-1]
    assert passed.startswith(
        "PASS chat on t4, vllm: loaded 8.0 MiB of 9.0 MiB, activation 1.0 MiB of 1.0 MiB, kv_tokens "
    )
    assert failed == "FAIL unfit on t4, vllm: does not fit: memory at start: free memory is less than what is wanted"


def test_what_an_engine_was_made_from_is_recorded(recorded):
    kept = [json.loads(f.read_text()) for f in (recorded / ".memspec").iterdir()]
    [made] = [k["made"] for k in kept if k["fits"]]
    assert [f["path"] for f in made["read"]] == ["../models/tiny/config.json"]
    assert made["packages"]["vllm"] == "0.19.0" and made["command"][-2:] == ["--case", "chat"]
    assert list(made["variables"]) == ["VLLM_ATTENTION_BACKEND"], "no secret, nothing stated, nothing of a log"
    jsonschema = pytest.importorskip("jsonschema")
    for found in kept:
        jsonschema.validate(found, SCHEMA)


@pytest.mark.parametrize(
    "change, said",
    [
        ("config", "config.json has changed"),
        ("weights", "tiny has other files"),
        ("variable", "variable VLLM_ATTENTION_BACKEND has changed"),
    ],
)
def test_a_recorded_start_is_stale_once_what_it_read_has_changed(change, said, recorded, tmp_path):
    folder = shutil.copytree(recorded, tmp_path / "project")
    tiny = folder / "models" / "tiny"
    if change == "config":
        (tiny / "config.json").write_text("{ }")
    elif change == "weights":
        (tiny / "other.json").write_text("{}")
    p = check(folder, "--case", "chat", backend="TRITON_ATTN" if change == "variable" else "FLASH_ATTN")
    assert p.returncode == 3 and said in p.stdout


def test_capture_starts_an_engine_again_only_where_something_has_changed(recorded, tmp_path, monkeypatch):
    folder = shutil.copytree(recorded, tmp_path / "project")
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "FLASH_ATTN")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ["PYTHONPATH"]]))
    cases = memspec_yaml.load(str(folder / "memspec.yaml"), ["chat"], "")
    [case] = capture.of_spec(str(folder / "memspec.yaml"), cases)
    assert capture.fresh(case["recording"], case)
    (folder / "models" / "tiny" / "config.json").write_text("{ }")
    assert not capture.fresh(case["recording"], case)


def test_an_engine_that_does_not_start_is_not_recorded(recorded, tmp_path, monkeypatch):
    shutil.copytree(recorded / "models", tmp_path / "models")
    spec = SPEC.replace("unfit", "refuses")
    (tmp_path / "memspec.yaml").write_text(spec)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ["PYTHONPATH"]]))
    p = captured.capture(tmp_path, "memspec.yaml", "--case", "refuses")
    assert p.returncode == 2 and not (tmp_path / ".memspec").exists()
    assert "of compute capability 7.5 (arguments): ValueError: architecture X is not supported" in p.stderr


def test_the_guides_cases_are_judged_as_it_says(tmp_path, found_binary):
    """By recordings that memshim capture made of them with vLLM 0.19.0."""
    root = Path(__file__).parents[2]
    page, serving = (root / "docs" / "guide" / "serving.md").read_text(), root / "testdata" / "serving"
    spec, shown = (
        re.search(f"\n```{language}\n({first}.*?)\n(?:…\n)?```", page, re.S)[1]
        for language, first in (("yaml", "version: 1\n"), ("", r"\$ memspec check\n"))
    )
    (tmp_path / "memspec.yaml").write_text(spec)
    (tmp_path / "models" / "qwen3-8b").mkdir(parents=True)
    [config] = re.findall(r'^  "Qwen3-8B": (.*),$', (serving / "configs.json").read_text(), re.M)
    (tmp_path / "models" / "qwen3-8b" / "config.json").write_text(config)
    shutil.copytree(serving / "guide", tmp_path / ".memspec")
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "env": os.environ | {"COLUMNS": "100"}}
    cases = json.loads(subprocess.run([found_binary, "cases", "--format", "json"], **run).stdout)["cases"]
    assert {c["recording"] for c in cases} == {f".memspec/{f.name}" for f in (serving / "guide").iterdir()}
    p = subprocess.run([found_binary, "check"], **run)
    assert p.returncode == 0 and p.stdout.startswith(shown.partition("\n")[2] + "\n"), p.stdout + p.stderr
    assert "artifact-stale" not in p.stdout
