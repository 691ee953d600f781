"""A decoder of 24 layers whose memory somebody recorded on a real GPU
(Wedsonlin/assignment2-systems, results/medium_*_memory_snapshot.pickle): the same arithmetic in the
same order, the same values held as long. Prints where the allocator's events part from the recorded
ones.

    decoder.py SNAPSHOT LENGTH inference|training [autocast]"""

import json
import math
import pickle
import sys

import torch
from torch import nn

WIDTH, HIDDEN, LAYERS, HEADS, WORDS, BATCH, THETA = 1024, 4096, 24, 16, 10000, 4, 10000.0


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        inverse = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * inverse
        return (self.scale * x).to(kind)


class Rotary(nn.Module):
    def __init__(self, length):
        super().__init__()
        speeds = THETA ** -(torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
        angles = torch.outer(torch.arange(length).float(), speeds)
        self.register_buffer("turns", torch.stack((angles.cos(), angles.sin())), persistent=False)

    def forward(self, x):
        even, odd = x.unflatten(-1, (-1, 2)).movedim(-1, 0).unbind(0)
        cos, sin = self.turns[:, : x.size(-2), :].unbind(0)
        first = cos * even - sin * odd
        second = sin * even + cos * odd
        return torch.concat((first, second), dim=-1)


def softmax(x):
    shifted = x - x.max(dim=-1, keepdim=True)[0]
    powers = torch.exp(shifted)
    return powers / torch.sum(powers, dim=-1, keepdim=True)


def attention(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(k.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, v)


class Matrix(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*shape))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class Attention(nn.Module):
    def __init__(self, rotary):
        super().__init__()
        self.q, self.k, self.v, self.o = (Matrix(WIDTH, WIDTH) for _ in range(4))
        self.rotary = rotary

    def forward(self, x):
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
        q = self.rotary(q)
        k = self.rotary(k)
        places = torch.arange(x.size(1), device=x.device)
        mask = places[:, None] >= places[None, :]
        mask = mask[None]
        out = attention(q, k, v, mask)
        out = out.transpose(1, 2).flatten(2).contiguous()
        result = self.o(out)
        return result


def silu(x):
    return x * torch.sigmoid(x)


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.gate = Matrix(HIDDEN, WIDTH), Matrix(WIDTH, HIDDEN), Matrix(HIDDEN, WIDTH)

    def forward(self, x):
        return self.down(silu(self.up(x)) * self.gate(x))


class Layer(nn.Module):
    def __init__(self, rotary):
        super().__init__()
        self.attention, self.feed = Attention(rotary), Feed()
        self.before, self.between = Norm(), Norm()

    def forward(self, x):
        attended = self.attention(self.before(x))
        between = x + attended
        fed = self.feed(self.between(between))
        after = between + fed
        return after


class Decoder(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.words, self.rotary = Matrix(WORDS, WIDTH), Rotary(length)
        self.layers = nn.ModuleList(Layer(self.rotary) for _ in range(LAYERS))
        self.last, self.head = Norm(), Matrix(WORDS, WIDTH)

    def forward(self, ids):
        embedded = self.words.weight[ids, :]
        x = embedded
        for layer in self.layers:
            x = layer(x)
        x = self.last(x)
        logits = self.head(x)
        return logits


def log_softmax(x):
    most = x.max(dim=-1, keepdim=True)[0]
    x = x - most
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def loss_of(logits, targets):
    negative = -log_softmax(logits)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


class AdamW(torch.optim.Optimizer):
    """By hand. The zeros that a state begins with are made in each step, and what a state was is
    held until the next parameter's turn."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state, gradient = self.state[p], p.grad.data
                p.data -= 1e-5 * p.data
                m = state.get("m", torch.zeros_like(gradient))
                v = state.get("v", torch.zeros_like(gradient))
                next_m = 0.9 * m + 0.1 * gradient
                next_v = 0.999 * v + 0.001 * gradient * gradient
                p.data -= 1e-3 * next_m / (torch.sqrt(next_v) + 1e-8)
                state["m"], state["v"] = next_m, next_v


def events(snapshot):
    return [
        (e["action"], e["size"])
        for t in snapshot["device_traces"]
        for e in t
        if e["action"] not in ("snapshot", "user_defined")
    ]


def recorded(run):
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(max_entries=1000000)
    run()
    torch.cuda.synchronize()
    found = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    return found


def inference(length, autocast):
    model = Decoder(length).cuda().eval()
    warm, ids = (
        torch.randint(0, WORDS, (5, BATCH, length), device="cuda"),
        torch.randint(0, WORDS, (1, BATCH, length), device="cuda"),
    )
    with torch.inference_mode():
        for x in warm:
            with autocast():
                model(x)

        def run():
            with autocast():
                model(ids[0])

        return recorded(run)


def training(length, autocast):
    model = Decoder(length).cuda().train()
    optimizer = AdamW(model.parameters())
    some = [torch.randint(0, WORDS, (n, BATCH, length), device="cuda") for n in (5, 1, 5, 1)]
    warm, ids, warm_targets, targets = some

    for x, y in zip(warm, warm_targets):
        with autocast():
            output = model(x)  # what the step before gave is released here
            loss = loss_of(output, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    del output, loss
    optimizer.zero_grad(set_to_none=True)
    kept = []

    def run():
        with autocast():
            output = model(ids[0])
            loss = loss_of(output, targets[0])
        loss.backward()
        optimizer.step()
        kept.append((output, loss))

    return recorded(run)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        real = pickle.load(f)
    ours = {"inference": inference, "training": training}[sys.argv[3]](
        int(sys.argv[2]), lambda: torch.autocast("cuda", torch.bfloat16, enabled="autocast" in sys.argv)
    )
    a, b = events(ours), events(real)
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    totals = [[len(s["segments"]), sum(g["total_size"] for g in s["segments"])] for s in (ours, real)]
    print(
        json.dumps(
            {
                "events": [len(a), len(b)],
                "same": same,
                "segments": totals,
                "ours": a[same : same + 4],
                "recorded": b[same : same + 4],
            }
        )
    )
