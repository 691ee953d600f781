import collections

import pytest

from memshim import sizes
from memshim.case import inputs
from memshim.case.inputs import InputError, TensorSpec


@pytest.mark.parametrize(
    "text, name, value",
    [
        ("x=float32[8,3,224,224]", "x", TensorSpec("float32", (8, 3, 224, 224))),
        ("float32[]", "", TensorSpec("float32", ())),
        ("x=float16[1,3,2,2] channels_last cpu", "x", TensorSpec("float16", (1, 3, 2, 2), "channels_last", "cpu")),
        ("x=[float32[3,640], (int64[4],)]", "x", [TensorSpec("float32", (3, 640)), (TensorSpec("int64", (4,)),)]),
        ("a.b={k: 1, 'two words': -1.5e-3}", "a.b", {"k": 1, "two words": -1.5e-3}),
        ("flag=true", "flag", True),
        ("null", "", None),
        ("(3)", "", 3),
        ("s='it\\'s'", "s", "it's"),
        ("x=float32[2*B, S//2+1]", "x", TensorSpec("float32", (8, 4))),
    ],
)
def test_parse(text, name, value):
    assert inputs.parse(text, {"B": 4, "S": 7}) == (name, value)
    assert inputs.parse(inputs.show(value)) == ("", value), "what is shown reads back"


@pytest.mark.parametrize(
    "text, error",
    [
        ("float32[B]", "the dim 'B' without a value"),
        ("float32[-1]", "got '-1', want a size"),
        ("x=", "got the end, want a value"),
        ("x=words", "a text stands in quotes"),
        ("[1 2]", "want , or ]"),
        ("1 2", "want the end"),
        ("float32[1].x", "want the end"),
    ],
)
def test_parse_says_what_is_wrong(text, error):
    with pytest.raises(InputError) as e:
        inputs.parse(text)
    assert error in str(e.value)


def test_make():
    torch = pytest.importorskip("torch")
    args, kwargs = inputs.make(["float32[2,3,4,5] channels_last", "n=int64[B]", "flag=true"], {"B": 3}, dtype="float16")
    assert args[0].dtype == torch.float16 and args[0].is_contiguous(memory_format=torch.channels_last)
    assert kwargs["n"].tolist() == [0, 0, 0] and kwargs["flag"] is True
    assert inputs.show(inputs.of(args[0])) == "float16[2,3,4,5] channels_last"


def test_what_nobody_reads_may_be_larger_than_the_host(monkeypatch):
    """So that a batch of which the host has no room runs out of memory on the pretend GPU."""
    monkeypatch.setattr(inputs, "pretended", lambda: True)
    tib = inputs.tensor(TensorSpec("bfloat16", (1 << 30, 2, 64, 8), "channels_last"))
    assert tib.nbytes == 1 << 41 and tib.stride() == (1024, 1, 16, 2) and tib[-1, -1, -1, -1] == 0
    assert inputs.tensor(TensorSpec("complex64", (1 << 38,)))[-1] == 0


@pytest.mark.parametrize(
    "text, n", [("1GiB", 1 << 30), ("1.5 KiB", 1536), ("7", 7), (7, 7), ("0.3B", 0), ("1.0001KiB", 1024)]
)
def test_sizes_parse(text, n):
    assert sizes.parse(text) == n


@pytest.mark.parametrize(
    "text, error",
    [
        ("24 MB", "want MiB"),
        ("1 GB", "want GiB"),
        ("lots", "want one such as"),
        (-1, "want 0 or more"),
        ("1 parsec", "B, KiB, MiB"),
        (True, "want one"),
    ],
)
def test_sizes_parse_says_what_is_wrong(text, error):
    with pytest.raises(ValueError, match=error):
        sizes.parse(text)


@pytest.mark.parametrize(
    "n, text", [(0, "0 B"), (1023, "1023 B"), (63 << 20, "63.0 MiB"), ((1 << 30) - 1, "1.00 GiB"), (-2048, "-2.0 KiB")]
)
def test_sizes_show(n, text):
    assert sizes.show(n) == text


def test_a_size_may_be_zero():
    assert inputs.parse("float32[0,B-4]", {"B": 4}) == ("", TensorSpec("float32", (0, 0)))
    with pytest.raises(InputError, match="got size -1, want 0 or more"):
        inputs.parse("float32[B-5]", {"B": 4})
    with pytest.raises(InputError, match="want a size"):
        inputs.parse("float32[B//0]", {"B": 4})
    with pytest.raises(InputError, match="got '2.5', want a size"):
        inputs.parse("float32[2.5]")


def test_dims_and_lengths_of_the_command_line():
    assert inputs.parse_dims(["B=8", " T = 16 "]) == {"B": 8, "T": 16}
    assert inputs.parse_lengths(["T=128, 120", "B=1,2"]) == {"T": [128, 120], "B": [1, 2]}
    for read, text in ((inputs.parse_dims, "B=x"), (inputs.parse_lengths, "T=128")):
        with pytest.raises(InputError, match="want NAME=SIZE"):
            read([text])
    with pytest.raises(InputError, match="got 2 lengths of T, 3 lengths of B, want as many of each"):
        inputs.parse_lengths(["T=1,2", "B=1,2,3"])


def test_inputs_of_which_the_sizes_are_numbers():
    assert inputs.bound(["x=float32[2*B]", "int64[B]"], {"B": 4}) == ["x=float32[8]", "int64[4]"]


def test_what_a_value_holds_is_recorded_by_its_kind():
    torch = pytest.importorskip("torch")
    pair = collections.namedtuple("pair", "a b")(torch.zeros(2), 1)
    assert inputs.of([torch.zeros(2, 3).t(), pair, {"k": None}]) == [
        TensorSpec("float32", (3, 2)),
        (TensorSpec("float32", (2,)), 1),
        {"k": None},
    ]
    assert type(inputs.of([1])) is list and type(inputs.of((1,))) is tuple and type(inputs.of(pair)) is tuple
    video = torch.zeros(1, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    assert inputs.of(video).memory_format == "channels_last_3d"
    with pytest.raises(InputError, match="got an input of set, want tensors"):
        inputs.of({1})
