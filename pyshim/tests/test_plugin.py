"""The cases of a memspec.yaml as tests."""

import importlib.metadata
import json
import xml.etree.ElementTree as ET

import pytest

from memshim import binary
from memshim.case import process, record, request
from memshim.judge import options


def test_a_case_is_a_test(run_pytest):
    r = run_pytest("-v")
    r.assert_outcomes(passed=3, failed=1)
    r.stdout.fnmatch_lines(
        [
            "*memspec.yaml::net[[]B=1] PASSED*",
            "*memspec.yaml::net[[]B=8] PASSED*",
            "*memspec.yaml::small FAILED*",
            "*memspec.yaml::warned PASSED*",
            "FAIL small on none, eager: peak allocated * KiB, budget 64.0 KiB: over*",
            "  budget     memspec.yaml:13  models.net.cases[[]1].budget.allocated = 64KiB",
            "             (65536 B)",
            "  held at the peak:",
            "  reproduce  pytest memspec.yaml::small",
            "             memspec explain --case small memspec.yaml",
            "*= memspec =*",
            "WARN warned on none, eager: peak allocated *  (memspec.yaml::warned)",
            "4 budgets: 2 pass, 1 warn, 1 fail, 4 not measured: no GPU here",
        ]
    )


def test_the_message_is_the_binarys(run_pytest):
    from memshim.case import memspec_yaml

    want = memspec_yaml.message("memspec.yaml", "small")
    got = run_pytest("-q", "memspec.yaml::small").stdout.str()
    for line in want.splitlines():
        assert line.strip().removeprefix("reproduce").strip() in got, "the same account as memspec check and go test"


def test_k_and_node_ids_select(run_pytest):
    run_pytest("-k", "small or warned").assert_outcomes(passed=1, failed=1, deselected=2)
    run_pytest("memspec.yaml::net[B=8]").assert_outcomes(passed=1)
    run_pytest("-k", "net[B:1]").assert_outcomes(passed=1, deselected=3)


def test_xdist(run_pytest):
    r = run_pytest("-n", "2", "-q", fork=True)
    r.assert_outcomes(passed=3, failed=1)
    r.stdout.fnmatch_lines(["4 budgets: 2 pass, 1 warn, 1 fail, 4 not measured: no GPU here"])
    assert r.stdout.str().count("budgets: ") == 1, "the controller sums up, not each worker"


def test_junit_properties(run_pytest):
    run_pytest("--junit-xml=out.xml", "-k", "net[B:8]")
    found = {p.get("name"): p.get("value") for p in ET.parse(run_pytest.path / "out.xml").iter("property")}
    assert found["memspec.budget.allocated"] == str(1 << 20) and found["memspec.outcome"] == "pass"
    assert 64000 < int(found["memspec.predicted.allocated"]) <= 1 << 20
    assert found["memspec.not_measured"].endswith("no GPU here")
    said = binary.call("check", str(run_pytest.path / "memspec.yaml"), "--case", "net[B=8]", "--format", "junit")
    of_memspec = {p.get("name"): p.get("value") for p in ET.fromstring(said.out).iter("property")}
    assert len(of_memspec) > 6 and of_memspec.items() <= found.items(), (
        "memspec check --format junit says the same by the same names"
    )


def test_an_unreadable_spec_fails_alone(run_pytest):
    folder = run_pytest.path / "bad"
    folder.mkdir()
    (folder / "memspec.yaml").write_text("version: 1\nmodel: {}\n")
    r = run_pytest()
    r.assert_outcomes(passed=3, failed=1, errors=1)
    r.stdout.fnmatch_lines(
        [
            '*memspec.yaml:2:1: got the key "model"*did you mean "models"?*',
            "*5 budgets: 2 pass, 1 warn, 1 fail, 1 error, *",
        ]
    )


def test_a_memspec_that_is_not_there_fails_alone(run_pytest, monkeypatch):
    monkeypatch.setenv("MEMSPEC", "/absent/memspec")
    run_pytest.makepyfile("def test_other(): pass")
    r = run_pytest()
    r.assert_outcomes(passed=1, errors=1)
    r.stdout.fnmatch_lines(["got MEMSPEC=/absent/memspec, which is no program that can be run"])


