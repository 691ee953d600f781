"""Which phases of training a process went through (memshim.program.phases)."""

import io
import json
import os

import pytest

from memshim.program.phases import Phases

torch = pytest.importorskip("torch")


def forked(seen):
    """What a function gives in a fork of this process, in which PyTorch's functions are heard."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(write, json.dumps(seen()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as f:
        said = f.read()
    os.waitpid(pid, 0)
    return json.loads(said)


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
    assert forked(on_cpu) == [
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
    assert forked(gathered) == [[], ["gathering of state dicts"]]
