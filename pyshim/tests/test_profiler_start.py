"""How a profiler and its command begin and end."""

import io
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.case import build  # noqa: E402
from memshim.gpu import storages  # noqa: E402
from memshim.look import breakdown, loop, profile  # noqa: E402
from memshim.pretend import restart  # noqa: E402


class Region:
    where = "cpu"

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *a: self.calls.append(name)


@pytest.fixture
def stubs(monkeypatch):
    """The region, the loop and the breaker of a profiler are stubs."""
    w = SimpleNamespace(region=Region(), made=[])

    class Loop(Region):
        def __init__(self, model, region, resume):
            super().__init__()
            self.of, self.resume = (model, region), resume
            w.loop = self

    monkeypatch.setattr(profile.Profiler, "_make_region", lambda self: w.region)
    monkeypatch.setattr(loop, "Loop", Loop)
    monkeypatch.setattr(breakdown, "Breaker", lambda *a: (w.made.append(a), SimpleNamespace(wants_native=True))[1])
    return w


def test_a_profiler_begins_at_once(stubs):
    model = torch.nn.Linear(2, 2)
    p = profile.Profiler(model, optimizer="optimizer")
    assert (p.where, p.epoch, p.iteration, p.stats, p.print_period, p.csv) == ("cpu", 0, 0, [], 5, None)
    assert stubs.region.calls == ["open", "restart"] and stubs.loop.calls == ["on", "outside"]
    assert stubs.loop.of == (model, stubs.region) and stubs.made == [(model, stubs.loop, "optimizer")]
    assert p._file is sys.stdout and p._rows == "layer" and p._device.type == "cpu"
    assert (p._alike, p._since, p._paused) == (0, 0, False)
    with p as entered:
        assert entered is p
    assert stubs.loop.calls[-1] == "off" and stubs.region.calls[-1] == "close"


@pytest.mark.parametrize("device, want", [("cuda:2", ("cuda", 2, "alloc", True)), ("cpu", ("cpu", None))])
def test_the_region_is_of_the_models_device(device, want):
    p = profile.Profiler.__new__(profile.Profiler)
    p._device = torch.device(device)
    region = p._make_region()
    more = (region.wants, region.keeps_events) if region.where == "cuda" else ()
    assert (region.where, region.index, *more) == want


def test_a_model_of_buffers_lies_where_they_do(stubs, monkeypatch):
    monkeypatch.setattr(profile.where, "words", lambda kind: f"on {kind}")
    monkeypatch.setattr(storages, "storages", lambda tensor: [tensor])
    model = torch.nn.Module()
    model.register_buffer("t", torch.ones(1, device="meta"))
    p = profile.Profiler(model, file=io.StringIO())
    assert (p._device.type, p.where) == ("meta", "on meta")


def test_a_model_without_weights_lies_on_the_host(stubs):
    assert profile.Profiler(torch.nn.ReLU(), file=io.StringIO())._device.type == "cpu"


def test_it_goes_on_when_the_model_runs_and_ends_with_its_last_reference(stubs):
    p = profile.Profiler(torch.nn.ReLU())
    resumed = []
    p._resume = lambda: resumed.append(1)
    stubs.loop.resume()
    assert resumed == [1]
    del p._resume, p
    stubs.loop.resume()
    assert stubs.loop.calls[-1] == "off" and resumed == [1]


@pytest.mark.parametrize("csv, name", [(True, "memshim-profile.csv"), ("a.csv", "a.csv"), (False, None), ("", None)])
def test_the_file_of_figures_has_its_columns_at_once(stubs, tmp_path, monkeypatch, csv, name):
    monkeypatch.chdir(tmp_path)
    assert profile.Profiler(torch.nn.ReLU(), csv=csv).csv == name
    if name:
        first = (tmp_path / name).read_text().splitlines()[0]
        assert first.split(",") == list(profile._COLUMNS) and first.startswith("kind,epoch,iteration,layer")
    else:
        assert not list(tmp_path.iterdir())


def test_rows_that_are_none(stubs):
    with pytest.raises(ValueError, match="^got rows 'block', want layer, tensor or an empty text$"):
        profile.Profiler(torch.nn.ReLU(), rows="block")
    assert profile.Profiler(torch.nn.ReLU(), rows="")._rows == ""


