"""Training loops of many kinds: name → a function that makes (model, one iteration, what else is to
be said of it)."""

from __future__ import annotations

import copy
import gc
import os

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

CUDA = "cuda"


class MLP(torch.nn.Module):
    def __init__(self, wide=512, out=10):
        super().__init__()
        self.a, self.act, self.b = torch.nn.Linear(256, wide), torch.nn.GELU(), torch.nn.Linear(wide, out)

    def forward(self, x, scale=None):
        x = self.b(self.act(self.a(x)))
        return x if scale is None else x * scale


def data(rows=200):
    return torch.zeros(rows, 256, device=CUDA), torch.zeros(rows, dtype=torch.long, device=CUDA)


def classifier(model, optimizer, rows=200, call=None):
    """The usual iteration. call: what is called in the model's place."""

    def step():
        x, y = data(rows)
        optimizer.zero_grad()
        F.cross_entropy((model if call is None else call)(x), y).backward()
        optimizer.step()

    return model, step


def plain(make_optimizer, rows=200, **options):
    def loop():
        model = MLP(**options).to(CUDA)
        return classifier(model, make_optimizer(model.parameters()), rows)

    return loop


def amp():
    model = MLP().to(CUDA)
    optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler(CUDA)

    def step():
        x, y = data()
        with torch.autocast(CUDA, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return model, step


def accumulation():
    model = MLP().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        for _ in range(4):
            x, y = data(100)
            F.cross_entropy(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return model, step


def checkpointing(reentrant):
    def loop():
        model = torch.nn.Sequential(*[MLP(out=256) for _ in range(4)]).to(CUDA)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = model

            def forward(self, x):
                for block in self.blocks:
                    x = checkpoint(block, x, use_reentrant=reentrant)
                return x

        whole = Whole()

        def step():
            x = torch.zeros(400, 256, device=CUDA, requires_grad=True)
            optimizer.zero_grad()
            whole(x).sum().backward()
            optimizer.step()

        return whole, step

    return loop


def tied():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body, self.head = (
                torch.nn.Embedding(1000, 256),
                torch.nn.Linear(256, 256),
                torch.nn.Linear(256, 1000, bias=False),
            )
            self.head.weight = self.embed.weight

        def forward(self, ids):
            return self.head(torch.tanh(self.body(self.embed(ids))))

    model = Tied().to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        ids = torch.zeros(8, 64, dtype=torch.long, device=CUDA)
        optimizer.zero_grad(set_to_none=False)
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()

    return model, step


def sparse():
    model = torch.nn.Sequential(
        torch.nn.Embedding(5000, 64, sparse=True), torch.nn.Flatten(), torch.nn.Linear(64 * 16, 4)
    ).to(CUDA)
    optimizers = [torch.optim.SparseAdam(model[0].parameters()), torch.optim.Adam(model[2].parameters())]

    def step():
        ids = torch.zeros(32, 16, dtype=torch.long, device=CUDA)
        for o in optimizers:
            o.zero_grad()
        model(ids).sum().backward()
        optimizers[1].step()

    return model, step


def ema():
    model = MLP().to(CUDA)
    shadow, (_, train) = copy.deepcopy(model), classifier(model, torch.optim.Adam(model.parameters()))

    def step():
        train()
        with torch.no_grad():
            for a, b in zip(shadow.parameters(), model.parameters()):
                a.lerp_(b, 0.1)

    step.keep = shadow
    return model, step


def lbfgs():
    model = MLP(64).to(CUDA)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, history_size=4)  # which the second step fills
    x, y = data()

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    def step():
        optimizer.step(closure)

    return model, step


def several_optimizers():
    model = MLP().to(CUDA)
    first, second = torch.optim.SGD(model.a.parameters(), 0.1, momentum=0.9), torch.optim.Adam(model.b.parameters())

    def step():
        x, y = data()
        first.zero_grad()
        second.zero_grad()
        F.cross_entropy(model(x, scale=2.0), y).backward()
        first.step()
        second.step()

    return model, step


def frozen():
    model = MLP().to(CUDA)
    model.a.requires_grad_(False)
    return classifier(model, torch.optim.Adam([p for p in model.parameters() if p.requires_grad]))


def convolutions():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 10),
    )
    model = model.to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        x = torch.zeros(8, 3, 64, 64, device=CUDA).to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    return model, step


