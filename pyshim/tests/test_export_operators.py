"""Whether the live model runs the operators of its exported program, and what export says of it."""

import json
import warnings
from pathlib import Path

import pytest

import memshim
from memshim.case import memspec_yaml
from memshim.exporting import command

torch = pytest.importorskip("torch")


class Residual(torch.nn.Module):
    def forward(self, x):
        kept = x.relu()
        y = kept.exp()
        y = y + 1
        z = y.sin()
        return z * 2


def test_when_python_released_an_exported_programs_results(tmp_path):
    path = memshim.export(Residual(), tmp_path / "r.pt2", torch.zeros(4, 3), kind="export")
    recorded = json.loads(path.with_name("r.pt2.inputs.json").read_text())
    # y is bound anew; the others are locals to the end
    assert recorded["releases"] == [["exp", "add"], ["relu", "mul"], ["add", "mul"], ["sin", "mul"], ["mul", "mul"]]
    report = memspec_yaml.ask(
        "estimate", str(path), "--device", "none", "--runtime", "eager", "--input", "float32[4,3]"
    )
    assert report["peak"]["requested"] == 5 * 48 and report["quality"] == "exact"  # x, kept, y, z and the result


class Asks(torch.nn.Module):
    """Runs other operators while it is exported."""

    def forward(self, x):
        y = x.relu()
        if torch.compiler.is_exporting():
            y = y.clone()
        return y + 1


class Looks(torch.nn.Module):
    """As many rows as the host counts, and a buffer that is written."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x + torch.arange(x.shape[1])


class Elsewhere(torch.nn.Module):
    """Runs others on a GPU."""

    def forward(self, x):
        return x.relu() if x.device.type == "cpu" else x.sigmoid()


class Keeps(torch.nn.Module):
    """Makes a table in its first pass, and keeps it."""

    table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        return x + self.table


class KeepsElsewhere(torch.nn.Module):
    """Keeps it where no module says of it."""

    def __init__(self):
        super().__init__()
        self.known = set()

    def forward(self, x):
        if not self.known:
            self.known = {torch.arange(x.shape[1], dtype=x.dtype, device=x.device)}
        return x + next(iter(self.known))


@pytest.mark.parametrize(
    ("model", "inputs", "recorded", "quality"),
    [
        (Residual(), (torch.zeros(4, 3),), {"same": True}, "exact"),
        (
            Asks(),
            (torch.zeros(4, 3),),
            {"same": False, "first": "eager runs nothing where the program has aten::clone float32[4, 3]"},
            "exact",
        ),
        (
            Looks(),
            (torch.zeros(4, 3),),
            {"same": False, "first": "eager makes torch.arange int64[3] on the host, the program where it runs"},
            "estimate",
        ),
        (
            Elsewhere(),
            (torch.zeros(4, 3),),
            {
                "same": False,
                "first": "on a GPU eager calls torch.sigmoid float32[4, 3] where on the host it calls torch.relu "
                "float32[4, 3]",
            },
            "exact",
        ),
        (
            Keeps(),
            (torch.zeros(4, 3),),
            {"same": False, "first": "a pass keeps table float32[3] for those after it"},
            "estimate",
        ),
        (
            KeepsElsewhere(),
            (torch.zeros(4, 3),),
            {"same": False, "first": "a second pass runs nothing where the first has aten::arange float32[3]"},
            "estimate",
        ),
        (
            torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
            (torch.zeros(2, 4, 8),),
            {
                "same": False,
                "first": "eager runs aten::_transformer_encoder_layer_fwd float32[2, 4, 8] where the program has "
                "aten::clone float32[4, 2, 8]",
            },
            "exact",
        ),
    ],
    ids=[
        "same",
        "asks whether it is exported",
        "fails on a GPU",
        "asks for its device",
        "keeps its first pass's",
        "keeps it elsewhere",
        "fast path",
    ],
)
def test_whether_the_live_model_runs_the_programs_operators(tmp_path, model, inputs, recorded, quality):
    """Where it does not, the program that it runs stands in the sidecar; where there is none, the
    account says so."""
    path = memshim.export(model, tmp_path / "m.pt2", *inputs, kind="export")
    sidecar = json.loads(path.with_name("m.pt2.inputs.json").read_text())
    assert sidecar["operators"] == recorded
    assert ("eager" in sidecar) == (quality == "exact" and not recorded["same"])
    assert not hasattr(model, "calls") or model.calls == 0, "what it writes is as before"
    report = memspec_yaml.ask(
        "estimate",
        str(path),
        "--device",
        "t4",
        "--runtime",
        "eager",
        *(f"--input=float32{list(i.shape)}".replace(" ", "") for i in inputs),
    )
    assert report["quality"] == quality
    assert ("operators-differ" in [n["id"] for n in report["notes"]]) == (quality == "estimate")


@pytest.mark.parametrize("make", [Keeps, KeepsElsewhere])
def test_of_a_model_that_keeps_what_its_first_pass_made_no_program_is_recorded(make):
    from memshim.exporting import command, compare_operators

    model = make()
    assert command.trace_sidecar(model, (torch.zeros(4, 3),), {}, compare_operators.attributes(model)) == {}


@pytest.mark.parametrize(
    ("model", "recorded", "eager"),
    [
        (Residual, {"same": True}, False),
        (Asks, {"same": False, "first": "eager runs nothing where the program has aten::clone float32[4, 3]"}, True),
    ],
)
def test_a_model_without_values_that_reads_none(tmp_path, model, recorded, eager):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        path = memshim.export(model(), tmp_path / "f.pt2", torch.zeros(4, 3), kind="export")
    sidecar = json.loads(path.with_name("f.pt2.inputs.json").read_text())
    assert sidecar["operators"] == recorded and ("eager" in sidecar) == eager


@pytest.mark.parametrize("training", [True, False])
def test_what_pytorch_says_of_its_kinds_is_not_said(tmp_path, monkeypatch, training):
    """torch.jit is deprecated; another warning is the model's."""

    def save(model, made, *given):
        assert not model.training
        for category in (FutureWarning, DeprecationWarning, UserWarning):
            warnings.warn(category.__name__, category, stacklevel=2)
        Path(made).touch()
        return {}

    monkeypatch.setattr(command, "_save", save)
    model = torch.nn.Identity().train(training)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        command.export(model, tmp_path / "n.pt", torch.ones(1), kind="script")
    assert [str(w.message) for w in said] == ["UserWarning"] and model.training == training
