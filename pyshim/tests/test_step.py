"""memspec's own training step by its values, on the CPU: what the optimizer is given."""

import contextlib
import functools

import pytest

torch = pytest.importorskip("torch")

from memshim.attribution import sites  # noqa: E402
from memshim.case import step  # noqa: E402
from memshim.case.build import BuildError  # noqa: E402

STEP = {"optimizer": "opt.py:Seen", "loss": "sum", "accumulate": 1, "clip": None, "checkpoint": None}


class Seen(torch.optim.SGD):
    """Keeps the gradients of its last step."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.0)

    def step(self, closure=None):
        Seen.gradients = [p.grad.clone() for g in self.param_groups for p in g["params"]]
        super().step(closure)


def gradients(monkeypatch, **options):
    """The gradients that the optimizer sees in a step of a linear layer, without clipping 3 for each
    parameter."""
    torch.manual_seed(0)
    monkeypatch.setattr(step, "named", lambda text, folder: Seen)
    model, x = torch.nn.Linear(4, 2), torch.ones(3, 4)
    step.trainer(STEP | options, contextlib.nullcontext, model, [x], {}, ".")()
    return torch.cat([g.flatten() for g in Seen.gradients])


def test_the_accumulated_gradient_is_that_of_one_batch(monkeypatch):
    assert gradients(monkeypatch).tolist() == [3.0] * 10
    assert gradients(monkeypatch, accumulate=4).tolist() == [3.0] * 10, "each loss is a quarter"


@pytest.mark.parametrize("accumulate, passes", [(None, 1), (0, 1), (1, 1), (4, 4)])
def test_each_accumulated_batch_is_a_pass(accumulate, passes):
    model, ran = torch.nn.Linear(4, 2), []
    model.register_forward_hook(lambda *_: ran.append(1))
    options = {"optimizer": "none", "accumulate": accumulate}
    step.trainer(STEP | options, contextlib.nullcontext, model, [torch.ones(3, 4)], {}, ".")()
    assert len(ran) == passes


LINEAR = torch.nn.Linear(4, 2)


@pytest.mark.parametrize("out", [lambda x: LINEAR(x), lambda x: (LINEAR(x), None), lambda x: {"logits": LINEAR(x)}])
def test_a_loss_with_a_target_takes_the_first_result(out):
    loss = step.loss_function("cross_entropy", ".")
    x, target = torch.ones(3, 4), torch.tensor([0, 1, 0])
    want = torch.nn.functional.cross_entropy(LINEAR(x), target)
    assert torch.equal(loss(out(x), [x], {}, target), want)


CASE = {
    "source": "zoo.py:given",
    "artifact": "",
    "dir": ".",
    "mode": "inference",
    "dtype": "",
    "autocast": "",
    "grad": "",
}


@pytest.mark.parametrize(
    "given, inputs, want",
    [
        (LINEAR, 1, (1, [])),
        ((LINEAR, [torch.ones(3, 4)]), 0, (1, [])),
        ((LINEAR, {"input": torch.ones(3, 4)}), 0, (0, ["input"])),
        ((LINEAR, [], {"input": torch.ones(3, 4)}), 0, (0, ["input"])),
        ((LINEAR, [torch.ones(3, 4)]), 1, "zoo.py:given: gives its inputs, want none in the case"),
        (print, 1, "zoo.py:given: gives a callable that does one iteration, want no inputs in the case"),
        ((), 0, "zoo.py:given: gives a tuple of , want (module, args), "),
        ((LINEAR, 7), 0, "zoo.py:given: gives a tuple of Linear, int, want (module, args), "),
        (7, 0, "zoo.py:given: gives int, want a torch.nn.Module, a tuple of one and its inputs, or a callable"),
    ],
)
def test_what_a_source_gives(monkeypatch, given, inputs, want):
    monkeypatch.setattr(step, "load", lambda source, folder: given)
    args = [torch.ones(3, 4)] * inputs
    if isinstance(want, str):
        with pytest.raises(BuildError) as failed:
            step.prepare(CASE, args, {}, "cpu", lambda v: v)
        assert str(failed.value).startswith(want)
        return
    work = step.prepare(CASE, args, {}, "cpu", lambda v: v)
    assert (len(work.args), list(work.kwargs), work.how, work.model.training) == (*want, "source", False)


def test_a_callable_is_the_iteration(monkeypatch):
    monkeypatch.setattr(step, "load", lambda source, folder: print)
    assert step.prepare(CASE, [], {}, "cpu", lambda v: v)[:2] == (print, None)


def test_a_clipped_gradient_has_the_norm(monkeypatch):
    assert gradients(monkeypatch, clip=0.5).norm().item() == pytest.approx(0.5, rel=1e-4)


def test_a_float16_step_clips_unscaled_gradients(monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: True)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda kind: torch.float16)
    scaler = torch.amp.GradScaler
    monkeypatch.setattr(torch.amp, "GradScaler", lambda kind: scaler("cpu"))
    assert gradients(monkeypatch).norm().item() == pytest.approx(3 * 10**0.5, rel=1e-4), "the scaler's step unscales"
    assert gradients(monkeypatch, clip=0.5).norm().item() == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("optimizer, looks", [("none", 1), ("opt.py:Seen", 0)])
def test_a_step_without_an_optimizer_looks_for_missing_gradients(monkeypatch, optimizer, looks):
    """An optimizer's own hook does, where there is one; the gradients are still there."""
    seen = []
    monkeypatch.setattr(step.gradients, "look", lambda parameters: seen.append([p.grad is None for p in parameters]))
    monkeypatch.setattr(step, "named", lambda text, folder: Seen)
    model = torch.nn.Linear(4, 2)
    step.trainer(STEP | {"optimizer": optimizer}, contextlib.nullcontext, model, [torch.ones(3, 4)], {}, ".")()
    assert seen == [[False, False]] * looks and all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("layers.*", ["layers.0", "layers.1"]),
        ("layers.*.conv", ["layers.0.conv", "layers.1.conv"]),
        ("layers.0", ["layers.0"]),
        ("*", ["layers"]),
    ],
)
def test_a_star_in_checkpoint_is_one_name(pattern, found):
    block = functools.partial(torch.nn.ModuleDict, {"conv": torch.nn.Identity()})
    model = torch.nn.ModuleDict(
        {"layers": torch.nn.ModuleList([block(), torch.nn.ModuleDict({"conv": torch.nn.ReLU()})])}
    )
    step.checkpoint({"modules": [pattern], "reentrant": False}, model)
    assert [n for n, m in model.named_modules() if "forward" in vars(m)] == found


