"""torch.compile and Triton: every mode, forward and backward."""

import cases
import torch
import torch._inductor.config
from cases import case


torch._inductor.config.test_configs.max_mm_configs = 2  # of the ways to tile a matrix product, max-autotune tries so many: each is compiled


def run(mode, train=True):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 64)).cuda()
    compiled = torch.compile(model, mode=mode)
    x = torch.zeros(64, 256, device="cuda")
    out = []
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        base = torch.cuda.memory_allocated()
        if train:
            loss = compiled(x).sum()
            loss.backward()
            del loss
        else:
            with torch.no_grad():
                y = compiled(x)
                del y
        out.append([torch.cuda.max_memory_allocated() - base, torch.cuda.memory_reserved()])
    return {"passes": out, "graphs": torch._dynamo.utils.counters["stats"]["unique_graphs"], "breaks": len(torch._dynamo.utils.counters["graph_break"])}


@case
def default():
    return run("default")


@case
def reduce_overhead():
    return run("reduce-overhead", train=False)


@case
def max_autotune():
    return run("max-autotune", train=False)


@case
def max_autotune_no_cudagraphs():
    return run("max-autotune-no-cudagraphs")


@case
def own_kernel():
    """A Triton kernel that a program brings."""
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

    x = torch.ones(1000, device="cuda")
    out = torch.empty_like(x)
    add[(8,)](x, x, out, 1000, BLOCK=128)
    return [out.shape[0], out.sum().item()]


if __name__ == "__main__":
    cases.run()
