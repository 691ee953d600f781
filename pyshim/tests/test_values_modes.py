"""Values of a pretend GPU where no kernel computed any, by mode: what a read, a copy and a choice of indices
give."""

import pytest

torch = pytest.importorskip("torch")
from memshim.pretend.values import modes  # noqa: E402
from memshim.pretend.values.modes import BALANCED, LEAST, MOST, SKEWED  # noqa: E402

MODES = (BALANCED, LEAST, MOST, SKEWED)
F32, F16, F8 = torch.float32, torch.float16, torch.float8_e8m0fnu  # the last has no negative numbers
I64, B = torch.int64, torch.bool


def test_the_environment_names_the_mode():
    assert modes.of_environment({}) == BALANCED
    assert modes.of_environment({"MEMSPEC_VALUES": ""}) == BALANCED
    assert modes.of_environment({"MEMSPEC_VALUES": "most"}) == MOST
    with pytest.raises(ValueError, match="got MEMSPEC_VALUES='more', want one of balanced, least, most, skewed"):
        modes.of_environment({"MEMSPEC_VALUES": "more"})


@pytest.mark.parametrize(
    "value, dtype, of_modes",
    [
        (False, B, (False, False, True, True)),
        (True, B, (True, False, True, False)),
        (3, I64, (3, 0, 4096, 3)),
        (0, I64, (0, 0, 4096, 0)),
        (2.0, F32, (2.0, -1.0, 1e30, 0.5)),
        (2.0, F16, (2.0, -1.0, 65504.0, 0.5)),
        (2.0, F8, (2.0, 0.0, 1e30, 0.5)),
    ],
    ids=str,
)
def test_a_read_of_one_value(value, dtype, of_modes):
    found = tuple(modes.number(mode, value, dtype) for mode in MODES)
    assert found == of_modes and [type(f) for f in found] == [type(f) for f in of_modes]


def test_a_large_and_a_negative_number_of_an_integer_type():
    assert (modes.large(I64), modes.negative(I64)) == (4096.0, -1.0)


def test_the_opposite_of_a_value_ends_a_loop():
    assert (modes.opposite(True, B, 0), modes.opposite(False, B, 0)) == (False, True)
    assert [modes.opposite(1.0, F16, turn) for turn in range(4)] == [0.0, 65504.0, -1.0, 0.0]
    assert (modes.opposite(5, I64, 0), modes.opposite(0, I64, 0)) == (0, 4096)
    assert modes.opposite(0, I64, 0, chosen=True) == 1


@pytest.mark.parametrize(
    "dtype, of_modes",
    [(B, (0, True, True)), (I64, (0, 4096, None)), (F16, (-1.0, 65504.0, 0.5)), (F8, (0.0, 1e30, 0.5))],
    ids=str,
)
def test_a_copy_of_unknown_values(dtype, of_modes):
    found = tuple(modes.everywhere(mode, dtype) for mode in (LEAST, MOST, SKEWED))
    assert found == of_modes and [type(f) for f in found] == [type(f) for f in of_modes]


def test_what_a_read_gave_in_words():
    assert modes.given(BALANCED, 0, chosen=False) == ""
    assert modes.given(BALANCED, None, chosen=False) == ""
    assert modes.given(LEAST, 0, chosen=False) == "0: unknown values at the lower end of their range"
    assert modes.given(BALANCED, 0, chosen=True) == "0: indices spread evenly, other values zero"
    assert modes.given(MOST, None, chosen=False) == "unknown values at the upper end of their range"
    assert modes.given(MOST, True, chosen=False).startswith("true: ")
    assert modes.given(MOST, 1e30, chosen=False).startswith("1e+30: ")
    assert modes.given(BALANCED, 7, chosen=False).startswith("7: ")


@pytest.mark.parametrize(
    "value, kind",
    [
        (True, "bool"),
        (2, "int"),
        (2.0, "float"),
        (B, "bool"),
        (I64, "int"),
        (F16, "float"),
        (torch.complex64, "float"),
    ],
    ids=str,
)
def test_the_kind_of_what_is_read(value, kind):
    assert modes.kind(value) == kind


def spread(mode, turn, rows, k, n):
    return modes.spread(mode, turn, rows, k, n).tolist()


def test_balanced_indices_are_as_often_as_each_other():
    assert spread(BALANCED, 0, 3, 2, 4) == [[0, 1], [2, 3], [0, 1]]
    assert spread(BALANCED, 0, 2, 2, 4) == [[0, 1], [2, 3]]
    assert spread(BALANCED, 0, 2, 1, 8) == [[2], [6]]  # fewer than there are: in the middle of equal parts
    assert spread(BALANCED, 0, 3, 1, 10) == [[1], [5], [8]]


def test_indices_of_the_other_modes_are_the_same_in_each_row():
    assert spread(LEAST, 1, 2, 2, 6) == [[0, 1], [0, 1]]
    assert spread(MOST, 1, 2, 2, 6) == [[5, 4], [5, 4]]
    assert spread(SKEWED, 0, 2, 2, 6) == [[3, 4], [3, 4]]
    assert spread(SKEWED, 2, 1, 3, 6) == [[5, 0, 1]]


def test_routing_gives_one_expert_nearly_all_rows_and_each_other_some():
    assert modes.route(MOST, 0, 5, 2, 4).tolist() == [[2, 1], [2, 3], [2, 0], [2, 0], [2, 0]]
    assert modes.route(SKEWED, 0, 4, 2, 4).tolist() == [[1, 2], [1, 3], [1, 0], [1, 0]]
    assert modes.route(SKEWED, 0, 3, 1, 3).tolist() == [[0], [2], [1]]


@pytest.mark.parametrize(
    "mode, rows, k, n",
    [(BALANCED, 8, 2, 4), (LEAST, 8, 2, 4), (MOST, 3, 2, 4), (MOST, 8, 1, 2), (SKEWED, 8, 4, 4)],
)
def test_routing_is_a_spread_where_no_expert_can_have_more(mode, rows, k, n):
    assert modes.route(mode, 1, rows, k, n).tolist() == spread(mode, 1, rows, k, n)
