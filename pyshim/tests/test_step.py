"""memspec's own training step by its values, on the CPU: what the optimizer is given."""

import contextlib
import functools
from types import SimpleNamespace

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


# Losses, optimizers, precision and sharding, and what each refuses.

W = torch.nn.Parameter(torch.tensor([1.0, 2.0]))


def loss(text, out, args=(), kwargs=None, target=None):
    return step.loss_function(text, "folder")(out, list(args), kwargs or {}, target)


@pytest.mark.parametrize(
    "text, out, want",
    [
        ("sum", lambda: W * 2, 6.0),
        ("sum", lambda: [W * 2, {"a": W[:1]}, torch.ones(3), None], 7.0),
        ("sum", lambda: (W * 2).half(), 6.0),
        ("mean", lambda: W * 2, 3.0),
        ("mean", lambda: (W * 2, torch.ones(3), W[:1]), 4.0),
        ("output", lambda: W.sum(), 3.0),
        ("output", lambda: {"loss": W.sum(), "logits": W}, 3.0),
        ("output", lambda: SimpleNamespace(loss=W.sum()), 3.0),
    ],
)
def test_a_loss_of_a_result(text, out, want):
    found = loss(text, out())
    assert found.item() == want and found.requires_grad and found.dtype is torch.float32


NO_LOSS = (
    "got a result without a loss that a gradient can come from, want one that depends on parameters that require it"
)


@pytest.mark.parametrize(
    "text, out, want",
    [
        ("sum", lambda: torch.ones(2), NO_LOSS),
        ("sum", lambda: None, NO_LOSS),
        ("mean", lambda: [torch.ones(2)], NO_LOSS),
        ("output", lambda: {"logits": W}, NO_LOSS),
        ("output", lambda: 3, NO_LOSS),
        ("output", lambda: torch.ones(()), NO_LOSS),
        ("output", lambda: W * 2, "got a loss of shape [2], want one number"),
        ("mse_loss", lambda: W, "got loss mse_loss without a target, want an input named target"),
    ],
)
def test_a_result_without_a_loss(text, out, want):
    with pytest.raises(BuildError) as e:
        loss(text, out())
    assert str(e.value) == want


@pytest.mark.parametrize("text", ["absent", "_losses", "1x", "", "math", "__name__"])
def test_a_loss_that_there_is_not(text):
    with pytest.raises(BuildError) as e:
        step.loss_function(text, ".")
    assert str(e.value) == (
        f"got {f'loss {text!r}' if text else 'no loss'}, want sum, mean, output, a function of torch.nn.functional, or "
        "FILE.py:NAME"
    )


def test_a_function_of_pytorch_takes_the_result_and_the_target():
    assert loss("mse_loss", W, target=torch.zeros(2)).item() == 2.5
    assert loss("mse_loss", {"a": torch.ones(2), "b": W}, target=torch.zeros(2)).item() == 2.5
    with pytest.raises(BuildError, match=f"^{NO_LOSS}$"):
        loss("mse_loss", [torch.ones(2)], target=torch.zeros(2))


@pytest.mark.parametrize("target, named", [(None, {}), (5, {"target": 5})])
def test_a_users_loss_takes_what_the_model_took(monkeypatch, target, named):
    given = []

    def own(out, *args, **kwargs):
        given.append((args, kwargs))
        return out.sum()

    monkeypatch.setattr(step, "named", lambda text, folder: own if (text, folder) == ("a.py:own", "folder") else None)
    assert loss("a.py:own", W, [1, 2], {"x": 3}, target).item() == 3.0
    assert given == [((1, 2), {"x": 3} | named)]
    with pytest.raises(BuildError, match="^b.py:own: is NoneType, want a function$"):
        step.loss_function("b.py:own", "folder")


