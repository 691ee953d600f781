"""Which phases of training a process went through (memshim.program.phases)."""

import io
import json
import sys
from pathlib import Path

import pytest
import warm

from memshim.program.phases import Phases

torch = pytest.importorskip("torch")


def apart(name):
    """What a function of this file gives in a new process: there PyTorch's functions are heard, and
    no other test has run a backward, after which a fork cannot."""
    code = f"import json, test_run_phases; print(json.dumps(test_run_phases.{name}()))"
    p = warm.run([sys.executable, "-c", code], cwd=Path(__file__).parent)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)


def on_cpu():
    phases, found = Phases(), []
    phases.watch()
    model = torch.nn.Linear(2, 2)

    def show(what):
        found.append([what, *phases.names()])

    show("nothing")
    model.eval()
    show("eval() of what never trains")
    model.train()
    model(torch.ones(1, 2)).sum().backward()
    show("backward, after an eval()")
    phases.stepped()
    show("a step")
    model.eval()
    show("eval() of what trains")
    torch.save(model.state_dict(), io.BytesIO())
    show("torch.save")
    phases.gathered(torch.ones(()))
    show("a norm that is gathered")
    phases.gathered(torch.ones(2))
    show("a parameter that is gathered")
    return found


def test_what_begins_a_phase():
    trained = ["forward", "backward"]
    every = [*trained, "optimizer", "evaluation", "checkpoint"]
    assert apart("on_cpu") == [
        ["nothing"],
        ["eval() of what never trains", "evaluation"],
        ["backward, after an eval()", *trained],
        ["a step", *trained, "optimizer"],
        ["eval() of what trains", *every[:4]],
        ["torch.save", *every],
        ["a norm that is gathered", *every],
        ["a parameter that is gathered", *every, "gathering of state dicts"],
    ]


def gathered():
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    phases, found = Phases(), []
    phases.watch()
    model = torch.nn.Linear(2, 2)
    for whole in (False, True):
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=whole))
        found.append(phases.names())
    return found


def test_a_state_dict_of_all_ranks():
    assert apart("gathered") == [[], ["gathering of state dicts"]]
