"""A compiled training step that somebody recorded on a real GPU (bcrafton/assignment2-systems,
benchmarking_script.py and memory_snapshot.pickle): a decoder of 12 layers at 64 tokens, compiled by
Module.compile(), its loss and its optimizer eager. The same arithmetic in the same order, and the
graphs broken where they were: at a rearrangement that dynamo could not follow. Prints where the
allocator's events part from the recorded ones.

    compiled_decoder.py SNAPSHOT"""

import json
import math
import pickle
import sys

import torch
from decoder import Matrix, events, log_softmax, recorded, silu, softmax
from torch import nn

WIDTH, HIDDEN, LAYERS, HEADS, WORDS, LENGTH = 768, 3072, 12, 12, 50257, 64


class Words(Matrix):
    def forward(self, ids):
        return self.weight[ids, :]


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
    def __init__(self):
        super().__init__()
        speeds = 10000.0 ** -(torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
        angles = torch.outer(torch.arange(LENGTH).float(), speeds)
        self.register_buffer("turns", torch.stack((angles.cos(), angles.sin())), persistent=False)

    def forward(self, x, places):
        even, odd = x.unflatten(-1, (-1, 2)).movedim(-1, 0)
        cos, sin = self.turns[:, places, :]
        first = cos * even - sin * odd
        second = sin * even + cos * odd
        return torch.cat((first[..., None], second[..., None]), dim=-1).flatten(-2).contiguous()


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
        places = torch.arange(x.size(1), device=x.device)
        torch._dynamo.graph_break()
        places = places[None, None]
        q = self.rotary(q, places)
        k = self.rotary(k, places)
        at = torch.arange(x.size(1), device=x.device)
        mask = at[None, None, :, None] >= at[None, None, None, :]
        scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(k.shape[-1])
        scores = torch.where(mask, scores, float("-inf"))
        out = torch.einsum("...qk,...kd->...qd", softmax(scores), v)
        out = out.transpose(1, 2).flatten(2).contiguous()
        return self.o(out)


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
        return between + fed


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.rotary = Words(WORDS, WIDTH), Rotary()
        self.layers = nn.ModuleList(Layer(self.rotary) for _ in range(LAYERS))
        self.last, self.head = Norm(), Matrix(WORDS, WIDTH)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.last(x))


class AdamW(torch.optim.Optimizer):
    """By hand; the zeros that a state begins with are made in each step."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state, gradient = self.state[p], p.grad.data
                m = state.get("m", torch.zeros_like(gradient))
                v = state.get("v", torch.zeros_like(gradient))
                next_m = 0.9 * m + 0.1 * gradient
                next_v = 0.999 * v + 0.001 * torch.square(gradient)
                p.data -= 1e-3 * next_m / (torch.sqrt(next_v) + 1e-8)
                p.data -= 1e-5 * p.data
                state["m"], state["v"] = next_m, next_v


def training():
    model = Decoder().cuda()
    model.compile()
    optimizer = AdamW(model.parameters())

    def train(steps):
        for _ in range(steps):
            x, y = (torch.randint(0, WORDS, (1, LENGTH)).to("cuda") for _ in range(2))
            output = model(x)
            loss = torch.mean(torch.gather(-log_softmax(output), -1, y.unsqueeze(-1)))
            loss = loss.backward()
            optimizer.step()
            torch.cuda.synchronize()

    train(10)
    return recorded(lambda: train(1))


def peak(snapshot):
    """The most that was allocated while it was recorded: back from what is allocated at its end."""
    live = most = sum(x["allocated_size"] for x in snapshot["segments"])
    for e in reversed([e for t in snapshot["device_traces"] for e in t]):
        live += {"alloc": -e["size"], "free_completed": e["size"]}.get(e["action"], 0)
        most = max(most, live)
    return most


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        real = pickle.load(f)
    ours = training()
    a, b = events(ours), events(real)
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    segments = [sorted(x["total_size"] for x in s["segments"]) for s in (ours, real)]
    blocks = [
        sorted(b["size"] for x in s["segments"] for b in x["blocks"] if b["state"] == "active_allocated")
        for s in (ours, real)
    ]
    print(
        json.dumps(
            {
                "events": [len(a), len(b)],
                "same": same,
                "segments": segments,
                "blocks": blocks,
                "peak": [peak(ours), peak(real)],
            }
        )
    )
