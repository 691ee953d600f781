"""torch.compile and Triton: every mode, forward and backward."""

import cases
import torch
import torch._inductor.config
import triton
import triton.language as tl
from cases import case

# of the ways to tile a matrix product, max-autotune tries so many: each is compiled. 2.6 tries all.
if hasattr(torch._inductor.config.test_configs, "max_mm_configs"):
    torch._inductor.config.test_configs.max_mm_configs = 2


def anew():
    """As in a process that has compiled nothing and has multiplied nothing: before 2.15 the
    workspaces of a case would stay to the next. A cached block is not split for less than 1 MiB, and
    then counts whole."""
    torch._dynamo.reset()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


def run(mode, train=True):
    anew()
    torch._dynamo.utils.counters.clear()
    # one matrix product forward and one backward: each is tuned
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256)).cuda()
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
    return {
        "passes": out,
        "graphs": torch._dynamo.utils.counters["stats"]["unique_graphs"],
        "breaks": len(torch._dynamo.utils.counters["graph_break"]),
    }


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
def padding():
    """A head whose vocabulary fits the tensor cores badly: inductor tries it padded, and
    unpadded."""
    from memshim import pretend

    anew()
    x = torch.zeros(1024, 768, device="cuda", dtype=torch.bfloat16)
    w = torch.zeros(50257, 768, device="cuda", dtype=torch.bfloat16)
    out = {}
    for name, tried in (("padded", True), ("unpadded", False)):
        anew()
        head = torch.compile(
            lambda x, w: torch.nn.functional.linear(torch.nn.functional.gelu(x), w), options={"shape_padding": tried}
        )
        out[name] = []
        for _ in range(2):
            torch.cuda.reset_peak_memory_stats()
            base = torch.cuda.memory_allocated()
            with torch.no_grad():
                y = head(x, w)
            out[name].append(torch.cuda.max_memory_allocated() - base)
            del y
    return out | {"timed": [t._asdict() for t in pretend.report().timed if "padded" in t.what]}


@case
def chosen():
    """Under max-autotune, what a matrix product is."""
    from memshim import pretend

    anew()
    before = {t: t.count for t in pretend.report().timed}
    product = torch.compile(lambda a: a @ a, mode="max-autotune-no-cudagraphs")
    a = torch.zeros(512, 512, device="cuda", dtype=torch.float16)
    with torch.no_grad():
        product(a)
        torch.cuda.reset_peak_memory_stats()
        base = torch.cuda.memory_allocated()
        product(a)
    return {
        "took": torch.cuda.max_memory_allocated() - base,
        "result": 512 * 512 * 2,
        "timed": [t.what for t in pretend.report().timed if t not in before],
    }


@case
def folded():
    """Constants of one value, which inductor runs and reads while it compiles: what a sum with
    nought and a product with one leave out."""
    from torch._inductor.utils import run_and_get_code

    from memshim import pretend

    torch._dynamo.reset()
    before = len(pretend.report().reads)

    def filled(x):
        ones = torch.full((64,), 1.0, device="cuda")
        return x + (ones + 2), x.cos() * (ones * 3 - 2)

    filled = torch.compile(filled)
    with torch.no_grad():
        _, code = run_and_get_code(filled, torch.zeros(64, device="cuda"))
    kernel = code[0].partition("def triton_")[2].partition("def call")[0]
    return {"added": "3.0" in kernel, "products": kernel.count(" * tmp"), "reads": len(pretend.report().reads) - before}


@case
def own_kernel():
    """A Triton kernel that a program brings. Before 3.3 Triton finds names of a module only."""

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
