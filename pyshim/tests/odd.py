"""Models that are hard on whoever looks at them, on any device: name → a function that makes
(model, one iteration)."""

import copy
import pickle

import pytest
import torch


def net():
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))


def step(m, *inputs):
    out = m(*inputs)
    (out.to_dense() if out.is_sparse else out).float().sum().backward()


class ReturnsSparse(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.l(x).to_sparse()


class ReturnsOdd(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Odd()

    def forward(self, x):
        return self.inner(x)["x"][0][1]


class Odd(torch.nn.Module):
    def forward(self, x):
        return {"x": [(None, x * 2), iter(()), "text"], 3: object()}


def sparse_embedding(device):
    m = torch.nn.Embedding(100, 8, sparse=True, device=device)
    return m, lambda: step(m, torch.zeros(4, dtype=torch.long, device=device))


def returns_sparse(device):
    m = ReturnsSparse().to(device)
    return m, lambda: step(m, torch.ones(3, 4, device=device))


def returns_odd(device):
    m = ReturnsOdd()
    return m, lambda: step(m, torch.ones(3, device=device, requires_grad=True))


def per_sample(device):
    m = torch.nn.Linear(4, 1, device=device)
    loss = lambda parameters, x: torch.func.functional_call(m, parameters, (x,)).sum()
    return m, lambda: torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(
        {k: v.detach() for k, v in m.named_parameters()}, torch.ones(3, 4, device=device)
    )


def lazy(device):
    m = torch.nn.Sequential(torch.nn.LazyLinear(8), torch.nn.LazyBatchNorm1d()).to(device)
    return m, lambda: step(m, torch.ones(3, 4, device=device))


def scripted(device):
    m = torch.jit.script(net().to(device))
    return m, lambda: step(m, torch.ones(3, 64, device=device))


def compiled_whole(device):
    m = net().to(device)
    fast = torch.compile(m, backend="aot_eager", fullgraph=True)
    return m, lambda: step(fast, torch.ones(3, 64, device=device))


def copied(device):
    m = net().to(device)

    def go():
        pickle.dumps(m)
        step(copy.deepcopy(m), torch.ones(3, 64, device=device))

    return m, go


def raises(device):
    m = net().to(device)

    def go():
        with pytest.raises(RuntimeError):
            m(torch.ones(3, 5, device=device))
        step(m, torch.ones(3, 64, device=device))

    return m, go


ODD = {
    f.__name__: f
    for f in (sparse_embedding, returns_sparse, returns_odd, per_sample, lazy, scripted, compiled_whole, copied, raises)
}
