"""The report of a program that ran on a pretend GPU, from what its processes reported."""

import sys

import pytest

from memshim.program import other_values, report
from memshim.program.process_reports import NO_REPORT

MIB = 1 << 20


def device(**more):
    return {
        "index": 0, "name": "Tesla T4", "memory": 100 * MIB, "allocated": MIB, "reserved": 2 * MIB, "total": 12 * MIB,
        "total_range": {"low": 12 * MIB, "high": 12 * MIB}, "ooms": 0, "iterations": [], "lines": {}, "table": "",
    } | more  # fmt: skip


def process(*devices, **more):
    return {
        "pid": 1, "arguments": [], "host_pinned": 0, "exact": True, "out_of_memory": "", "missing": "", "reads": [],
        "timed": [], "refused": [], "unsized": [], "files": [], "kept_back": [], "ended": "", "code": 0,
        "failed": False, "devices": list(devices),
    } | more  # fmt: skip


def read(**more):
    return {
        "file": "train.py", "line": 3, "function": "step", "inner": "train.py:3", "op": "aten::item", "count": 1,
        "given": "", "assumed": None, "kind": "int", "bounded": True, "varied": True, "endless": False,
    } | more  # fmt: skip


def found(*processes, code=0, **more):
    return report.report(code, list(processes), ["train.py"], ["t4"]) | more


def text(*processes, **more):
    return report.text(found(*processes, **more), "train.py").splitlines()


def test_a_program_that_fits():
    said = found(process(device()))
    assert (said["fits"], said["exact"], said["exit"], said["out_of_memory"]) == (True, True, 0, "")
    assert not report.cut_short(said) and not report.undecided(said)
    assert text(process(device())) == [
        "memshim: train.py on a pretend Tesla T4: fits: total 12.0 MiB of 100.0 MiB",
        "  peak             allocated 1.0 MiB, reserved 2.0 MiB, total 12.0 MiB (of it 10.0 MiB outside of PyTorch's "
        "allocator)",
    ]


@pytest.mark.parametrize("high, fits", [(100, True), (101, None)])
def test_a_total_of_unknown_size_fits_where_its_most_does(high, fits):
    d = device(total_range={"low": 12 * MIB, "high": high * MIB})
    assert found(process(d))["fits"] is fits
    line = text(process(d))[0]
    assert f"total 12.0 MiB to {high}.0 MiB of 100.0 MiB" in line
    assert ("may not fit, as what the driver takes is not known: " in line) is (fits is None)
    line = text(process(d | {"nccl": {"communicators": 1, "low": 0, "high": MIB}}))[0]
    assert ("may not fit, as what the driver and NCCL take is" in line) is (fits is None)


def test_what_fails_or_has_no_known_size_does_not_surely_fit():
    assert found(process(device()), code=1)["fits"] is None
    assert found(process(device()), process(failed=True))["fits"] is None
    assert found(process())["fits"] is None
    assert found(process(device(), unsized=[{"name": "x", "count": 1}]))["fits"] is None
    out = found(process(device()), process(device(), out_of_memory="CUDA out of memory."), code=1)
    assert (out["fits"], out["out_of_memory"]) == (False, "CUDA out of memory.")


def test_figures_are_exact_where_those_of_each_process_with_a_device_are():
    assert found(process(device()), process(exact=False))["exact"] is True
    assert found(process(device()), process(device(), exact=False))["exact"] is False


def test_a_run_is_cut_short_by_what_is_not_memory():
    assert report.cut_short(found(process(device()), code=1)) is True
    assert report.cut_short(found(process(device()), process(failed=True))) is True
    assert report.cut_short(found(process(device(), out_of_memory="x"), code=1)) is False


def test_what_uses_no_gpu_and_does_not_fail_is_no_question():
    assert report.undecided(found(process())) is False
    assert report.undecided(found(process(failed=True))) is True
    assert report.undecided(found(process(device()), code=1)) is True


def test_a_program_that_took_nothing():
    assert text() == ["memshim: train.py took nothing of the pretend GPU: torch was never imported"]
    assert text(process()) == ["memshim: train.py took nothing of the pretend GPU"]
    assert text(process(ended=NO_REPORT, failed=True)) == [
        "memshim: what train.py took of the pretend GPU is unknown",
        "memshim: undecided: process 1 of train.py could not write its report",
    ]


