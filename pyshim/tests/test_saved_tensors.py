"""Which operator autograd saved a tensor for, read off the graph."""

import pytest

torch = pytest.importorskip("torch")

from memshim.attribution import saved_tensors  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C._autograd.SavedTensor, "unpack_hook"), reason="recorded with torch that has SavedTensor.data"
)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


def found(*roots):
    return [(s.label.partition("\n")[0], s.tensor.data_ptr()) for s in saved_tensors.saved(roots)]


def test_each_node_says_what_it_saved():
    """In the order of the forward, of a function in Python too, and a result that is saved by its own node."""
    x = torch.randn(4, requires_grad=True)
    y = torch.exp(x)
    z = Twice.apply(y)
    assert found(torch.sin(z).sum()) == [
        ("ExpBackward0", y.data_ptr()),
        ("TwiceBackward", y.data_ptr()),
        ("SinBackward0", z.data_ptr()),
    ]


def test_a_hook_is_not_run():
    """What it put in a tensor's place is no tensor that autograd saved."""

    def unpack(packed):
        raise AssertionError("unpacked")

    x = torch.randn(4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack):
        y = torch.exp(x)
    assert found(torch.sin(y).sum()) == [("SinBackward0", y.data_ptr())]


def test_what_is_released_is_left_out():
    x = torch.randn(4, requires_grad=True)
    loss = torch.exp(x).sum()
    loss.backward()
    assert found(loss) == [] and found(torch.ones(1), 7) == []
