"""What PyTorch can do with a GPU's memory, one case each."""

import os

import cases
import torch
from cases import case

MIB = 1 << 20


def peaks():
    return [torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]


def requested():
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


def fill(*sizes):
    return [torch.empty(n, dtype=torch.uint8, device="cuda") for n in sizes]


@case
def segments():
    """What the allocator's configuration in PYTORCH_CUDA_ALLOC_CONF makes of four blocks, and of
    giving them back."""
    torch.cuda.init()
    start = torch.cuda.mem_get_info()[0]
    x = fill(30 * MIB, 30 * MIB, 100, 3 * MIB)
    found = torch.cuda.memory_snapshot()
    seen = {
        "backend": torch.cuda.memory.get_allocator_backend(),
        "reserved": torch.cuda.memory_reserved(),
        "taken": start - torch.cuda.mem_get_info()[0],
        "segments": sorted([s["total_size"], s["segment_type"], s.get("is_expandable", False)] for s in found),
    }
    del x
    torch.cuda.empty_cache()
    return seen | {"after": [torch.cuda.memory_reserved(), start - torch.cuda.mem_get_info()[0]]}


@case
def cuda_malloc_async():
    x = fill(100, 1000 * MIB)
    before = torch.cuda.memory_allocated()
    del x
    return {
        "backend": torch.cuda.memory.get_allocator_backend(),
        "allocated": [before, torch.cuda.memory_allocated()],
        "peak": torch.cuda.max_memory_allocated(),
    }


@case
def pools():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = fill(5 * MIB)
    y = fill(5 * MIB)
    ids = {tuple(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()}
    return {
        "pools": len(ids),
        "inside": sum(s["total_size"] for s in pool.snapshot()),
        "reserved": torch.cuda.memory_reserved() - before,
        "x": len(x + y),
    }


@case
def streams():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    side, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    x = fill(20 * MIB)[0]
    with torch.cuda.stream(side):
        y = fill(20 * MIB)[0]
        x.record_stream(side)
        event.record()
    del x  # not handed out anew before the other stream is done
    event.synchronize()
    end = torch.cuda.Event(enable_timing=True)
    end.record()
    side.synchronize()
    return {
        "done": [event.query(), side.query()],
        "time": event.elapsed_time(end) > 0,
        "y": y.numel(),
        "segments": (torch.cuda.memory_reserved() - before) // MIB,
    }


@case
def generate():
    # before graphs(): with PyTorch 2.10 a generator never leaves a capture that failed
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=1000,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        eos_token_id=999,
        pad_token_id=998,
    )
    model = transformers.LlamaForCausalLM(config).cuda().half().eval()
    x = torch.randint(1, 900, (2, 10)).cuda()
    mask = torch.ones_like(x)
    mask[0, :3] = 0
    out = [
        list(model.generate(x, attention_mask=mask, max_new_tokens=8, **kw).shape)
        for kw in ({"do_sample": False}, {"do_sample": True}, {"num_beams": 3})
    ]
    return {"shapes": out, "peak": torch.cuda.max_memory_allocated() > 0}


@case
def graphs():
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
    x = torch.zeros(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = model(x)
    capturing = torch.cuda.is_current_stream_capturing()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(3):
        g.replay()
    torch.cuda.synchronize()
    replayed = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    private = sum(s["total_size"] for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) != (0, 0))
    graphed = torch.cuda.make_graphed_callables(model, (x.clone().requires_grad_(),))
    graphed(x).sum().backward()
    return {
        "y": list(y.shape),
        "capturing": capturing,
        "replayed": replayed,
        "private": private,
    }


@case
def nvml():
    """The card as nvidia-smi would see it: PyTorch asks NVML for what other processes hold."""
    import ctypes

    class Memory(ctypes.Structure):
        _fields_ = [(n, ctypes.c_ulonglong) for n in ("total", "free", "used")]

    x = fill(100 * MIB)
    free, total = torch.cuda.mem_get_info()
    nvml, handle, memory = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Memory()
    results = [
        nvml.nvmlInit_v2(),
        nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)),
        nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)),
    ]
    return {
        "results": results,
        "same": [memory.free == free, memory.total == total, memory.used == total - free],
        "held": x[0].numel() <= memory.used,
    }


@case
def history():
    torch.cuda.memory._record_memory_history(stacks="all", context="all")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.ReLU()).cuda()
    model(torch.zeros(1, 3, 64, 64, device="cuda")).sum().backward()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    frames = {f["name"] for e in trace for f in e.get("frames", ())}
    return {"events": len(trace), "python": "history" in frames, "c++": any("convolution" in f for f in frames)}


@case
def profiler():
    from torch.profiler import ProfilerActivity, profile

    a = torch.zeros(100, 100, device="cuda")
    (a @ a).sum()  # cuBLAS's workspace is there
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, record_shapes=True
    ) as p:
        (a @ a).sum()
    mm = [e for e in p.events() if e.name == "aten::mm"][0]
    return {"mm": mm.device_memory_usage, "shapes": mm.input_shapes}


@case
def attention():
    from torch.nn.attention import SDPBackend

    seen = {}
    for dtype in (torch.float16, torch.float32):
        q = torch.zeros(2, 16, 1024, 64, device="cuda", dtype=dtype, requires_grad=True)
        torch.cuda.reset_peak_memory_stats()
        base = torch.cuda.memory_allocated()
        out = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
        forward = torch.cuda.max_memory_allocated() - base
        out.sum().backward()
        choice = SDPBackend(torch._fused_sdp_choice(q, q, q, None, 0.0, True)).name
        seen[str(dtype)] = [choice, forward, torch.cuda.max_memory_allocated() - base]
        del out, q
    return seen