def test_memory_that_ran_out():
    d = device(ooms=1)
    said = "CUDA out of memory. Tried to allocate 1 GiB. GPU 0 has more."
    assert text(process(d, out_of_memory=said), code=1)[0].endswith(
        ": does not fit: CUDA out of memory. Tried to allocate 1 GiB."
    )
    assert text(process(d))[0].endswith("of 100.0 MiB; memory ran out 1 time and the program went on")
    assert text(process(d | {"ooms": 2}))[0].endswith("; memory ran out 2 times and the program went on")
    other = text(process(device(), d, out_of_memory=said), code=1)
    assert ": undecided: total" in other[0] and ": does not fit: " in other[2], "of the device that it ran out on"


@pytest.mark.parametrize(
    "more, verdict",
    [
        ({"failed": True, "code": 3}, "ended with 3"),
        ({"failed": True, "ended": "SIGKILL", "code": 137}, "ended by SIGKILL"),
        ({"ended": "still running"}, "is still running"),
        ({"ended": NO_REPORT}, "could not write its report"),
        ({"failed": True, "code": 128}, "ended"),
    ],
)
def test_how_a_process_ended(more, verdict):
    assert f"Tesla T4: {verdict}: total 12.0 MiB" in text(process(device(), **more))[0]


def test_a_process_beside_one_that_failed_is_undecided():
    lines = text(process(device()), process(pid=7, failed=True, code=1, arguments=["a.py", "--b", "c"]))
    assert ": undecided: total" in lines[0]
    assert lines[-1] == "memshim: undecided: process 7 of train.py (a.py --b) ended with 1"
    assert text(process(device()), process(failed=True, code=1), code=1)[-1].startswith("  peak"), "the program failed"


def test_several_processes_and_devices_are_named():
    lines = text(
        process(device(), device(index=1), arguments=["a.py", "x", "y"]), process(device(), pid=2, arguments=["b.py"])
    )
    heads = [line.partition(": fits")[0] for line in lines if line.startswith("memshim")]
    assert heads == [
        "memshim: train.py, process 1 (a.py x) on a pretend Tesla T4 0",
        "memshim: train.py, process 1 (a.py x) on a pretend Tesla T4 1",
        "memshim: train.py, process 2 (b.py) on a pretend Tesla T4",
    ]
    assert "pretend Tesla T4 3: " in text(process(device(index=3)))[0]


def test_what_can_be_installed_is_said_last_and_once():
    lines = text(process(device(), missing="got no x"), process(missing="got no x"), process(missing="got no y"))
    assert lines[-2:] == ["memshim: got no x", "memshim: got no y"]


def test_what_is_beside_the_allocators_memory():
    d = device(nccl={"communicators": 1, "low": MIB, "high": 2 * MIB}, managed=3 * MIB, lines=None)
    assert text(process(d))[2:] == [
        "  NCCL             1.0 MiB to 2.0 MiB of the total, for 1 communicator; --nccl states it",
        "  managed          3.0 MiB (cudaMallocManaged; it moves between the card and the host, and is no part of the "
        "total)",
        "  no lines: these figures are the pretend GPU's own",
    ]
    d = device(nccl={"communicators": 2, "low": MIB, "high": MIB})
    assert text(process(d))[2:] == ["  NCCL             1.0 MiB of the total, for 2 communicators"]


@pytest.mark.parametrize("pinned, shown", [(MIB, True), (MIB - 1, False), (None, False)])
def test_memory_of_the_host_that_is_pinned(pinned, shown):
    assert any("host pinned      1.0 MiB" in line for line in text(process(device(), host_pinned=pinned))) is shown


def step(n, **more):
    return {"allocated": n * MIB, "reserved": 2 * n * MIB, **more}


