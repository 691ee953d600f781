"""The command around the library: what is asked, kept, merged and reported, with a library process that
does what it is asked."""

import json
import sys
import textwrap

import pytest

from memshim import binary
from memshim.workspace import command as workspace
from memshim.workspace import profiles, query, torchwheel

# A stub for the library process: a call's first weight size says what becomes of it.
FAKE = textwrap.dedent(
    """
    import json, os, signal, sys, time
    print(json.dumps({"version": [9, 10, 2], "cuda": 12}), flush=True)
    for line in sys.stdin:
        call = json.loads(line)
        k = call["weight"][0]
        if k == 11:
            os.kill(os.getpid(), signal.SIGSEGV)
        if k == 12:
            print("Invalid handle. Cannot load symbol cublasLtCreate", file=sys.stderr, flush=True)
            os.abort()
        if k == 13:
            time.sleep(60)
        if k == 14:
            print("no JSON", flush=True)
        elif k == 15:
            print(json.dumps({"refused": "no plan"}), flush=True)
        elif k == 16:
            sys.exit(3)
        else:
            print(json.dumps({"bytes": 100 * k, "engine": k}), flush=True)
    """
)


def call(k, **other):
    return {
        "op": "conv", "direction": "forward", "dtype": "float32",
        "input": [1, 3, 8, 8], "input_strides": [192, 64, 8, 1],
        "weight": [k, 3, 3, 3], "weight_strides": [27, 9, 3, 1],
        "padding": [1, 1], "stride": [1, 1], "dilation": [1, 1], "groups": 1, "allow_tf32": True,
    } | other  # fmt: skip


def group(*calls, version="9.10.2", device_class="sm89"):
    wheel = f"nvidia-cudnn-cu12=={version}.21"
    return {
        "library": "cudnn",
        "version": version,
        "class": device_class,
        "torch": ["2.10"],
        "devices": ["rtx-4090"],
        "wheel": wheel,
        "calls": list(calls),
    }


@pytest.fixture
def world(tmp_path, monkeypatch):
    """memspec wants the calls of `world.groups`; a library of 9.10.2 is there; nothing is read or
    written outside tmp_path."""

    class World:
        groups: list = []
        code = 0
        asked: list = []
        file = tmp_path / "memspec.workspace.json"

        def run(self, *arguments):
            return workspace.main(
                [str(tmp_path / "memspec.yaml"), "--cache", str(tmp_path / "cache"), "--jobs", "1", *arguments]
            )

        def bytes(self):
            return {
                e["weight"][0]: e["bytes"] for g in json.loads(self.file.read_text())["groups"] for e in g["entries"]
            }

    w = World()
    fake = tmp_path / "fake.py"
    fake.write_text(FAKE)
    real = query.Process

    def start(folder, cublaslt, device_class):
        return real(folder, cublaslt, device_class, command=[sys.executable, str(fake)])

    def ask(*arguments):
        w.asked.append(arguments)
        return binary.Answer({"schema": 1, "groups": w.groups, "errors": []}, "", w.code)

    monkeypatch.setattr(query, "Process", start)
    monkeypatch.setattr(binary, "ask", ask)
    monkeypatch.setattr(torchwheel, "find", lambda wanted, given, cache: torchwheel.Found("folder", (), (9, 10, 2)))
    return w


def test_answers_are_written_sorted_one_a_line(world, capsys):
    world.groups = [group(call(9), call(8)), group(call(8, direction="dgrad"), device_class="sm80")]
    assert world.run() == 0
    assert "3 entries, 3 calls asked" in capsys.readouterr().out
    text = world.file.read_text()
    assert text == profiles.load(world.file).text()
    lines = text.splitlines()
    assert [json.loads(line.rstrip(","))["weight"][0] for line in lines if line.startswith('{"op"')] == [8, 8, 9]
    assert lines[1] == '{"library": "cudnn", "version": "9.10.2", "class": "sm80", "entries": ['
    assert world.asked == [
        ("workspace", str(world.file.parent / "memspec.yaml"), "--missing", "--workspace", str(world.file))
    ]