@pytest.mark.parametrize(
    "name, arguments, want",
    [
        ("SGD", {"lr": 0.5}, torch.optim.SGD),
        ("torch.optim.Adam", {"lr": 0.5}, torch.optim.Adam),
        ("a.py:Own", {"lr": 0.5}, torch.optim.Adagrad),
    ],
)
def test_an_optimizer(monkeypatch, name, arguments, want):
    known = {"torch.optim:Adam": torch.optim.Adam, "a.py:Own": torch.optim.Adagrad}
    monkeypatch.setattr(step, "named", lambda text, folder: known[text])
    made = step.make_optimizer(name, arguments, [W], ".")
    assert type(made) is want and made.param_groups[0]["lr"] == 0.5
    assert step.make_optimizer("none", {}, [W], ".") is None


@pytest.mark.parametrize(
    "name, want",
    [
        ("Adm", "got optimizer 'Adm', want one of torch.optim (ASGD, Adadelta, "),
        ("Optimizer", "got optimizer 'Optimizer', want one of torch.optim (ASGD, "),
        ("lr_scheduler", "got optimizer 'lr_scheduler', want one of torch.optim (ASGD, "),
        ("", "got no optimizer, want one of torch.optim (ASGD, "),
        ("SGD", "optimizer SGD: "),
        ("Adam", "optimizer Adam: "),
    ],
)
def test_an_optimizer_that_there_is_not(name, want):
    arguments = {"lr": -1.0} if name == "SGD" else {"rate": 1} if name == "Adam" else {}
    with pytest.raises(BuildError) as e:
        step.make_optimizer(name, arguments, [W], ".")
    assert str(e.value).startswith(want) and (")" not in want or "package.NAME, FILE.py:NAME, or none" in str(e.value))


def test_only_what_is_trained_is_given_to_the_optimizer():
    model = torch.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    made = step._optimizer({"optimizer": "SGD", "arguments": None}, model, ".")
    assert made.param_groups[0]["params"] == [model.weight]


@pytest.mark.parametrize(
    "text, want",
    [
        ("AdamW", ("AdamW", {})),
        ("SGD(lr=0.1, nesterov=True)", ("SGD", {"lr": 0.1, "nesterov": True})),
        ("AdamW(betas=(0.9, 0.99))", ("AdamW", {"betas": (0.9, 0.99)})),
        ("AdamW()", ("AdamW", {})),
        ("opt.py:Own(x", ("opt.py:Own(x", {})),
    ],
)
def test_an_optimizer_of_the_command_line(text, want):
    assert step.parse_optimizer(text) == want


@pytest.mark.parametrize("text", ["SGD(0.1)", "SGD(**more)", "SGD(lr=x)", "a.b(lr=1)", "SGD(", "1", "x[1]", "f()()"])
def test_an_optimizer_that_the_command_line_may_not_have(text):
    with pytest.raises(BuildError) as e:
        step.parse_optimizer(text)
    assert str(e.value).startswith(f"got optimizer {text!r}, want one such as AdamW or SGD(lr=0.1, momentum=0.9), FILE")


PLAIN = {"optimizer": "none", "arguments": {}, "loss": "sum", "accumulate": 1, "clip": None, "checkpoint": None}


def test_the_input_named_target_is_the_losss(monkeypatch):
    taken, model = [], torch.nn.Linear(2, 2)
    monkeypatch.setattr(
        step, "named", lambda text, folder: lambda out, x, target: taken.append((x, target)) or out.sum()
    )
    x, target = torch.ones(1, 2), torch.zeros(1)
    options = PLAIN | {"loss": "a.py:own"}
    step.trainer(options, contextlib.nullcontext, model, [], {"input": x, "target": target}, ".")
    with pytest.raises(TypeError, match="unexpected keyword argument 'input'"):
        step.trainer(options, contextlib.nullcontext, model, [], {"input": x, "target": target}, ".")()
    step.trainer(options, contextlib.nullcontext, model, [x], {"target": target}, ".")()
    assert taken == [(x, target)]


def test_an_optimizer_that_searches_is_given_the_pass():
    model = torch.nn.Linear(2, 1)
    before, passes = model.weight.detach().clone(), []
    model.register_forward_hook(lambda *_: passes.append(1))
    options = PLAIN | {"optimizer": "LBFGS", "arguments": {"max_iter": 3}, "clip": 0.5}
    step.trainer(options, contextlib.nullcontext, model, [torch.ones(1, 2)], {}, ".")()
    assert len(passes) >= 2 and not torch.equal(model.weight, before) and model.weight.grad is None