@pytest.mark.parametrize(
    "steps, lines",
    [
        ([step(1)], ["first iteration  allocated 1.0 MiB, reserved 2.0 MiB"]),
        (
            [step(3), step(2)],
            [
                "first iteration  allocated 3.0 MiB, reserved 6.0 MiB",
                "steady           allocated 2.0 MiB, reserved 4.0 MiB (the most of 1 iteration)",
            ],
        ),
        (
            [step(3), step(4, compiled=True), step(2), step(1)],
            [
                "first 2          allocated 4.0 MiB, reserved 8.0 MiB",
                "steady           allocated 2.0 MiB, reserved 4.0 MiB (the most of 2 iterations)",
            ],
        ),
    ],
)
def test_iterations_after_the_last_that_compiled_are_steady(steps, lines):
    said = text(process(device(iterations=steps, table="line 1\nline 2")))
    assert said[2:] == ["  " + line for line in [*lines, "line 1", "line 2"]]


def test_files_hold_no_values():
    files = [{"path": f"{i:02}.pt", "bytes": MIB} for i in range(11)]
    lines = text(process(device(), files=files[5:]), process(files=files[:5]))
    assert lines[2] == "  new file         00.pt (1.0 MiB); its tensors hold no computed values"
    assert lines[11:] == [
        "  new file         09.pt (1.0 MiB); its tensors hold no computed values",
        "  new files        1 more; --json names all",
    ]
    assert "new files" not in "".join(text(process(device(), files=files[:10])))
    assert text(process(device(), kept_back=["upload a", "upload b"]))[-1] == (
        "  not pushed       2 calls to the Hub, the first: upload a; --allow-writes sends them"
    )


def notes(**more):
    return report.notes(process(**more))


@pytest.mark.parametrize(
    "more, line",
    [
        ({}, "train.py:3 (step): aten::item read 1 value that no kernel computed, read as zero"),
        ({"count": 2, "given": "one half"}, "train.py:3 (step): aten::item read 2 values that no kernel computed, read "
         "as one half"),
        ({"assumed": 7}, "train.py:3 (step): aten::item read 1 value that no kernel computed, assumed to be 7"),
        ({"inner": "lib.py:9"}, "train.py:3 (step), in lib.py:9: aten::item read 1 value that no kernel computed, read "
         "as zero"),
        ({"file": "", "inner": ""}, "step: aten::item read 1 value that no kernel computed, read as zero"),
    ],
)  # fmt: skip
def test_a_value_that_was_read_is_noted(more, line):
    assert notes(reads=[read(**more)]) == [f"  value-read: {line}"]


def test_what_else_is_less_than_exact_is_noted():
    timed = [{"file": "train.py", "line": 3, "what": "padding", "count": 2}, {"file": "", "what": "x", "count": 1}]
    missing = {"bytes": 8, "parameters": 1, "modules": ["fc", ""], "others": 0}
    assert notes(
        timed=timed,
        without_gradient=missing,
        refused=[{"name": "cuA", "count": 1}],
        unsized=[{"name": "cuB", "count": 2}],
        estimated=[{"name": "workspace-estimate: x"}],
    ) == [
        "  timing-decides: train.py:3: on a card a measured time decides padding (×2)",
        "  timing-decides: on a card a measured time decides x (×1)",
        "  gradient-missing: after a training step 1 parameter of 8 bytes that requires a gradient had none: of fc, no "
        "module",
        "  refused: cuA is not emulated, and failed (1 call)",
        "  unsized: cuB is emulated, but what it takes of the device is not known (2 calls)",
        "  workspace-estimate: x",
    ]


@pytest.mark.parametrize(
    "words, name",
    [
        ([sys.executable, "train.py", "-x"], "train.py"),
        ([sys.executable, "-m", "a.b", "-x"], "-m a.b"),
        ([sys.executable, "-c", "import a"], "python -c"),
        (["torchrun", "train.py"], "torchrun"),
    ],
)
def test_a_program_is_called_by_its_file(words, name):
    assert report.name_of(words) == name


# with other values


def end(values="most", **more):
    own = [{"allocated": MIB, "reserved": 2 * MIB, "total": 12 * MIB}]
    return {"values": values, "exit": 0, "fits": True, "failed": False, "peaks": own, **more}


OTHER = [{"allocated": 3 * MIB, "reserved": 4 * MIB, "total": 14 * MIB}]


def judged(reads, ends, **more):
    said = found(process(device(), reads=reads, **more))
    other_values.judge(said, ends)
    return said