def test_a_lost_child_costs_one_entry_and_is_named(world, capsys):
    world.groups = [group(*[call(k) for k in (1, 11, 2, 12, 3, 14, 4, 15, 5, 16, 6)])]
    assert world.run() == 3
    assert world.bytes() == {k: 100 * k for k in range(1, 7)}
    err = capsys.readouterr().err.splitlines()
    lost = {int(line.split()[13].split(",")[0]): line.split(" tf32: ")[1] for line in err if " tf32: " in line}
    assert lost == {
        11: "crashed (SIGSEGV)",
        12: "crashed (SIGABRT): Invalid handle. Cannot load symbol cublasLtCreate",
        14: "got b'no JSON\\n' from it, want JSON",
        15: "no plan",
        16: "ended with exit code 3",
    }
    assert err[0].startswith(
        "memshim: no answer of cudnn 9.10.2 sm89 to conv forward float32 1,3,8,8 192,64,8,1 11,3,3,3 27,9,3,1 "
    )


def test_calls_lost_alike_are_each_named_and_refused_alike_are_counted(world, capsys):
    world.groups = [group(call(11), call(11, groups=3), call(15), call(15, groups=3), call(12))]
    assert world.run() == 3
    err = capsys.readouterr().err.splitlines()
    assert [line.split(" tf32: ")[-1] for line in err] == [
        "crashed (SIGSEGV)",
        "crashed (SIGSEGV)",
        "crashed (SIGABRT): Invalid handle. Cannot load symbol cublasLtCreate",
        "memshim: cudnn 9.10.2 sm89 needs the libcublasLt of its CUDA generation: put the wheel of cuBLAS beside it, "
        "see --cudnn",
        "memshim: no answer of cudnn 9.10.2 sm89 to 2 calls: no plan",
    ]


def test_a_profile_that_cannot_be_written_is_an_error(world, tmp_path, capsys):
    world.groups = [group(call(1))]
    assert world.run("-o", str(tmp_path / "absent" / "p.json")) == 2
    assert (
        capsys.readouterr().err == f"memshim: {tmp_path}/absent/p.json: cannot be written: no such file or directory\n"
    )
    assert not (tmp_path / "absent").exists()


def test_nothing_to_ask_is_said(world, capsys):
    assert world.run() == 0
    assert capsys.readouterr().out.endswith("memspec.yaml: no library call to ask for\n")
    assert not world.file.exists()


def test_a_child_that_hangs_is_ended(world, capsys, monkeypatch):
    monkeypatch.setattr(workspace, "ANSWER", 0.5)
    world.groups = [group(call(1), call(13), call(2))]
    assert world.run() == 3
    assert world.bytes() == {1: 100, 2: 200}
    assert "13,3,3,3 27,9,3,1 1,1 1,1 1,1 1 tf32: no answer for 0.5 s" in capsys.readouterr().err


def test_a_class_that_always_crashes_is_given_up(world, capsys, monkeypatch):
    monkeypatch.setattr(workspace, "WASTE", 0.0)
    world.groups = [group(*[call(11, groups=g) for g in range(1, 9)]), group(call(1), device_class="sm80")]
    assert world.run() == 3
    err = capsys.readouterr().err.splitlines()
    assert len(err) == workspace.PATIENCE + 1
    assert (
        err[-1]
        == "memshim: 3 more calls to cudnn 9.10.2 sm89 were not asked: too many processes were lost one after the other"
    )
    assert world.bytes() == {1: 100}, "the other class has its answers"


def test_quick_crashes_in_a_row_cost_no_other_call(world, capsys):
    world.groups = [group(*[call(11, groups=g) for g in range(1, 9)], call(1))]
    assert world.run() == 3
    assert len(capsys.readouterr().err.splitlines()) == 8
    assert world.bytes() == {1: 100}


def test_a_class_that_cannot_be_asked_is_reported_once(world, capsys, monkeypatch):
    real = query.Process

    def start(folder, cublaslt, device_class):
        if device_class == "sm12":
            raise query.Unable("got device class 'sm12', want one of sm60")
        return real(folder, cublaslt, device_class)

    monkeypatch.setattr(query, "Process", start)
    world.groups = [group(call(1), call(2), device_class="sm12"), group(call(3))]
    assert world.run() == 3
    assert (
        capsys.readouterr().err
        == "memshim: no answer of cudnn 9.10.2 sm12 to 2 calls: got device class 'sm12', want one of sm60\n"
    )
    assert world.bytes() == {3: 300}