@case
def attention_without_a_plan():
    """No plan of cuDNN's drops everything. After its error PyTorch 2.15 ends the process at the
    next such call, on a real card."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q = torch.zeros(1, 8, 128, 64, device="cuda", dtype=torch.float16, requires_grad=True)
    seen = []
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        for dropout in (1.0, 1.0, 0.5, 1.0, 0.5):
            try:
                torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=dropout).sum().backward()
                seen.append("ran")
            except RuntimeError as e:
                seen.append(str(e))
    return seen


@case
def optimizers():
    seen = {}
    for name, kw in (
        ("SGD", {"momentum": 0.9}),
        ("AdamW", {}),
        ("AdamW", {"foreach": False}),
        ("AdamW", {"fused": True}),
        ("Adafactor", {}),
        ("LBFGS", {"max_iter": 2}),
        ("Adam", {"capturable": True}),
    ):
        # cuBLAS's workspaces are there
        torch.nn.Linear(1000, 1000).cuda()(torch.ones(8, 1000, device="cuda")).sum().backward()
        torch.cuda.empty_cache()
        base = requested()
        model = torch.nn.Linear(1000, 1000).cuda()
        opt = getattr(torch.optim, name)(model.parameters(), **kw)

        def loss():
            opt.zero_grad()
            out = model(torch.ones(8, 1000, device="cuda")).pow(2).mean()
            out.backward()
            return out

        loss()
        opt.step(loss)
        seen[name + "".join(f" {k}" for k in kw)] = requested() - base
        del model, opt, loss
    return seen


@case
def refused():
    seen = {}
    for name, f in (
        ("sparse", lambda: torch.mm(torch.eye(4, device="cuda").to_sparse_csr(), torch.ones(4, 4, device="cuda"))),
        ("ipc", lambda: torch.ones(4, device="cuda").untyped_storage()._share_cuda_()),
    ):
        try:
            f()
            seen[name] = "no error"
        except RuntimeError as e:
            seen[name] = str(e).split("\n")[0]
    from memshim import pretend

    return {"errors": seen, "refused": [r.name for r in pretend.report().refused]}


@case
def without_cudnn():
    """PyTorch's own recurrent layers."""
    with torch.backends.cudnn.flags(enabled=False):
        layer = torch.nn.LSTM(64, 64, 2).cuda()
        out, _ = layer(torch.zeros(5, 2, 64, device="cuda"))
        out.sum().backward()
    return list(out.shape)


@case
def fsdp():
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    mesh = init_device_mesh("cuda", (8,))
    base = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    model = torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU()) for _ in range(4)]
    ).cuda()
    whole = torch.cuda.memory_allocated() - base
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.zeros(8, 1024, device="cuda")).sum().backward()
        opt.step()
        opt.zero_grad()
    sharded = sum(p.to_local().numel() * 4 for p in model.parameters())
    dist.destroy_process_group()
    return {
        "whole": whole,
        "sharded": sharded,
        "peak": torch.cuda.max_memory_allocated() - base,
        "now": torch.cuda.memory_allocated() - base,
    }


@case
def ddp():
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    size = torch.cuda.memory_allocated() - before
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])

    def hook(state, bucket):  # the fake group's futures hold nothing
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    parallel.register_comm_hook(None, hook)
    for _ in range(2):
        parallel(torch.zeros(8, 1024, device="cuda")).sum().backward()
    dist.destroy_process_group()
    return {"model": size, "peak": torch.cuda.max_memory_allocated() - before}


@case
def nccl():
    """NCCL's group of this process alone: collectives run, and what NCCL takes is noted as not
    known."""
    import torch.distributed as dist

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "0")
    dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore(), device_id=torch.device("cuda", 0))
    x = torch.ones(1024, device="cuda")
    dist.all_reduce(x)
    out = torch.empty(1024, device="cuda")
    dist.all_gather_into_tensor(out, x)
    dist.barrier()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16).cuda())
    model(torch.ones(2, 16, device="cuda")).sum().backward()
    dist.destroy_process_group()
    from memshim import pretend

    values = [x.sum().item(), out.sum().item(), [r.line for r in pretend.report().reads if r.function == "nccl"]]
    return {
        "unsized": [u.name for u in pretend.report().unsized],
        "values": values,
        "grad": model.module.weight.grad is not None,
    }


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.full((4,), float(i)), torch.tensor(torch.cuda.is_initialized())


@case
def loader():
    """Workers are forked, and hand over pinned memory."""
    torch.cuda.init()
    seen = []
    for x, initialised in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2, pin_memory=True):
        seen.append([x.is_pinned(), x.cuda(non_blocking=True).sum().item(), bool(initialised.any())])
    return seen


@case
def forked():
    """A child that wants the GPU after its parent had it: PyTorch's own refusal."""
    torch.cuda.init()
    r, w = os.pipe()
    if not (pid := os.fork()):
        try:
            torch.ones(1, device="cuda")
            text = "no error"
        except RuntimeError as e:
            text = str(e)
        os.write(w, text.encode())
        os._exit(0)
    os.close(w)
    text = os.read(r, 4096).decode()
    os.waitpid(pid, 0)
    return text


@case
def jiterator():
    return torch.special.bessel_j0(torch.ones(4, device="cuda")).shape[0]


@case
def failed_capture():
    """The last: releases before 2.10 empty no cache after it."""
    x, error = torch.zeros(64, 512, device="cuda"), ""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.sum().item()
    except Exception as e:
        error = str(e).split("\n")[0]
    return {"capture": error, "after": x.add(1).sum().item()}


if __name__ == "__main__":
    cases.run()
