"""What the host wrote and small arithmetic on it come back right; what depends on weights or on
random numbers reads as zero and is noted."""

import threading

import cases
import torch
from cases import case

from memshim import pretend


def noted(f):
    """What f returned, and the reads that it left: (line of this file relative to f, operator,
    count)."""
    first = f.__code__.co_firstlineno
    before = {(r.line, r.op): r.count for r in pretend.report().reads}
    out = f()
    reads = [
        [r.line - first, r.op, r.count - before.get((r.line, r.op), 0)]
        for r in pretend.report().reads
        if r.file == __file__
    ]
    return {"out": out, "reads": [r for r in reads if r[2]]}


def known(f):
    CASE = lambda: noted(f)
    CASE.__name__ = f.__name__
    return case(CASE)


@known
def fills():
    return [
        torch.ones(3, device="cuda").tolist(),
        torch.full((2,), 7, device="cuda").tolist(),
        torch.arange(4.0, device="cuda").tolist(),
        torch.zeros(2, device="cuda").tolist(),
        torch.eye(2, device="cuda").tolist(),
        torch.linspace(0, 1, 3, device="cuda").tolist(),
        torch.tensor([[1, 2], [3, 4]], device="cuda").tolist(),
        torch.tril(torch.ones(2, 2, dtype=torch.bool, device="cuda")).tolist(),
    ]


@known
def arithmetic():
    x = torch.arange(6, device="cuda").view(2, 3)
    x[0, 1] = 7
    y = x.t().contiguous().float()
    return [
        x.tolist(),
        y.tolist(),
        (x * 2 - 1).sum().item(),
        y.mean().item(),
        (x % 4).tolist(),
        (2.0**x).tolist(),
        round(y.softmax(-1).sum().item(), 5),
        x.cumsum(1).tolist(),
    ]


@known
def questions():
    x = torch.arange(6, device="cuda")
    lengths = torch.tensor([3, 1, 2]).cuda()
    return [
        bool((x >= 0).all()),
        x.max().item(),
        x[x > 2].tolist(),
        torch.nonzero(x > 2).shape[0],
        torch.unique(x % 3).tolist(),
        torch.equal(x, x.clone()),
        torch.repeat_interleave(lengths).tolist(),
        torch.masked_select(x, x > 3).tolist(),
        torch.bincount(x % 3).tolist(),
        torch.isin(x, lengths).tolist(),
        torch.searchsorted(x, lengths).tolist(),
        x.argmax().item(),
        torch.where(x > 4)[0].tolist(),
        len(x.split(lengths.tolist())),
        torch.allclose(x, x),
        torch.isin(3, torch.arange(20, device="cuda")).item(),
        torch.isin(30, torch.arange(20, device="cuda")).item(),
        torch.full((8,), 255, dtype=torch.uint8).cuda().view(torch.uint64).item(),  # a seed that is sent
    ]


@known
def masks():
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]]).cuda()
    causal = torch.full((3, 3), float("-inf"), device="cuda").triu(1)
    position = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
    return [mask.sum(-1).tolist(), position.tolist(), causal[0].tolist(), mask.bool().all(-1).tolist()]


@known
def long_ids():
    """More than a MiB of integers: ids decide, so they are copied; as many floats are not."""
    ids = torch.arange(1 << 18).cuda()
    return [ids[-1].item(), ids.view(2, -1)[1, 0].item()]


@known
def long_lengths():
    """Of a million rows and more, whose lengths are known, the rows that they make are counted."""
    n = (1 << 20) + 1
    rows = torch.empty(n, 1, dtype=torch.uint8, device="cuda")
    made, copied = torch.full((n,), 2, device="cuda"), torch.full((n,), 2).cuda()
    return [
        *(torch.repeat_interleave(rows, lengths, dim=0).shape[0] for lengths in (made, copied, made % 2 + 1)),
        torch.arange(n, device="cuda").sum().item(),
    ]


