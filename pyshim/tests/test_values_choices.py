"""Indices that an operator chooses by unknown scores, or at random: of how many things, and how many at once."""

import types

import pytest

torch = pytest.importorskip("torch")
from memshim.pretend.values import choices  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(choices, "host", lambda t: t)


def spread(rows, k, n):
    """Rows of the last k indices below n, the largest first."""
    return (n - 1 - torch.arange(k)).expand(rows, k)


def chosen(name, out, *args, **kwargs):
    """What an operator is given: a tensor and its indices, for each that it makes."""
    names = {"dim": 1, "boundaries": 1, "sorted_sequence": 0, "from": 1, "to": 2, "min": 1, "max": 2}

    def argument(args, kwargs, name):
        return kwargs.get(name, args[names[name]] if len(args) > names[name] else None)

    op = types.SimpleNamespace(name=f"aten::{name}", argument=argument)
    found = list(choices.OF[f"aten::{name}"](op, spread, args, kwargs, out))
    for t, indices in found:
        assert t.shape == indices.shape
    return [indices.tolist() for _, indices in found]


def indices(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def test_indices_along_a_dimension_are_distinct():
    scores = torch.zeros(2, 5)
    assert chosen("topk", (scores, indices(2, 3)), scores, dim=1) == [[[4, 3, 2], [4, 3, 2]]]
    assert chosen("sort", (scores, indices(2, 5)), scores, dim=0) == [[[1] * 5, [0] * 5]]
    assert chosen("multinomial", indices(2, 3), torch.zeros(2, 2), 3) == [[[1] * 3, [1] * 3]], "there are too few"
    scores = torch.zeros(3, 2)
    assert chosen("sort", (scores, indices(3, 2)), scores, dim=0) == [[[2, 2], [1, 1], [0, 0]]]


def test_the_largest_along_a_dimension():
    scores = torch.zeros(2, 5)
    assert chosen("max", (torch.zeros(2), indices(2)), scores, dim=1) == [[4, 4]]
    assert chosen("max", (torch.zeros(2, 1), indices(2, 1)), scores, dim=1) == [[[4], [4]]]
    assert chosen("min", (torch.zeros(1, 5), indices(1, 5)), scores, dim=0) == [[[1] * 5]]


def test_a_single_number_has_one_index():
    scores = torch.zeros(())
    assert chosen("max", (torch.zeros(()), indices()), scores, dim=0) == [0]
    assert chosen("argmax", indices(), scores, None) == chosen("argmax", indices(), scores, 0) == [0]
    assert choices.along(indices(), 0, spread, 3)[1].tolist() == 2


def test_the_largest_of_all_is_chosen_without_a_dimension():
    assert chosen("max", torch.zeros(()), torch.zeros(2, 5)) == []
    assert chosen("max", (torch.zeros(2), indices(2)), torch.zeros(2, 5), "name") == []
    assert chosen("argmax", indices(), torch.zeros(2, 5), None) == [9]
    assert chosen("argmin", indices(2), torch.zeros(2, 5), 1) == [[4, 4]]


def test_nothing_is_chosen_of_nothing():
    assert chosen("topk", (torch.zeros(2, 0), indices(2, 0)), torch.zeros(2, 5), dim=1) == [[[], []]]
    assert chosen("randperm", indices(0), 0) == []


def test_a_place_in_a_sequence_may_be_behind_it():
    assert chosen("bucketize", indices(2), torch.zeros(2), torch.zeros(3)) == [[3, 3]]
    assert chosen("searchsorted", indices(2), torch.zeros(4), torch.zeros(2)) == [[4, 4]]
    assert chosen("searchsorted", indices(2), torch.zeros(()), torch.zeros(2)) == [[1, 1]]


def test_samples_and_permutations():
    assert chosen("multinomial", indices(2, 2), torch.zeros(2, 5), 2) == [[[4, 3], [4, 3]]]
    assert chosen("randperm", indices(3), 3) == [[2, 1, 0]]


def test_random_numbers_lie_in_their_range():
    assert chosen("random_", indices(2), indices(2), 3, 7) == [[6, 6]]
    assert chosen("random_", indices(2), indices(2), None, 7) == [[6, 6]]
    assert chosen("random_", torch.zeros(2, dtype=torch.bool), indices(2)) == [[1, 1]]
    assert chosen("random_", indices(2), indices(2), 0, 1) == [[0, 0]]
    for out, first, upto in ((indices(2), 3, 3), (torch.zeros(2), 0, 7), (indices(2), 0, (1 << 40) + 1)):
        assert chosen("random_", out, out, first, upto) == []
    assert chosen("random_", indices(2), indices(2)) == []
    assert chosen("random_", indices(1), indices(1), 0, 1 << 40) == [[(1 << 40) - 1]]


def test_coins_are_integers():
    assert chosen("bernoulli", indices(2), indices(2)) == [[1, 1]]
    assert chosen("bernoulli_", torch.zeros(2), torch.zeros(2)) == []


def test_what_is_clamped_lies_between_known_integers():
    assert chosen("clamp", indices(2), indices(2), 2, 5) == [[5, 5]]
    assert chosen("clamp_", indices(2), indices(2), 5, 5) == [[5, 5]]
    for out, low, high in ((indices(2), 5, 2), (indices(2), None, 2), (indices(2), 2, None), (torch.zeros(2), 2, 5)):
        assert chosen("clamp", out, out, low, high) == []