def test_several_processes_give_the_same_file(world):
    world.groups = [group(*[call(k) for k in range(100, 160)])]
    assert world.run("--jobs", "4") == 0
    assert world.bytes() == {k: 100 * k for k in range(100, 160)}


def test_what_is_there_is_kept_and_the_cache_is_used(world, capsys):
    world.groups = [group(call(1))]
    assert world.run() == 0
    world.groups = [group(call(2))]
    assert world.run() == 0
    assert world.bytes() == {1: 100, 2: 200}, "memspec names only what is missing; the rest stays"
    world.file.unlink()
    world.groups = [group(call(1), call(2))]
    capsys.readouterr()
    assert world.run() == 0
    assert "2 entries, 0 calls asked" in capsys.readouterr().out
    (world.file.parent / "cache" / workspace.CACHE / "cudnn-9.10.2-sm89.json").write_text("{")
    world.file.unlink()
    assert world.run() == 0
    assert "2 entries, 2 calls asked" in capsys.readouterr().out, "a cache that cannot be read is none"


def test_prune_drops_what_is_not_needed(world):
    world.groups = [group(call(1), call(2)), group(call(3), device_class="sm80")]
    assert world.run() == 0
    world.groups = [group(call(2))]
    assert world.run("--prune") == 0
    assert world.bytes() == {2: 200}
    assert world.asked[-1] == ("workspace", str(world.file.parent / "memspec.yaml")), (
        "all calls are asked for, not those missing"
    )


def test_prune_keeps_what_cannot_be_asked(world, monkeypatch, capsys):
    world.groups = [group(call(1), call(2))]
    assert world.run() == 0

    def nothing(wanted, given, cache):
        raise torchwheel.NotFound("got no cuDNN 9.10.2")

    monkeypatch.setattr(torchwheel, "find", nothing)
    world.groups = [group(call(2))]
    assert world.run("--prune") == 2
    assert world.bytes() == {2: 200}


def test_check_compares_and_writes_nothing(world, capsys):
    world.groups = [group(call(1), call(2))]
    assert world.run() == 0
    before = world.file.read_text()
    assert world.run("--check") == 0
    assert "2 calls answered again, all as in the file" in capsys.readouterr().out
    world.file.write_text(before.replace('"bytes":200', '"bytes":201'))
    world.groups = [group(call(1), call(2), call(3))]
    assert world.run("--check") == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.split(" tf32: ")[1] for line in out] == [
        "got 201 B of engine 2 in the file, want 200 B of engine 2",
        "got nothing in the file, want 300 B of engine 3",
    ]
    assert '"bytes":201' in world.file.read_text()


def test_check_with_prune_reports_what_no_case_needs(world, capsys):
    world.groups = [group(call(1), call(2)), group(call(3), device_class="sm80")]
    assert world.run() == 0
    world.groups = [group(call(1))]
    assert world.run("--check") == 0
    capsys.readouterr()
    assert world.run("--check", "--prune") == 1
    out = capsys.readouterr().out.splitlines()
    assert [(line[:18], line.split(" tf32: ")[1]) for line in out] == [
        ("cudnn 9.10.2 sm80:", "got 300 B of engine 3 in the file, want nothing: no case makes this call"),
        ("cudnn 9.10.2 sm89:", "got 200 B of engine 2 in the file, want nothing: no case makes this call"),
    ]


def test_installed_leaves_out_libraries_that_are_not_here(world, monkeypatch, capsys):
    other = group(call(2), call(3), version="9.26.0")
    world.groups = [group(call(1)), other]
    monkeypatch.setattr(
        torchwheel,
        "find",
        lambda wanted, given, cache: torchwheel.Found("folder", (), torchwheel.parse(wanted["version"])),
    )
    assert world.run() == 0

    def find(wanted, given, cache):
        if wanted["version"] == "9.26.0":
            raise torchwheel.NotFound("got no cuDNN 9.26.0")
        return torchwheel.Found("folder", (), (9, 10, 2))

    monkeypatch.setattr(torchwheel, "find", find)
    capsys.readouterr()
    assert world.run("--check") == 2, "what is not installed cannot be checked"
    assert "got no cuDNN 9.26.0" in capsys.readouterr().err
    assert world.run("--check", "--installed") == 0
    said = capsys.readouterr()
    assert "1 calls answered again, all as in the file" in said.out
    assert said.err == "memshim: cudnn 9.26.0 for sm89 is not here: 2 calls are not asked\n"
    other["calls"].append(call(4))
    assert world.run("--check", "--installed") == 1, "what is not asked has to be there"
    assert capsys.readouterr().out.endswith(" tf32: got nothing in the file, want an answer\n")


