"""Values on a pretend GPU: right where they can be, noted where not, and at no cost to what is
measured."""

import json
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "testdata" / "aten" / "2.15" / "samples"


@pytest.fixture(scope="module")
def seen(play):
    return play("values", "a100-sxm-40gb")


@pytest.mark.parametrize(
    "name, out",
    [
        (
            "fills",
            [
                [1.0] * 3,
                [7, 7],
                [0.0, 1.0, 2.0, 3.0],
                [0.0, 0.0],
                [[1.0, 0.0], [0.0, 1.0]],
                [0.0, 0.5, 1.0],
                [[1, 2], [3, 4]],
                [[True, False], [True, True]],
            ],
        ),
        (
            "arithmetic",
            [
                [[0, 7, 2], [3, 4, 5]],
                [[0.0, 3.0], [7.0, 4.0], [2.0, 5.0]],
                36,
                3.5,
                [[0, 3, 2], [3, 0, 1]],
                [[1.0, 128.0, 4.0], [8.0, 16.0, 32.0]],
                3.0,
                [[0, 7, 9], [3, 7, 12]],
            ],
        ),
        (
            "questions",
            [
                True,
                5,
                [3, 4, 5],
                3,
                [0, 1, 2],
                True,
                [0, 0, 0, 1, 2, 2],
                [4, 5],
                [2, 2, 2],
                [False, True, True, True, False, False],
                [3, 1, 2],
                5,
                [5],
                3,
                True,
                True,
                False,
                (1 << 64) - 1,
            ],
        ),
        ("masks", [[2, 1], [[0, 1, 1], [0, 1, 1]], [0.0, float("-inf"), float("-inf")], [False, False]]),
        ("long_ids", [(1 << 18) - 1, 1 << 17]),
        ("long_lengths", [(2 << 20) + 2, (2 << 20) + 2, (1 << 20) + 1, (1 << 19) * ((1 << 20) + 1)]),
        ("most_frequent", [True, (500 - 7) * 16, 20 * (500 - 7) * 16]),
        ("half_types", [[1.5, -2.0], [3.0, -4.0], [1.5, -2.0], [-1.5, 2.0], 1069547520]),
        ("on_the_host", [True, 10, True]),
        ("initialised", [0.0, True, True, True]),
        ("traced", [3.0, 7.0, 11.0, 15.0]),
    ],
)
def test_known_values_come_back(seen, name, out):
    assert seen[name] == {"out": out, "reads": []}


@pytest.mark.parametrize(
    "name, out, reads",
    [
        ("weights", [0.0, False, 0], [[3, "aten::_local_scalar_dense", 2], [3, "aten::nonzero", 1]]),
        ("overwritten", [4, 0.0], [[7, "aten::_local_scalar_dense", 1]]),
        ("layers", [64.0, 0.0, 64, 0, 0.0, 0.0], [[line, "aten::_local_scalar_dense", 1] for line in (8, 10, 11, 15)]),
        (
            "trained",
            [[1, 2, 3], [0, 0], 2, True, 0.0, 0.0, 0.0],
            [[line, "aten::_local_scalar_dense", 1] for line in (22, 23, 24, 25)],
        ),
        ("checked", [True, True, True], [[7, "aten::_local_scalar_dense", 3]]),
        ("random_numbers", [5, 7, 8], [[2, "aten::copy_", 1]]),
        ("graphs", [[1.0] * 4, 4, 0.0], [[9, "aten::_local_scalar_dense", 1]]),
    ],
)
def test_what_hangs_on_more_reads_as_zero_and_is_noted(seen, name, out, reads):
    assert seen[name]["out"] == out
    assert seen[name]["reads"] == reads


def test_programs_that_ask_run_to_their_end(seen):
    assert seen["distributions"]["out"] == [[250], [750]]
    assert seen["scaler"]["out"] == 65536.0
    assert {op for _, op, _ in seen["scaler"]["reads"]} == {"aten::_local_scalar_dense"}, (
        "whether a gradient is infinite"
    )


def test_threads(seen):
    assert seen["other_threads"] == {"out": [[2.0, 2.0, 2.0], [1, 2, 3]], "reads": []}, (
        "of the program's own, and autograd's"
    )
    assert seen["unfollowed"] == [["", 0, "cudaMemcpy", 1]]


def test_a_read_has_the_users_line(seen):
    assert seen["reads"] == {"line": 1, "op": "aten::_local_scalar_dense", "bytes": 1, "file": True}


def test_a_step_hardly_comes_by_python(seen):
    """What a pass costs with values: a visit is some ten microseconds, and so is what is
    computed."""
    visits, computed = seen["visits"]
    assert sum(visits.values()) <= 20, visits
    assert set(computed) == {"aten::fill_"} and len(computed) <= 2, (
        "the gradient that a pass begins with: one operator, before 2.15 one within another"
    )


PROGRAM = """
import json, torch
from memshim import pretend
rand = lambda *n: torch.rand(*n, device="cuda")
def first(x):
    return x.item()
def ask():
    n = int(first(rand(())))
    kept = torch.nonzero(rand(100) > 2).shape[0]
    lengths = rand(3).tolist()
    chosen = rand(50)[rand(50) > 2].shape[0]
    return [n, kept, lengths, chosen, bool(rand(()))]
out = ask()
reads = [[r.line, r.op, r.assumed] for r in pretend.report().reads]
print(json.dumps({"out": out, "reads": reads, "exact": pretend.report().exact}))
"""