def test_after_the_backward_of_an_optimizer_the_phase_is_its_step(monkeypatch):
    """LBFGS calls backward inside its step; a backward outside of one is followed by no phase."""
    monkeypatch.setattr(sites.Attribution, "count", lambda self: 0)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([weight], max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    attribution = sites.Attribution().on()
    try:
        closure()
        optimizer.step(closure)
    finally:
        attribution.off()
    assert [mark.name for mark in attribution.phases] == ["backward", "step", "backward", "step"]


def stepped(**options):
    """A model after a step of SGD, and how many gradients it still has."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    own = {"optimizer": "SGD", "arguments": {"lr": 0.1}} | options
    step.trainer(STEP | own, contextlib.nullcontext, model, [torch.ones(3, 4)], {}, ".")()
    return [p.detach() for p in model.parameters()], sum(p.grad is not None for p in model.parameters())


def test_an_optimizer_in_the_backward_does_the_same_step():
    plain, inside = stepped(), stepped(optimizer_in_backward=True)
    assert all(torch.equal(a, b) for a, b in zip(plain[0], inside[0]))
    assert plain[1] == inside[1] == 0


def test_an_optimizer_in_the_backward_steps_before_the_backward_has_gone_on():
    model, seen = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)), []
    step.trainer(STEP | {"optimizer": "SGD", "optimizer_in_backward": True}, contextlib.nullcontext, model,
                 [torch.ones(3, 4)], {}, ".")  # fmt: skip
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda _: seen.append([p.grad is None for p in model.parameters()]))
    model(torch.ones(3, 4)).sum().backward()
    assert len(seen) == 4 and all(map(any, seen))
    assert seen[-1] == [True] * 4, "each hook of ours finds its gradient released"


def test_what_steps_by_a_closure_cannot_step_in_the_backward():
    for optimizer in ("LBFGS", "none"):
        with pytest.raises(BuildError, match="want one that steps alone"):
            stepped(optimizer=optimizer, arguments={}, optimizer_in_backward=True)