def test_answers_before_an_interruption_are_kept(world, monkeypatch, capsys):
    real = workspace.ask

    def interrupted(start, calls, jobs, answered):
        real(start, calls[:2], jobs, answered)
        raise KeyboardInterrupt

    monkeypatch.setattr(workspace, "ask", interrupted)
    world.groups = [group(call(1), call(2), call(3))]
    assert world.run() == 130
    assert "interrupted" in capsys.readouterr().err
    monkeypatch.setattr(workspace, "ask", real)
    assert world.run() == 0
    assert "3 entries, 1 calls asked" in capsys.readouterr().out


def test_fresh_asks_again_and_says_what_it_replaces(world):
    world.groups = [group(call(1), call(2))]
    assert world.run() == 0
    world.file.write_text(world.file.read_text().replace('"bytes":200', '"bytes":201'))
    world.groups = [group(call(2))]
    assert world.run("--fresh") == 0
    assert world.bytes() == {1: 100, 2: 200}


def test_a_release_that_cannot_be_asked_has_a_stand_in(world, capsys):
    world.groups = [group(call(1), version="9.1.0")]
    assert world.run() == 0
    assert json.loads(world.file.read_text())["groups"][0]["version"] == "9.10.2"
    want = (
        "memshim: cuDNN 9.1.0 does not answer without a device, 9.10.2 answers in its place; "
        "nearer is nvidia-cudnn-cu12==9.8.0.87, see --cudnn"
    )
    assert want in capsys.readouterr().err


def test_flags_go_to_memspec(world):
    world.run("--torch", "2.15", "--device", "t4", "--device", "a10g", "-o", "other.json")
    assert world.asked[-1][2:] == (
        "--missing",
        "--workspace",
        "other.json",
        "--torch",
        "2.15",
        "--device",
        "t4",
        "--device",
        "a10g",
    )


def test_memspec_that_cannot_read_the_file_ends_it(world, monkeypatch, capsys):
    monkeypatch.setattr(binary, "ask", lambda *a: binary.Answer(None, "", 2))
    assert world.run() == 2
    assert not world.file.exists()


@pytest.mark.parametrize(
    "text, want",
    [
        ("", "not a workspace profile: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "got a workspace profile of schema None, want 1: make it again with this version"),
        ('{"schema": 2}', "got a workspace profile of schema 2, want 1: make it again with this version"),
        ('{"schema": 1}', "not a workspace profile: KeyError 'groups'"),
        ('{"schema": 1, "groups": [3]}', "not a workspace profile: TypeError 'int' object is not subscriptable"),
    ],
)
def test_a_file_that_is_no_profile_is_reported_and_left(world, capsys, text, want):
    world.file.write_text(text)
    assert world.run() == 2
    assert capsys.readouterr().err == f"memshim: {world.file}: {want}\n"
    assert world.file.read_text() == text


def test_what_is_no_plain_file_is_not_opened(world, capsys):
    world.file.mkdir()
    assert world.run() == 2
    assert capsys.readouterr().err == f"memshim: {world.file}: got no plain file, want a workspace profile\n"


def test_contradicting_entries_are_named(world, capsys):
    entry = call(1) | {"bytes": 1, "engine": 1}
    text = json.dumps(
        {
            "schema": 1,
            "groups": [
                {"library": "cudnn", "version": "9.10.2", "class": "sm89", "entries": [entry, entry | {"bytes": 2}]}
            ],
        }
    )
    world.file.write_text(text)
    assert world.run() == 2
    assert "got two answers of cudnn 9.10.2 sm89 for conv forward float32" in capsys.readouterr().err


def test_without_memspec_yaml_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert workspace.main([]) == 2
    assert (
        capsys.readouterr().err
        == "memshim: got no memspec.yaml here, want the cases to ask for; memspec init writes one for an artifact\n"
    )