@pytest.mark.parametrize(
    "reads, ends, more, quality",
    [
        ([], [], {}, "exact"),
        ([], [], {"exact": False}, "estimate"),
        ([read(assumed=3)], [], {}, "exact"),
        ([read()], [], {}, "estimate"),
        ([read()], [end()], {}, "exact"),
        ([read()], [end(), end(peaks=OTHER)], {}, "bound"),
        ([read()], [end(fits=False)], {}, "bound"),
        ([read()], [end(failed=True), end()], {}, "estimate"),
        ([read(varied=False)], [end()], {}, "estimate"),
        ([read(bounded=False)], [end(peaks=OTHER)], {}, "estimate"),
        ([read(endless=True)], [end()], {}, "estimate"),
        ([read(), read(assumed=3, endless=True, varied=False)], [end()], {}, "exact"),
        ([read()], [end()], {"timed": [1]}, "estimate"),
        ([read()], [end()], {"estimated": [1]}, "estimate"),
    ],
)
def test_what_a_figure_is_worth(reads, ends, more, quality):
    said = judged(reads, ends, **more)
    assert said["quality"] == quality and ("ends" in said) is bool(ends)


def test_without_other_runs_the_lines_are_named():
    reads = [read(line=n) for n in (1, 1, 2, 3, 4)]
    assert other_values.text(judged(reads, [])) == [
        "  estimate         values that no kernel computed may decide, read at train.py:1 (step), train.py:2 (step), "
        "train.py:3 (step), train.py:4 (step); --check-values runs it with others"
    ]
    assert "train.py:4 (step), 1 more; --check" in other_values.text(judged([*reads, read(line=5)], []))[0]
    assert other_values.text(judged([], [])) == []
    nothing = found(process(reads=[read()]))
    other_values.judge(nothing, [])
    assert other_values.text(nothing) == []


def test_ends_are_shown_where_they_differ():
    assert other_values.text(judged([read()], [end()])) == [
        "  values           with other values the peaks are the same"
    ]
    assert other_values.text(judged([read()], [end("least"), end(peaks=OTHER), end("skewed", fits=False)])) == [
        "  bound            values that no kernel computed decide",
        "  values most      allocated 3.0 MiB, reserved 4.0 MiB",
        "  values skewed    does not fit",
    ]
    assert other_values.text(judged([read()], [end(failed=True, exit=3)])) == [
        "  estimate         no end is known of values that no kernel computed",
        "  values most      ended with 3: no end is known",
    ]


@pytest.mark.parametrize(
    "own, ends, fits",
    [
        (True, [], True),
        (True, [end(), end()], True),
        (True, [end(), end(fits=False)], None),
        (False, [end(fits=False)], False),
        (None, [end()], None),
        (True, [end(failed=True)], None),
        (True, [end(fits=None)], None),
    ],
)
def test_a_program_fits_where_it_does_with_all_values(own, ends, fits):
    assert other_values.verdict({"fits": own, "ends": ends}) is fits


def test_how_surely_a_program_fits():
    assert other_values.fits(judged([], [])) == "fits"
    assert other_values.fits(judged([read()], [])) == "fits, as an estimate"
    assert other_values.fits(judged([], [], exact=False)) == "fits"
    assert other_values.fits(judged([read()], [end()])) == "fits"
    assert other_values.fits(judged([read()], [end()]) | {"fits": None}) == "undecided"


def test_the_values_of_a_run(monkeypatch):
    name = other_values.VALUES
    monkeypatch.delenv(name, raising=False)
    assert other_values.chosen({}, "most") == {name: "most"}
    assert other_values.chosen({}, "") == {name: "balanced"}
    monkeypatch.setenv(name, "least")
    assert other_values.chosen({}, "") == {name: "least"}


def test_recordings_of_a_folder_begin_with_the_programs_own(tmp_path):
    for name in ("3.0.rec", "20.10.rec", "20.2.rec", "3.1.rec", "100.0.rec", "3.json"):
        (tmp_path / name).touch()
    assert [f.name for f in other_values.recorded(tmp_path, 20)] == [
        "20.2.rec",
        "20.10.rec",
        "3.0.rec",
        "3.1.rec",
        "100.0.rec",
    ]
