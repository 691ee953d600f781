"""cuDNN's own answers in check, init and fit: a budget between the formula's figure and cuDNN's
answer gets its exact verdict."""

import json
import shutil

import pytest

from memshim import __main__ as memshim
from memshim import binary
from memshim.workspace import answers, torchwheel

SPEC = """
version: 1
models:
  detector:
    artifact: detector.pt
    device: a10g
    runtime: eager
    inputs: {images: "[float32[3,480,640]]"}
    budget: {reserved: 425MiB}
"""


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """ssd300_vgg16, scripted and stripped: by formula it takes 392 MiB on an A10G, by cuDNN's
    answers 420."""
    detection = pytest.importorskip("torchvision.models.detection")
    from memshim.exporting.command import export

    folder = tmp_path_factory.mktemp("detector")
    return export(
        detection.ssd300_vgg16(weights=None, weights_backbone=None).eval(), folder / "detector.pt", strip=True
    )


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A cache of the test's own, which starts empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, monkeypatch, detector, cached):
    shutil.copy(detector, tmp_path / "detector.pt")
    (tmp_path / "memspec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def installed():
    by = {"library": "cudnn", "version": "9.26.0", "class": "sm86", "torch": ["2.15"]}
    try:
        torchwheel.find(by, (), answers.command.cache_folder(None))
    except torchwheel.NotFound:
        pytest.skip("cuDNN 9.26.0 is not installed")


def test_a_budget_between_the_formula_and_cudnn_is_undecided(folder):
    (folder / "memspec.yaml").write_text(SPEC.replace("425MiB", "419MiB"))
    assert binary.call("check").code == 3


def test_a_detector_between_the_formula_and_cudnn_gets_its_exact_verdict(folder, capfd):
    installed()
    assert memshim.main(["check", "--on", "none", "--format", "json"]) == 0
    out, err = capfd.readouterr()
    (finding,) = json.loads(out)["cases"][0]["findings"]
    assert finding["predicted"] == 420 << 20
    assert "cuDNN answered" in err
    assert sorted(p.name for p in folder.iterdir()) == ["cache", "detector.pt", "memspec.yaml"], (
        "no profile is written beside memspec.yaml"
    )


def test_init_and_fit_pass_arguments_and_exit_codes_through(folder, capfd):
    installed()
    arguments = [
        "detector.pt",
        "--input",
        "images=[float32[3,480,640]]",
        "--device",
        "a10g",
        "--runtime",
        "eager",
        "--headroom",
        "0%",
    ]
    assert memshim.main(["init", *arguments]) == 0
    assert "reserved: 420MiB" in capfd.readouterr().out
    assert memshim.main(["fit", "detector", "--dim"]) == 2
    assert "--dim" in capfd.readouterr().err


def test_without_the_library_one_line_says_so(folder, capfd, monkeypatch):
    def absent(*a):
        raise torchwheel.NotFound("got no cuDNN")

    monkeypatch.setattr(torchwheel, "find", absent)
    assert memshim.main(["check", "--on", "none"]) == binary.call("check").code
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "not installed" in line]
    assert line.startswith("memshim: cuDNN 9.26.0 (torch 2.15) is not installed here")


def wanted(n):
    return {"library": "cudnn", "version": "9.26.0", "class": "sm86", "torch": ["2.15"], "calls": [{"op": str(n)}]}


def test_a_command_runs_again_until_nothing_is_missing_and_not_for_ever(cached, monkeypatch):
    with answers.Queried() as q:
        runs = []
        monkeypatch.setattr(q, "_query", lambda groups: True)

        def run(arguments):
            runs.append(arguments)
            if "--missing" in arguments and len(runs) < 3:
                q._missing.write_text(json.dumps({"groups": [wanted(len(runs))]}))
            return len(runs)

        assert q.settle(run) == 3 and not q.lines()

        def never(arguments):
            runs.append(arguments)
            q._missing.write_text(json.dumps({"groups": []}))
            return arguments

        runs.clear()
        assert "--missing" not in q.settle(never)
        assert len(runs) == answers.ROUNDS + 1 and "times over" in q.lines()[0]