def test_assume_states_what_a_read_gives(play, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = f"import runpy\nrunpy.run_path({str(program)!r}, run_name='__main__')\n"
    assert play(run)["out"] == [0, 0, [0.0, 0.0, 0.0], 0, False]
    assume = {"program.py:8": 3, "program.py:9": 40, "program.py:10": 2.5, "program.py:11": 7, f"{program}:12": True}
    seen = play(run, assume=assume)
    assert seen["out"] == [3, 40, [2.5, 2.5, 2.5], 7, True]
    assert seen["exact"] and [a for _, _, a in seen["reads"]] == [3, 40, 2.5, 7, True]
    assert not play(run, assume={"program.py:8": 3})["exact"]


@pytest.mark.parametrize(
    "assume, text",
    [
        ({"train.py": 3}, "got assume 'train.py', want a place such as train.py:12"),
        ({"train.py:12": "three"}, "got assume train.py:12: 'three', want a number, true or false"),
    ],
)
def test_what_cannot_be_assumed(assume, text):
    from memshim import pretend

    with pytest.raises(ValueError, match=text):
        pretend.environment("t4", assume=assume)


STREAMS = ("convolutions", "channels_last", "transformer", "scaled", "checkpointed", "out_of_memory_and_on")


@pytest.fixture(scope="module")
def streams(play):
    return [play("streams", "t4", values=v) for v in (False, True)]


def ordered(events):
    """Frees that follow one another, by address: autocast releases its cache in the order of a
    hash of addresses, which no two runs share."""
    out, frees = [], []
    for e in [*events, None]:
        if e and e[0].startswith("free"):
            frees.append(e)
        else:
            out += sorted(frees, key=lambda f: (f[2], f[0] == "free_completed"))
            frees = []
            out.append(e)
    return out


@pytest.mark.parametrize("name", STREAMS)
def test_values_move_no_allocation(streams, name):
    without, with_values = (s[name] for s in streams)
    assert len(without["events"]) > 20 and ordered(without.pop("events")) == ordered(with_values.pop("events"))
    assert without == with_values, "peaks of what is allocated and reserved"


def test_every_program_is_compared(streams):
    assert set(streams[0]) == set(STREAMS)


# Calls whose course depends on values: with values a GPU would go another way than with zeros.
DECIDED_BY_VALUES = {
    "aten::linalg_eig",
    "aten::linalg_tensorsolve",  # of a known matrix that is singular
    "aten::linalg_cholesky",  # of a known one that is not positive-definite
    "aten::matrix_exp",
    "aten::linalg_matrix_exp",
    "aten::index_put",
    "aten::index_put_",
    "aten::masked_scatter_backward",
    "aten::masked_scatter",
    "aten::masked_select",
    "aten::nonzero",
    "aten::index",
    "aten::_unique2",
    "aten::repeat_interleave",
    "aten::normal",
    "aten::combinations",
    # smoothed and weighted, its mean selects the weights of the targets that are
    # not ignored
    "aten::cross_entropy_loss",
}
# PyTorch asks whether two references are one object, which a call that passes through Python does
# not keep: an error less for a wrong argument.
SAME_OBJECT = {"aten::addr_"}
# Its results on CPU and CUDA differ for arguments that do not belong together, as the recorded
# ones.
OTHERWISE_ON_CPU = {"aten::_embedding_bag_dense_backward", "aten::native_channel_shuffle"}


@pytest.fixture(scope="module")
def calls(play, tmp_path_factory, request):
    """Recorded calls of operators without and with values: every fifth, or all with --all-calls."""
    step = 1 if request.config.getoption("--all-calls") else 5
    folder = tmp_path_factory.mktemp("samples")
    files = []
    for f in sorted(SAMPLES.glob("*.jsonl")):
        if f.stem not in ("host", "values"):
            files.append(str(folder / f.name))
            Path(files[-1]).write_text("\n".join(f.read_text().splitlines()[::step]))
    without, with_values = (
        play("operators", "a100-sxm-40gb", *files, values=False),
        play("operators", "a100-sxm-40gb", *files, "--check"),
    )
    return [(f, a, b) for f in with_values for a, b in zip(without[f], with_values[f], strict=True)]


def test_values_change_no_call(calls):
    """Every operator ends as without values, and takes as much."""
    assert len(calls) > 1000
    other = [(f, a, b) for f, a, b in calls if a[:4] != b[:4] and a[0] not in DECIDED_BY_VALUES | SAME_OBJECT]
    assert other == []


def test_what_is_called_known_is_right(calls):
    """Results that are known are the CPU's; few of small known arguments are not known."""
    wrong = [(f, b) for f, _, b in calls if b[4] is False and b[0] not in OTHERWISE_ON_CPU]
    assert wrong == []
    verdicts = [b[4] for _, _, b in calls if b[4] is not None]
    assert sum(v is True for v in verdicts) > 0.95 * len(verdicts), json.dumps(
        {b[0]: b[4] for _, _, b in calls if b[4] not in (None, True)}
    )
