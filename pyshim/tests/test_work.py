"""What an iteration costs beside memory is counted operator by operator."""

import pytest

torch = pytest.importorskip("torch")
from memshim.case import work  # noqa: E402


class Of:
    """A tensor of a device, as far as counting looks at one."""

    def __init__(self, device, nbytes):
        self.device, self.nbytes = torch.device(device), nbytes


class Operator:
    def __init__(self, name, is_view=False):
        self.name, self.is_view = name, is_view

    def __str__(self):
        return self.name


def counted(monkeypatch, name, given, out, **more):
    monkeypatch.setattr(work, "_tensors", lambda value: list(value[0]) if isinstance(value, tuple) else [value])
    found = {"operators": 0, "copied": 0, "collectives": 0, "communicated": 0}
    work._add(found, Operator(name, **more), (given, None), out)
    return tuple(found.values())


def test_operators_on_the_device_count_and_copies_to_and_from_the_host_by_their_bytes(monkeypatch):
    there, here = Of("cuda", 8), Of("cpu", 8)
    assert counted(monkeypatch, "aten.add.Tensor", (there, there), there) == (1, 0, 0, 0)
    assert counted(monkeypatch, "aten.add.Tensor", (here, here), here) == (0, 0, 0, 0)
    assert counted(monkeypatch, "aten.view.default", (there,), there, is_view=True) == (0, 0, 0, 0)
    assert counted(monkeypatch, "aten.empty.memory_format", (), there) == (0, 0, 0, 0)
    assert counted(monkeypatch, "aten._to_copy.default", (here,), there) == (1, 8, 0, 0)
    assert counted(monkeypatch, "aten._to_copy.default", (there,), there) == (1, 0, 0, 0)
    assert counted(monkeypatch, "aten.copy_.default", (there, here), there) == (1, 8, 0, 0)


def test_a_collective_counts_by_its_larger_side(monkeypatch):
    part, whole = Of("cuda", 8), Of("cuda", 32)
    assert counted(monkeypatch, "c10d._allgather_base_.default", (whole, part), whole) == (0, 0, 1, 32)
    assert counted(monkeypatch, "_c10d_functional.wait_tensor.default", (whole,), whole) == (0, 0, 0, 0)


def test_an_iteration_is_run_once_and_its_operators_in_the_backward_count():
    ran = []
    x = torch.ones(4, requires_grad=True)

    def iterate():
        ran.append(1)
        (x * x).sum().backward()

    assert work.count(iterate) == {"operators": 0, "copied": 0, "collectives": 0, "communicated": 0}  # on the host
    assert ran == [1]


def test_compiled_code_runs_compiled_while_operators_are_counted():
    compiled = torch.compile(lambda x: x.sin() + 1, fullgraph=True, backend="eager")
    assert work.count(lambda: compiled(torch.ones(2)))["operators"] == 0, "on the host none counts"