@known
def most_frequent():
    """Rows that one kernel sorts, and longer ones, of which PyTorch reads how many values they have; and
    what a row of 500 values takes more than one of seven."""
    n, right, taken = 5000, [], []
    requested = lambda: torch.cuda.memory_stats()["requested_bytes.all.allocated"]
    for row in (torch.arange(n) % 7, torch.arange(n) // 10, torch.arange(n) % 3 == 0, (torch.arange(n) % 5).float()):
        for x in (row[:2048].cuda(), torch.stack([row] * 20).cuda(), row.cuda()):
            before = requested()
            out = torch.mode(x)
            taken.append(requested() - before)
            right.append(torch.equal(out.values.cpu(), torch.mode(x.cpu()).values))
    return [all(right), taken[5] - taken[2], taken[4] - taken[1]]


@known
def weights():
    x = torch.rand(1000, 1000, device="cuda")
    return [x.sum().item(), bool((x > 1).any()), torch.nonzero(x).shape[0]]


@known
def overwritten():
    """What is computed from what is not known is not known either; a block that is used again
    neither."""
    x = torch.ones(4, device="cuda")
    x.mul_(torch.rand(4, device="cuda"))
    y = torch.arange(4, device="cuda") + x
    return [y.shape[0], x[0].item()]


@known
def layers():
    """A product of a layer's size is not computed, nor what a convolution gives, nor a gradient of
    what is not known; a small product is."""
    small, large = torch.ones(64, 64, device="cuda"), torch.ones(512, 512, device="cuda")
    taps = torch.ones(1, 1, 3, 3, device="cuda")
    seen = [
        (small @ small)[0, 0].item(),
        (large @ large)[0, 0].item(),
        torch._int_mm(small.to(torch.int8), small.to(torch.int8))[0, 0].item(),
        torch._int_mm(large.to(torch.int8), large.to(torch.int8))[0, 0].item(),
        torch.nn.functional.conv2d(torch.ones(1, 1, 8, 8, device="cuda"), taps).sum().item(),
    ]
    weight = torch.ones(4, requires_grad=True, device="cuda")
    torch.sigmoid(weight * torch.rand(4, device="cuda")).sum().backward()
    return [*seen, weight.grad.sum().item()]


@known
def trained():
    """A step of a small net: its gradients and numbers depend on weights, what stands beside it is
    known before and after."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Dropout(),
        torch.nn.Flatten(),
        torch.nn.Linear(144, 2),
    ).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    lengths, labels = torch.tensor([1, 2, 3]).cuda(), torch.zeros(2, dtype=torch.long).cuda()
    for _ in range(2):
        out = net(torch.rand(2, 1, 8, 8, device="cuda"))
        torch.nn.functional.cross_entropy(out, labels).backward()
        optimizer.step()
    return [
        lengths.tolist(),
        labels.tolist(),
        net[1].num_batches_tracked.item(),
        bool(torch.isfinite(out).all()),
        out.sum().item(),
        net[5].weight.grad.sum().item(),
        net[1].running_mean[0].item(),
    ]


@case
def visits():
    """Which operators of a step come by Python: [how often each, how many were computed]."""
    from memshim.pretend import values

    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(144, 2),
    ).cuda()
    x, labels, seen, computed = torch.rand(2, 1, 8, 8, device="cuda"), torch.zeros(2, dtype=torch.long).cuda(), {}, []

    def step():
        torch.nn.functional.cross_entropy(net(x), labels).backward()

    step()
    before = {o: o.kernel for o in values.installed().operators.values()}
    for o in before:

        def kernel(*a, of=o, kernel=o.kernel):
            seen[of.name] = seen.get(of.name, 0) + 1
            return kernel(*a)

        o.kernel, o.compute = kernel, lambda *a, of=o: computed.append(of.name) or type(of).compute(of, *a)
    step()
    for o, kernel in before.items():
        o.kernel = kernel
        del o.compute
    return [dict(sorted(seen.items())), sorted(computed)]


@known
def checked():
    """What is not known reads as numbers that pass the usual checks."""
    net = torch.nn.Linear(64, 8, bias=False).cuda()
    with torch.no_grad():
        p = net(torch.rand(3, 64, device="cuda")).relu().softmax(-1)
        again = net(torch.rand(3, 64, device="cuda")).relu().softmax(-1)
        return [bool(((p.sum(-1) - 1).abs() < 1e-3).all()), torch.allclose(p, again), bool(torch.isfinite(p).all())]


@known
def random_numbers():
    return torch.randint(5, 9, (3,), device="cuda").tolist()


@known
def distributions():
    """Their checks pass, on known parameters and on others."""
    loc = torch.nn.Linear(4096, 1 << 19, device="cuda")(torch.ones(1, 4096, device="cuda"))
    torch.distributions.Normal(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")).sample()
    torch.distributions.Categorical(logits=loc).sample()
    return torch.multinomial(
        torch.nn.Linear(4096, 1000, device="cuda")(torch.ones(2, 4096, device="cuda")).softmax(-1), 1
    ).tolist()


@known
def scaler():
    model = torch.nn.Linear(100, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    grad_scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.rand(10, 100, device="cuda")).float().mean()
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()
        optimizer.zero_grad()
    return grad_scaler.get_scale()


@known
def on_the_host():
    """CPU tensors are as ever."""
    x = torch.randn(1 << 20)
    return [bool(x.std() > 0.9), torch.arange(5).sum().item(), torch.rand(3).add(1).min().item() >= 1]


@known
def initialised():
    """Of a module that is built on the CPU, large weights are not filled; small ones are."""
    m = torch.nn.Linear(2048, 2048)
    torch.manual_seed(0)
    small = torch.nn.Linear(4, 4)
    torch.nn.init.trunc_normal_(m.weight)
    torch.nn.init.ones_(m.weight)
    # From 2.12 on trunc_normal_ draws again, into memory that may have been used before, until nothing is rejected.
    used, empty_like, made = torch.full((2048, 2048), float("inf")), torch.empty_like, []

    def used_before(like):
        made.append(empty_like(like).copy_(used))
        assert len(made) < 9
        return made[-1]

    torch.empty_like = used_before
    try:
        for low, high in ((-2.0, 2.0), (3.0, 4.0)):
            torch.nn.init.trunc_normal_(m.weight.data.copy_(used), a=low, b=high)
    finally:
        torch.empty_like = empty_like
    torch.nn.init.zeros_(m.weight.data.zero_())

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = torch.empty(1024, 1024).fill_(2)  # no weights: what it goes on to compute with

    assert Masked().mask.sum().item() == 2 << 20
    return [
        m.weight.abs().max().item(),
        m.bias.abs().max().item() > 0,
        small.weight.abs().max().item() > 0,
        small.cuda()(torch.ones(1, 4, device="cuda")).tolist() == small.cpu()(torch.ones(1, 4)).tolist(),
    ]


@known
def traced():
    """Tracing compares constants, which come to Python as numbers."""
    x = torch.arange(4.0, device="cuda")
    return torch.jit.trace(lambda x: (x * 2 + 1) * 2 + 1, x, check_trace=False)(x).tolist()


@known
def other_threads():
    """Values are followed in every thread of Python's, and in autograd's."""
    seen = []
    x = torch.arange(3, device="cuda")
    t = threading.Thread(target=lambda: seen.append((x + 1).tolist()))
    t.start()
    t.join()
    w = torch.ones(3, device="cuda", requires_grad=True)
    (w * 2).sum().backward()
    return [w.grad.tolist(), seen[0]]


@case
def unfollowed():
    """A read that no operator of PyTorch's makes: of a library that calls CUDA itself. It has no
    line."""
    import ctypes

    x, out = torch.rand(4, device="cuda"), (ctypes.c_float * 4)()
    ctypes.CDLL("libcuda.so.1").cudaMemcpy(out, ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(16), 2)
    return [[r.file, r.line, r.op, r.count] for r in pretend.report().reads if not r.file]


@known
def graphs():
    """A replay writes what is not known."""
    x = torch.ones(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = x * 2
    before = x.tolist()
    g.replay()
    return [before, y.shape[0], y[0].item()]


@known
def half_types():
    x = torch.tensor([1.5, -2.0]).cuda()
    return [
        x.bfloat16().tolist(),
        x.half().mul(2).tolist(),
        x.to(torch.complex64).conj().mul(1j).imag.tolist(),
        x.neg().double().tolist(),
        x.view(torch.int32).tolist()[0],
    ]


@case
def reads():
    """A read has the user's line."""

    def ask(x):
        return bool(x > 0)  # the line

    ask(torch.rand((), device="cuda"))
    r = [r for r in pretend.report().reads if r.function == "ask"][0]
    return {"line": r.line - ask.__code__.co_firstlineno, "op": r.op, "bytes": r.bytes, "file": r.file == __file__}


if __name__ == "__main__":
    cases.run()