def test_a_step_changes_the_weights_by_their_gradients():
    model = torch.nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    options = PLAIN | {"optimizer": "SGD", "arguments": {"lr": 0.5}, "accumulate": 2}
    step.trainer(options, contextlib.nullcontext, model, [torch.ones(1, 2)], {}, ".")()
    assert torch.allclose(model.weight, before - 0.5) and model.weight.grad is None


OF_NET = {
    "source": "zoo.py:net", "artifact": "", "dir": "d", "mode": "inference", "dtype": "", "autocast": "",
    "grad": "no_grad", "training": PLAIN,
}  # fmt: skip


def prepared(monkeypatch, change, args=(), **kwargs):
    model = torch.nn.Linear(2, 1)
    monkeypatch.setattr(step, "load", lambda source, folder: model)
    monkeypatch.setattr(step, "load_artifact", lambda path, device: model)
    return step.prepare(OF_NET | change, list(args), kwargs, "cpu", lambda v: v), model


def test_a_case_is_prepared_as_it_says(monkeypatch):
    x = torch.ones(1, 2)
    work, model = prepared(monkeypatch, {"mode": "training"}, [x], target=torch.ones(1))
    assert model.training and work.how == "source" and len(work.state) == 2
    work, model = prepared(monkeypatch, {"dtype": "float64"}, [x.double()])
    assert not model.training and work.iterate().dtype is torch.float64 and not work.iterate().requires_grad
    work, model = prepared(monkeypatch, {"artifact": "net.pt", "source": ""}, [x, 2, 3])
    assert work.how == "artifact" and model.training, "an archive is as it was saved, and takes what it takes"
    assert prepared(monkeypatch, {"artifact": "net.pt"}, [x])[0].how == "source"
    with pytest.raises(BuildError, match="got inputs one without a name, target; want those of"):
        prepared(monkeypatch, {}, [x], target=x)
    assert step.Work(print, None, [], {}, "").state == []


@pytest.mark.parametrize("grad, inference", [("no_grad", False), ("inference_mode", True)])
def test_a_forward_has_no_gradients(monkeypatch, grad, inference):
    work, _ = prepared(monkeypatch, {"grad": grad}, [torch.ones(1, 2)])
    assert work.iterate().is_inference() is inference and not work.iterate().requires_grad


def test_the_cases_autocast(monkeypatch):
    given = []
    monkeypatch.setattr(torch, "autocast", lambda *a, **kw: given.append((a, kw)) or contextlib.nullcontext())
    for dtype in ("", "bfloat16"):
        with step.precision({"autocast": dtype}):
            pass
    assert given == [(("cuda",), {"dtype": torch.bfloat16})]


def test_modules_that_are_sharded_come_before_the_model(monkeypatch):
    from torch.distributed import fsdp

    sharded, said = [], []
    monkeypatch.setattr(fsdp, "fully_shard", sharded.append)
    monkeypatch.setattr(torch.cuda, "set_device", said.append)
    monkeypatch.setattr(torch.distributed, "init_process_group", said.append)
    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU()), torch.nn.ReLU())
    monkeypatch.setattr(step, "load", lambda source, folder: model)
    step.prepare(OF_NET | {"sharded": ["0.*", "1"]}, [torch.ones(1)], {}, "cpu", lambda v: v)
    assert sharded == [*model[0], model[1], model] and said == [0, "nccl"]


def test_modules_are_checkpointed_by_name(monkeypatch):
    import torch.utils.checkpoint as checkpointing

    ran = []
    monkeypatch.setattr(checkpointing, "checkpoint", lambda f, *a, use_reentrant: ran.append(use_reentrant) or f(*a))
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    step.checkpoint(None, model)
    step.checkpoint({"modules": ["0"], "reentrant": True}, model)
    model(torch.ones(2))
    assert ran == [True]
    with pytest.raises(BuildError, match=r"^got checkpoint '\*\.x', and no module of the model has such a name$"):
        step.checkpoint({"modules": ["*.x"], "reentrant": False}, model)
