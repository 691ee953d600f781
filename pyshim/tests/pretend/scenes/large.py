"""Decoders of Llama's sizes: built, run and trained where the machine has a fraction of the memory
that they take. What it took of the host is reported too: its peak of resident memory, and seconds.
Every case wants a separate process."""

import resource
import time

import cases
import torch
from cases import case
from torch import nn
from torch.nn import functional as F

SIZES = {  # hidden, of the feed-forward, layers, heads, heads of keys and values, vocabulary: Llama 3's
    "1b": (2048, 8192, 16, 32, 8, 128256),
    "8b": (4096, 14336, 32, 32, 8, 128256),
    "70b": (8192, 28672, 80, 64, 8, 128256),
}


class Layer(nn.Module):
    def __init__(self, width, hidden, heads, groups):
        super().__init__()
        self.heads, self.groups, head = heads, groups, width // heads
        self.before, self.between = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
        self.q, self.k, self.v = (nn.Linear(width, n * head, bias=False) for n in (heads, groups, groups))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (
            nn.Linear(width, hidden, bias=False),
            nn.Linear(width, hidden, bias=False),
            nn.Linear(hidden, width, bias=False),
        )

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        y = self.before(x)
        q, k, v = (
            f(y).view(batch, length, n, -1).transpose(1, 2)
            for f, n in ((self.q, self.heads), (self.k, self.groups), (self.v, self.groups))
        )
        y = F.scaled_dot_product_attention(
            self.rotate(q, cos, sin), self.rotate(k, cos, sin), v, is_causal=True, enable_gqa=True
        )
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, width, hidden, layers, heads, groups, words):
        super().__init__()
        self.words, self.norm, self.head = (
            nn.Embedding(words, width),
            nn.RMSNorm(width, 1e-5),
            nn.Linear(width, words, bias=False),
        )
        self.layers = nn.ModuleList(Layer(width, hidden, heads, groups) for _ in range(layers))
        self.size = width // heads

    def forward(self, ids):
        x = self.words(ids)
        angle = torch.outer(
            torch.arange(ids.shape[1], device=ids.device),
            500000.0 ** (-torch.arange(0, self.size, 2, device=ids.device) / self.size),
        )
        angle = torch.cat((angle, angle), -1)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def build(size, where="cuda"):
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(where):
        return Decoder(*SIZES[size]).cuda()


def result(**more):
    return {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
    } | more


def inference(size, length, where="cuda"):
    start = time.perf_counter()
    model = build(size, where).eval()
    built, base = time.perf_counter() - start, torch.cuda.memory_allocated()
    ids = torch.zeros(1, length, dtype=torch.long, device="cuda")
    seconds = []
    with torch.no_grad():
        for _ in range(2):
            start, process = time.perf_counter(), time.process_time()
            model(ids)
            seconds.append([time.perf_counter() - start, time.process_time() - process])
    return result(built=built, seconds=seconds, base=base, parameters=sum(p.numel() for p in model.parameters()))


@case
def forward_8b():
    return inference("8b", 4096)


@case
def long_8b():
    return inference("8b", 8192)


@case
def built_on_the_host_8b():
    """Constructors that fill tensors on the CPU, and a move."""
    return inference("8b", 128, "cpu")


@case
def forward_70b():
    return inference("70b", 8192)


@case
def training_8b():
    """Two steps with AdamW: the second, with its states, does not fit."""
    model = build("8b")
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.zeros(1, 8192, dtype=torch.long, device="cuda")
    try:
        for _ in range(2):
            text = ""
            optimizer.zero_grad()
            F.cross_entropy(model(ids).float().flatten(0, 1), ids.flatten()).backward()
            optimizer.step()
    except torch.OutOfMemoryError as e:
        text = str(e)
    states = [t for state in optimizer.state.values() for t in state.values() if t.is_cuda]
    held = [sum(t.numel() * t.element_size() for t in tensors) for tensors in (model.parameters(), states)]
    return result(text=text, held=held)


if __name__ == "__main__":
    cases.run()
