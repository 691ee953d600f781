"""python -m memshim measure."""

import json

import pytest

from memshim.case import errors, measure, memspec_yaml, process, record, request, settings

jsonschema = pytest.importorskip("jsonschema")
torch = pytest.importorskip("torch")


@pytest.fixture
def case(project):
    return memspec_yaml.load("memspec.yaml", ["small"])[0]


def test_no_torch(case, project, monkeypatch, capsys):
    def missing(*a):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(request, "run", missing)
    monkeypatch.setattr(settings, "apply", lambda case: None)
    (project / "request.json").write_text(json.dumps(case))
    assert measure.main(["--request", "request.json", "--output", "record.json"]) == errors.NO_TORCH
    assert capsys.readouterr().err == f"memshim: {errors.TORCH_MISSING}\n"


@pytest.fixture
def here(monkeypatch):
    """Measures in this process."""

    class Here:
        def measure(self, case, where="auto", timeout=0, stacks="all"):
            try:
                return json.loads(record.dump(request.run(case, where, stacks)))
            except errors.MeasureError:
                raise

        def close(self):
            pass

    monkeypatch.setattr(process, "runner", Here)
    monkeypatch.setattr(process, "Fresh", Here)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)


def test_the_command(project, capsys, here):
    assert measure.main(["--case", "net*", "--where", "cpu", "-o", "records"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [x for x in said if x.startswith("records")] == [
        "records/net[B=1].eager.cpu.json",
        "records/net[B=8].eager.cpu.json",
    ]
    at = said.index("records/net[B=1].eager.cpu.json") + 1
    assert (
        said[at] == "  eager on CPU tensors, no GPU: weights 62.3 KiB"
        and said[at + 1].split("  ")[-1] == "above the baseline"
    )
    assert said[at + 2].split() == "requested 65.3 KiB 77.5 KiB 77.5 KiB 12.2 KiB".split() and not said[
        at + 3
    ].startswith(" "), "a CPU has no more"
    assert measure.main(["--case", "nothing"]) == 2
    assert 'got no case "nothing"' in capsys.readouterr().err
    assert measure.main(["--case", "small", "--where", "cuda"]) == 3
    assert "memshim: small: a GPU is required" in capsys.readouterr().err


def test_a_folder_that_cannot_be_is_reported_before_anything_is_run(project, capsys, monkeypatch):
    from memshim.__main__ import main

    monkeypatch.setattr(process, "measure_all", None)
    for command in (["measure", "-o", "zoo.py"], ["check", "--measure", "--case", "net*", "-o", "zoo.py"]):
        assert main(command) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("memshim: FileExistsError: ")
    for option, value, text in (
        ("--timeout", "-1", "invalid seconds value: '-1'"),
        ("--jobs", "0", "got '0', want a whole number from 1"),
        ("--jobs", "-1", "got '-1', want a whole number from 1"),
    ):
        with pytest.raises(SystemExit) as e:
            main(["measure", option, value])
        assert e.value.code == 2 and f"argument {option}: {text}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "raised, code",
    [
        ([errors.NoGPU], 3),
        ([errors.NoGPU, errors.ModelError], 2),
        ([errors.MeasureError, errors.NoGPU], 2),
        ([None], 0),
    ],
)
def test_the_exit_code_of_many(project, monkeypatch, capsys, case, raised, code):
    def all_of(found, jobs, one):
        for e in raised:

            def run(*a, e=e):
                if e:
                    raise e("why")
                return {
                    "case": "x",
                    "runtime": "eager",
                    "where": "cpu",
                    "weights": 0,
                    "phases": [],
                    "oom": None,
                    "device": {"name": "cpu"},
                }

            yield one(case, run)

    monkeypatch.setattr(memspec_yaml, "load", lambda *a: [case] * len(raised))
    monkeypatch.setattr(process, "measure_all", all_of)
    assert measure.main([]) == code
    assert capsys.readouterr().err.count("memshim: small: why\n") == sum(e is not None for e in raised)


def test_pickles_are_trusted_where_that_is_asked_for(tmp_path, monkeypatch, capsys):
    from memshim.case import pickles

    monkeypatch.setenv(pickles.TRUST, "")
    assert measure.main([str(tmp_path / "absent.yaml")]) == 2
    assert pickles.os.environ[pickles.TRUST] == ""
    assert measure.main(["--trust", str(tmp_path / "absent.yaml")]) == 2
    assert pickles.os.environ[pickles.TRUST] == "1"


def test_one_case_is_measured_in_a_process_on_its_pretend_gpu(tmp_path, monkeypatch):
    started = []

    def run(command, input, text, env):
        started.append((command[command.index("measure") :], input, env["X"]))
        return type("Ended", (), {"returncode": 5})

    monkeypatch.setattr(measure, "pretended", lambda: False)
    monkeypatch.setattr(measure.process, "pretended", lambda case, where: {"X": f"{case['name']} {where}"})
    monkeypatch.setattr(measure.subprocess, "run", run)
    (tmp_path / "case.json").write_text('{"name": "net"}')
    command = ["--request", str(tmp_path / "case.json"), "-o", "out", "--where", "pretend"]
    assert measure.main(command) == 5
    assert measure.main([*command, "--recording", "a.rec", "--timeout", "9", "--stacks", "python"]) == 5
    front = ["measure", "--request", "-", "--output", "out", "--where", "pretend", "--stacks"]
    assert started == [
        ([*front, "all", "--timeout", str(measure.TIMEOUT)], '{"name": "net"}', "net pretend"),
        ([*front, "python", "--timeout", "9.0", "--recording", "a.rec"], '{"name": "net"}', "net pretend"),
    ]