def test_an_absent_artifact_fails_its_case_alone(run_pytest):
    (run_pytest.path / "net.pt").unlink()
    r = run_pytest("-k", "small", "--junit-xml=out.xml")
    r.assert_outcomes(errors=1, deselected=3)
    (case,) = ET.parse(run_pytest.path / "out.xml").iter("testcase")
    assert [child.tag for child in case] == ["properties", "error"], "what could not be said is no failure"
    r.stdout.fnmatch_lines(["ERROR small on none: net.pt: no such file or directory"])


def test_a_required_gpu_that_is_absent_fails(run_pytest, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    r = run_pytest("--memspec-require-gpu", "-k", "net[B:1]")
    r.assert_outcomes(failed=1, deselected=3)
    r.stdout.fnmatch_lines(["INCONCLUSIVE net[[]B=1]: no GPU here"])


def test_measuring_without_a_gpu_is_recorded_and_not_compared(run_pytest, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(
        process.Server, "measure", lambda self, case, *a: json.loads(record.dump(request.run(case, "cpu")))
    )
    r = run_pytest("--memspec-measure", "--memspec-output=records", "-v", "-k", "net[B:1]")
    r.assert_outcomes(passed=1, deselected=3)
    r.stdout.fnmatch_lines(["RECORDED net[[]B=1] on CPU tensors (no GPU): *never compared*"])
    assert [p.name for p in (run_pytest.path / "records").iterdir()] == ["net[B=1].eager.cpu.json"]


def test_other_files_are_collected_where_the_ini_says(run_pytest):
    (run_pytest.path / "memspec.yaml").rename(run_pytest.path / "budgets.memspec.yaml")
    run_pytest().assert_outcomes()
    run_pytest.makeini("[pytest]\nmemspec_files = *.memspec.yaml\n")
    run_pytest("-k", "warned").assert_outcomes(passed=1, deselected=3)


def test_contrary_options_are_refused(run_pytest):
    r = run_pytest("--memspec-no-measure", "--memspec-require-gpu")
    assert r.ret == 4
    r.stderr.fnmatch_lines(["*got --memspec-no-measure beside*"])


@pytest.mark.parametrize("arguments, collected", [((), 5), (("tests",), 1), (("memspec.yaml",), 4)])
def test_a_memspec_at_the_root_is_collected_whatever_testpaths_says(run_pytest, arguments, collected):
    folder = run_pytest.path / "tests"
    folder.mkdir()
    (folder / "test_a.py").write_text("def test_a(): pass\n")
    run_pytest.makeini("[pytest]\ntestpaths = tests\n")
    r = run_pytest("--collect-only", "-q", *arguments)
    assert len([line for line in r.stdout.lines if "::" in line]) == collected, "unless something else is named"


def test_a_mistake_in_the_spec_is_no_skip(run_pytest, monkeypatch):
    """A source that is not there."""
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    text = (run_pytest.path / "memspec.yaml").read_text().replace("zoo.py:net", "zoo.py:nett")
    (run_pytest.path / "memspec.yaml").write_text(text)
    r = run_pytest("--memspec-measure", "-k", "net[B:1]")
    r.assert_outcomes(errors=1, deselected=3)
    r.stdout.fnmatch_lines(["ERROR net[[]B=1] measured: zoo.py: got no nett"])


def test_ini_says_what_options_say(run_pytest, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run_pytest.makeini("[pytest]\nmemspec_require_gpu = true\nmemspec_no_summary = true\n")
    r = run_pytest("-k", "net[B:1]")
    r.assert_outcomes(failed=1, deselected=3)
    r.stdout.fnmatch_lines(["INCONCLUSIVE net[[]B=1]: no GPU here"])
    r.stdout.no_fnmatch_line("*budgets: *")
    for line, error in (
        ("memspec_top = many", "memspec_top: got 'many', want a number"),
        ("memspec_budget = 5GiB", "memspec_budget: *"),
        ("memspec_budget = allocated=5GB", "memspec_budget: *the unit 'GB', want GiB"),
        ("memspec_baseline = absent.json", "absent.json: no such file; --memspec-update-baseline writes it"),
    ):
        run_pytest.makeini(f"[pytest]\n{line}\n")
        r = run_pytest("-k", "net[B:1]", "--memspec-report")
        assert r.ret in (3, 4) or "top" in line
        (r.stderr if r.ret == 4 else r.stdout).fnmatch_lines([f"*{error}"])


def test_the_report_says_why_a_test_without_a_budget_was_not_measured(run_pytest):
    """With memspec_on the tests that are marked run on the pretend GPU, and no others."""
    run_pytest.makepyfile(test_plain="def test_it():\n    import torch\n")
    r = run_pytest("--memspec-on", "t4", "test_plain.py", "--memspec-report")
    r.stdout.fnmatch_lines(["1 test not measured: without a memory_budget they do not run on a pretend t4"])
    r = run_pytest("test_plain.py", "--memspec-report")
    r.stdout.fnmatch_lines(["1 test not measured: no GPU here"])


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda o: o.name)
def test_each_option_is_one_of_the_ini_file(pytester, option):
    installed = any(e.name == "memshim" for e in importlib.metadata.entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "memshim.judge.plugin")
    value = {bool: "true", int: "7", str: "a b"}[option.kind]
    pytester.makeini(f"[pytest]\n{option.name} = {value}\n")
    by_ini = options.get(pytester.parseconfig(*plugin), option.name)
    pytester.makeini("[pytest]\n")
    assert not options.get(pytester.parseconfig(*plugin), option.name)
    flag = "--" + option.name.replace("_", "-")
    by_flag = options.get(
        pytester.parseconfig(*plugin, *([flag] if option.kind is bool else [flag, value])), option.name
    )
    assert by_ini == by_flag == {bool: True, int: 7, str: "a b"}[option.kind]


@pytest.mark.parametrize("file", ["b.json", ""])
def test_a_prediction_that_grows(run_pytest, file):
    """Against a committed file, or against the last run; without a GPU."""
    update = [f"--memspec-baseline={file}", "--memspec-update-baseline"] if file else ["--memspec-fail-on-increase"]
    hold = [f"--memspec-baseline={file}"] * bool(file) + ["--memspec-fail-on-increase"]
    run_pytest(*update, "-k", "net[B:1] or warned").assert_outcomes(passed=2, deselected=2)
    if file:
        printed = json.loads((run_pytest.path / file).read_text())["tests"]
        assert set(printed) == {"memspec.yaml::net[B=1]", "memspec.yaml::warned"}
        assert set(printed["memspec.yaml::warned"]) == {"device", "predicted allocated", "predicted reserved"}
    run_pytest(*hold, "-k", "warned").assert_outcomes(passed=1, deselected=3)
    spec = run_pytest.path / "memspec.yaml"
    spec.write_text(spec.read_text().replace("      - dims: {B: 4}", "      - dims: {B: 64}"))
    for _ in range(2):  # what failed is not taken for what was
        r = run_pytest(*hold, "-k", "warned")
        r.assert_outcomes(failed=1, deselected=3)
        r.stdout.fnmatch_lines(
            [
                "FAIL warned on none: takes more than before",
                f"  predicted allocated 1.0 MiB (* B), {file or 'the last run'}: * KiB (* B): more by *",
            ]
        )
    spec.write_text(spec.read_text().replace("      - dims: {B: 64}", "      - dims: {B: 2}"))
    run_pytest(*hold, "-k", "warned").assert_outcomes(passed=1, deselected=3)


def test_wrong_use_of_the_fixture_is_reported_at_its_line(run_pytest):
    run_pytest.makepyfile("""
        def test_metric(memshim):
            with memshim.budget(alocated="1MiB"): pass
        def test_of_no_case(memshim): memshim.check(case="nope")
        def test_of_no_file(memshim): memshim.check("absent.yaml")
    """)
    r = run_pytest("-k", "test_metric or test_of")
    r.assert_outcomes(failed=3, deselected=4)
    r.stdout.fnmatch_lines([
        ">*with memshim.budget(alocated=*", "E * memory_budget: got the metric 'alocated', want one of *",
        ">*memshim.check(case=\"nope\")", "E * got no case \"nope\", want one of *",
        ">*memshim.check(\"absent.yaml\")", "E * absent.yaml: no such file or directory",
    ])  # fmt: skip
    r.stdout.no_fnmatch_line("*memspec_yaml.py*")
    r.stdout.no_fnmatch_line("*marks.py*")