@pytest.fixture
def command(monkeypatch):
    """The command with a model of one weight; what it does is listed."""
    calls = []

    class Profiler:
        def __init__(self, model, **named):
            calls.append({k: type(v).__name__ if k == "optimizer" else v for k, v in named.items()})

        def __enter__(self):
            return self

        def __exit__(self, *error):
            calls.append("exit")

        def record_stats(self):
            calls.append(w.model.weight.grad is None)

        def epoch_end(self):
            calls.append("epoch")

    class Optimizer:
        def __init__(self, parameters):
            self.parameters = list(parameters)

        def step(self):
            calls.append(("step", self.parameters[0].grad.tolist()))

        def zero_grad(self):
            self.parameters[0].grad = None

    w = SimpleNamespace(calls=calls, model=torch.nn.Linear(1, 1, bias=False).eval())
    monkeypatch.setattr(profile, "Profiler", Profiler)
    monkeypatch.setattr(torch.optim, "Stub", Optimizer, raising=False)
    monkeypatch.setattr(build, "load_source", lambda source: w.model)
    monkeypatch.setattr(restart, "enter", lambda a, name: None)
    monkeypatch.setattr(profile.where, "of", lambda device: SimpleNamespace(kind="cpu", index=None))
    return w


INPUT = ["zoo.py:net", "--input", "float32[B,1]", "--dim", "B=2"]


def test_the_command_runs_steps(command):
    assert profile.main([*INPUT, "--optimizer", "Stub", "--steps", "2", "--csv", "a.csv"]) == 0
    begun, *steps, epoch, ended = command.calls
    assert begun == {"print_period": 1, "csv": "a.csv", "optimizer": "Optimizer", "rows": ""}
    assert [s[0] if isinstance(s, tuple) else s for s in steps] == ["step", True] * 2 and command.model.training
    assert (epoch, ended) == ("epoch", "exit")


def test_without_an_optimizer_gradients_stay(command):
    assert profile.main([*INPUT, "--optimizer", ""]) == 0
    begun = {"print_period": 1, "csv": False, "optimizer": "NoneType", "rows": ""}
    assert command.calls == [begun, False, False, False, "epoch", "exit"]


def test_a_model_without_a_gradient_is_run_forward_alone(command):
    command.model.weight.requires_grad = False
    assert profile.main([*INPUT, "--optimizer", "", "--steps", "1"]) == 0
    assert command.calls[1:] == [True, "epoch", "exit"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["--optimizer", "Nadam"], "memshim: got optimizer 'Nadam', want a class of torch.optim\n"),
        (["--optimizer", "lr_scheduler"], "memshim: got optimizer 'lr_scheduler', want a class of torch.optim\n"),
        (["--dim", "B"], "memshim: got dim 'B', want NAME=SIZE such as B=8\n"),
    ],
)
def test_what_cannot_be_run(command, capsys, words, said):
    assert profile.main([*INPUT, *words]) == 2
    assert capsys.readouterr().err == said and command.calls == []


def test_a_number_of_steps_that_is_none(command, capsys):
    with pytest.raises(SystemExit) as e:
        profile.main([*INPUT, "--steps", "0"])
    assert e.value.code == 2 and "argument --steps: got 0, want 1 or more" in capsys.readouterr().err


def test_a_device_that_is_not_there(command, capsys, monkeypatch):
    def of(device):
        raise ValueError(f"got {device}")

    monkeypatch.setattr(profile.where, "of", of)
    assert profile.main([*INPUT, "--optimizer", "", "--device", "cuda:9"]) == 2
    assert capsys.readouterr().err == "memshim: got cuda:9\n"


def test_where_it_runs_elsewhere_its_code_is_given(command, monkeypatch):
    monkeypatch.setattr(restart, "enter", lambda a, name: 7 if name == "profile" else 0)
    assert profile.main(INPUT) == 7 and command.calls == []


@pytest.mark.parametrize("index, device", [(None, "cuda:0"), (2, "cuda:2")])
def test_on_a_gpu_the_model_and_its_inputs_are_moved(command, monkeypatch, index, device):
    moved = []

    class Model:
        def train(self):
            return self

        def to(self, where):
            moved.append(where)
            raise KeyError

    command.model = Model()
    monkeypatch.setattr(profile.where, "of", lambda device: SimpleNamespace(kind="cuda", index=index))
    with pytest.raises(KeyError):
        profile.main([*INPUT, "--optimizer", ""])
    assert moved == [device]