def transformer():
    model = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0.1), 2
    ).to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step():
        optimizer.zero_grad()
        model(torch.zeros(4, 100, 128, device=CUDA)).sum().backward()
        optimizer.step()

    return model, step


def compiled():
    model = MLP().to(CUDA)
    return classifier(
        model, torch.optim.Adam(model.parameters()), call=torch.compile(model, backend="aot_eager", fullgraph=True)
    )


def functional():
    """vmap over func.grad: gradients of each sample."""
    model = MLP(64).to(CUDA)

    def loss(parameters, x, y):
        return F.cross_entropy(torch.func.functional_call(model, parameters, (x[None],)), y[None])

    def update():
        x, y = data(20)
        parameters = {k: v.detach() for k, v in model.named_parameters()}
        grads = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
        # behind it autograd's thread has released the pass before
        torch.zeros((), device=CUDA, requires_grad=True).square().backward()
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads.values()):
                p -= 0.1 * g.mean(0)

    def step():
        gc.disable()  # it leaves reference cycles, which are released here and not at some other moment
        update()
        gc.enable()
        gc.collect(0)

    return model, step


def custom():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + ctx.saved_tensors[0].sum() * 0

    class Net(MLP):
        def forward(self, x):
            return self.b(Double.apply(self.a(x)))

    model = Net().to(CUDA)
    return classifier(model, torch.optim.RMSprop(model.parameters()))


def inference():
    model = MLP().to(CUDA).eval()

    def step():
        with torch.no_grad():
            model(data()[0]).argmax(1)

    return model, step


def gan():
    model = torch.nn.ModuleDict({"g": MLP(out=256), "d": MLP(out=1)}).to(CUDA)
    g, d = torch.optim.Adam(model["g"].parameters()), torch.optim.Adam(model["d"].parameters())

    def step():
        noise, real = data()[0], data()[0]
        d.zero_grad()
        (model["d"](real).mean() - model["d"](model["g"](noise).detach()).mean()).backward()
        d.step()
        g.zero_grad()
        model["d"](model["g"](noise)).mean().backward()
        g.step()

    return model, step


def fake_group():
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "localhost")
        dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())


def fsdp2():
    from torch.distributed.fsdp import fully_shard

    fake_group()
    model = torch.nn.Sequential(*[MLP(out=256) for _ in range(3)]).to(CUDA)
    for block in model:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        model(data()[0]).sum().backward()
        optimizer.step()

    return model, step


def ddp():
    fake_group()
    model = torch.nn.parallel.DistributedDataParallel(MLP().to(CUDA))

    def alone(state, bucket):  # the fake group's own works give nothing back
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    model.register_comm_hook(None, alone)
    return classifier(model, torch.optim.AdamW(model.parameters()))


LOOPS = {
    "sgd, large batch": plain(lambda p: torch.optim.SGD(p, 0.1), rows=4096),
    "momentum": plain(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "adam": plain(torch.optim.Adam, rows=8, wide=16384),
    "adamw, one tensor at a time": plain(lambda p: torch.optim.AdamW(p, foreach=False), wide=4096),
    "adafactor": plain(torch.optim.Adafactor),
    "amp": amp,
    "accumulation and clipping": accumulation,
    "checkpointing": checkpointing(False),
    "checkpointing, reentrant": checkpointing(True),
    "tied weights": tied,
    "sparse embedding": sparse,
    "ema": ema,
    "lbfgs": lbfgs,
    "several optimizers": several_optimizers,
    "frozen layer": frozen,
    "convolutions": convolutions,
    "transformer": transformer,
    "compiled": compiled,
    "functional": functional,
    "custom function": custom,
    "inference": inference,
    "gan": gan,
    "ddp": ddp,
    "fsdp2": fsdp2,
}
