"""Absent ranks' checkpoints as torch.distributed.checkpoint is imported: what is replaced of it; and a region's
snapshot."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.distributed_c10d")
from memshim.pretend.absent import checkpoints  # noqa: E402


class Planner:
    def __init__(self, name="plan"):
        self.name = name

    def create_local_plan(self):
        return self.name


def world(monkeypatch, returns, use_dist=True, group="group"):
    """Stubs of the modules, followed; the wrapper's class, what is gathered, and what was asked of said."""
    module = types.SimpleNamespace(
        _validate_global_plan=lambda plan, metadata: "checked",
        DefaultSavePlanner=type("Save", (Planner,), {"create_local_plan": Planner.create_local_plan}),
        DefaultLoadPlanner=type("Load", (Planner,), {"create_local_plan": Planner.create_local_plan}),
    )
    module._validate_global_plan.__annotations__["return"] = returns
    objects, asked = types.SimpleNamespace(gathered=None), []

    class Wrapper:
        def __init__(self):
            self.use_dist, self.group = use_dist, group

        def gather_object(self, object):
            "gathers"
            if object == "fails":
                raise ValueError("no")
            return objects.gathered, object

    monkeypatch.setitem(sys.modules, "torch.distributed.checkpoint.default_planner", module)
    monkeypatch.setitem(sys.modules, "torch.distributed.checkpoint.utils", types.SimpleNamespace(_DistWrapper=Wrapper))
    monkeypatch.setattr(checkpoints, "said", lambda *given: asked.append(given) or ["of all"])
    checkpoints.follow(objects)
    return module, Wrapper, objects, asked


@pytest.mark.parametrize("returns, valid", [("list[str]", []), (list[str], []), ("bool", True), (None, True)])
def test_a_plan_of_all_ranks_is_valid(monkeypatch, returns, valid):
    module, *_ = world(monkeypatch, returns)
    assert module._validate_global_plan("plan", "metadata") == valid


def test_what_ranks_gather_follows_from_the_planner_that_planned_last(monkeypatch):
    module, wrapper, objects, asked = world(monkeypatch, "bool")
    assert wrapper().gather_object("x") == (None, "x") and not asked, "nothing was planned"
    save, load = module.DefaultSavePlanner("s"), module.DefaultLoadPlanner("l")
    assert (save.create_local_plan(), load.create_local_plan()) == ("s", "l")
    assert wrapper().gather_object("x") == (["of all"], "x") and objects.gathered is None
    assert asked == [(objects, module, load, "group", "x")]
    with pytest.raises(ValueError):
        wrapper().gather_object("fails")
    assert objects.gathered is None and wrapper.gather_object.__doc__ == "gathers"
    objects.gathered = "known"
    assert wrapper().gather_object("x") == ("known", "x") and len(asked) == 2, "somebody knows already"
    del save, load, asked[:]
    assert wrapper().gather_object("x") == (None, "x"), "the planner has ended"


@pytest.mark.parametrize("use_dist, group, of", [(False, "group", []), (True, None, ["the world"])])
def test_without_ranks_nothing_is_gathered(monkeypatch, use_dist, group, of):
    monkeypatch.setattr(checkpoints.dist, "group", types.SimpleNamespace(WORLD="the world"))
    module, wrapper, objects, asked = world(monkeypatch, "bool", use_dist, group)
    planner = module.DefaultSavePlanner()
    planner.create_local_plan()
    wrapper().gather_object("x")
    assert [given[3] for given in asked] == of


def test_before_pytorch_2_7_the_whole_mesh_is_kept_elsewhere(monkeypatch):
    from torch.distributed import device_mesh

    monkeypatch.setattr(
        device_mesh, "_mesh_resources", types.SimpleNamespace(get_root_mesh=lambda mesh: "root"), raising=False
    )
    assert checkpoints._root("mesh") == "root"


@pytest.mark.parametrize(
    "results, want",
    [
        ([type("WriteResult", (), {})()], True),
        ([type("WriteResult", (), {})(), 3], False),
        ([], False),
        ((type("WriteResult", (), {})(),), False),
    ],
)
def test_what_was_written_is_a_list_of_results(results, want):
    assert checkpoints._is_results(results) is want


def test_a_file_that_counts():
    f = checkpoints._Counted()
    assert f.writable() and (f.write(b"123"), f.write(b"4"), f.size) == (3, 1, 4)
