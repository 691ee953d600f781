"""Small distributed training programs, one for each strategy: what truth_ranks.py compares and tests run.

A strategy is a function of the rank and the world; it makes its groups, and takes two steps.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, TOKENS = 256, 64
STRATEGIES = {}


def strategy(function):
    STRATEGIES[function.__name__] = function
    return function


class Block(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def blocks(count=3):
    torch.manual_seed(0)
    return nn.Sequential(*[Block() for _ in range(count)]).cuda()


def train(model, clip=False, parameters=None, x=None, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(parameters or model.parameters())
    for _ in range(2):
        given = torch.randn(TOKENS, WIDTH, device="cuda") if x is None else x()
        out = model(given)
        loss = (out.to_local() if hasattr(out, "to_local") else out).square().mean()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return optimizer


def ddp(rank, world, **options):
    dist.init_process_group("nccl")
    train(nn.parallel.DistributedDataParallel(blocks(), device_ids=[torch.cuda.current_device()], **options))


strategy(ddp)
STRATEGIES["ddp, static graph"] = functools.partial(ddp, static_graph=True)
STRATEGIES["ddp, gradients as views"] = functools.partial(ddp, gradient_as_bucket_view=True)


def ddp_hook(rank, world):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    dist.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(blocks(), device_ids=[torch.cuda.current_device()])
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    train(model)


STRATEGIES["ddp, compressed gradients"] = ddp_hook


def keeps_products():
    """What activation checkpointing keeps: matrix products."""
    from torch.utils.checkpoint import create_selective_checkpoint_contexts

    return create_selective_checkpoint_contexts([torch.ops.aten.mm.default, torch.ops.aten.addmm.default])


def fsdp2(
    rank,
    world,
    reshard=None,
    mixed=False,
    offload=False,
    replicas=1,
    clip=False,
    checkpointing=None,
    compiled=False,
    prefetch=False,
    float8=False,
):
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

    shape = (replicas, world // replicas) if replicas > 1 else (world,)
    mesh = init_device_mesh("cuda", shape, mesh_dim_names=("replicate", "shard")[-len(shape) :])
    model = blocks()
    if float8:
        from torchao.float8 import Float8LinearConfig, convert_to_float8_training

        convert_to_float8_training(model, config=Float8LinearConfig(enable_fsdp_float8_all_gather=True))
    options = {"mesh": mesh}
    if reshard is not None:
        options["reshard_after_forward"] = reshard
    if mixed:
        options["mp_policy"] = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    if offload:
        options["offload_policy"] = CPUOffloadPolicy()
    for i, block in enumerate(model):
        if checkpointing is not None:
            from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

            model[i] = block = checkpoint_wrapper(block, **checkpointing)
        if compiled:
            block.compile()
        fully_shard(block, **options)
    fully_shard(model, **options)
    if prefetch:
        for at, block in enumerate(model):
            block.set_modules_to_forward_prefetch(list(model[at + 1 : at + 3]))
            block.set_modules_to_backward_prefetch(list(model[max(at - 2, 0) : at])[::-1])
    train(model, clip)


strategy(fsdp2)
for name, options in {
    "no resharding": {"reshard": False},
    "resharding to 2": {"reshard": 2},
    "mixed precision": {"mixed": True},
    "CPU offload": {"offload": True},
    "replicas (HSDP)": {"replicas": 2},
    "prefetching": {"prefetch": True},
    "clipping": {"clip": True},
    "checkpointing": {"checkpointing": {}},
    "selective checkpointing": {"checkpointing": {"context_fn": keeps_products}},
    "compiled": {"compiled": True},
    "compiled, selective checkpointing": {"compiled": True, "checkpointing": {"context_fn": keeps_products}},
    **({"float8, all-gathered": {"float8": True}} if importlib.util.find_spec("torchao") else {}),
}.items():
    STRATEGIES[f"fsdp2, {name}"] = functools.partial(fsdp2, **options)


def tensor_parallel(rank, world, sequence=False, shards=1, compiled=False, clip=False, asynchronous=False):
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

    mesh = init_device_mesh("cuda", (shards, world // shards), mesh_dim_names=("dp", "tp"))
    model = blocks()
    if asynchronous:  # parts of a product beside the messages for the next, in symmetric memory
        from torch._inductor import config
        from torch.distributed import _symmetric_memory

        config._micro_pipeline_tp = True
        _symmetric_memory.enable_symm_mem_for_group(mesh["tp"].get_group().group_name)
    for block in model:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        if sequence:
            plan = {
                "norm": SequenceParallel(sequence_dim=0),
                "up": ColwiseParallel(input_layouts=Shard(0)),
                "down": RowwiseParallel(output_layouts=Shard(0)),
            }
        parallelize_module(block, mesh["tp"], plan)
        if compiled:
            block.compile()
    if shards > 1:
        for block in model:
            fully_shard(block, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    tokens = TOKENS // mesh["tp"].size() if sequence else TOKENS
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)  # plain parameters beside DTensors
    train(model, clip, optimizer=optimizer, x=lambda: torch.randn(tokens, WIDTH, device="cuda"))


STRATEGIES["tensor parallel"] = tensor_parallel
STRATEGIES["tensor and sequence parallel"] = functools.partial(tensor_parallel, sequence=True)
STRATEGIES["tensor parallel, compiled"] = functools.partial(tensor_parallel, compiled=True)
STRATEGIES["tensor parallel, compiled, asynchronous"] = functools.partial(
    tensor_parallel, sequence=True, compiled=True, asynchronous=True
)
STRATEGIES["fsdp2 and tensor parallel"] = functools.partial(tensor_parallel, shards=2)
STRATEGIES["fsdp2, tensor and sequence parallel, clipping"] = functools.partial(
    tensor_parallel, sequence=True, shards=2, clip=True
)


def symmetric(rank, world):
    """Products beside messages, and sums, in symmetric memory."""
    from torch.distributed import _symmetric_memory

    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    name = dist.group.WORLD.group_name
    _symmetric_memory.enable_symm_mem_for_group(name)
    a, b = (torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(2):
        every, products = torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, name)
        part = torch.ops.symm_mem.fused_matmul_reduce_scatter(products[0], b, "sum", 0, name)
        assert (every.shape[0], part.shape) == (world * WIDTH, a.shape)
    shared = _symmetric_memory.empty(WIDTH, device="cuda")
    handle = _symmetric_memory.rendezvous(shared, name)
    handle.barrier()
    torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", name)


STRATEGIES["symmetric memory"] = symmetric


def loss_parallel(rank, world):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module

    mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("tp",))
    model = nn.Sequential(Block(), nn.Linear(WIDTH, 1024)).cuda()
    parallelize_module(model, mesh, {"1": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for _ in range(2):
        with loss_parallel():
            out = model(torch.randn(TOKENS, WIDTH, device="cuda"))
            loss = nn.functional.cross_entropy(out, torch.zeros(TOKENS, dtype=torch.long, device="cuda"))
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


STRATEGIES["loss parallel"] = loss_parallel


def context_parallel(rank, world):
    from torch.distributed.tensor.experimental import context_parallel
    from torch.nn.attention import SDPBackend, sdpa_kernel

    mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("cp",))
    heads = nn.Linear(64, 3 * 64).cuda().bfloat16()
    optimizer = torch.optim.AdamW(heads.parameters())
    for _ in range(2):
        x = torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16)
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), context_parallel(mesh, buffers=(x,), buffer_seq_dims=(2,)):
            q, k, v = heads(x).chunk(3, -1)
            nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


STRATEGIES["context parallel"] = context_parallel


def pipeline(rank, world, schedule="Schedule1F1B", each=1, static=False):
    from torch.distributed import pipelining
    from torch.distributed.pipelining import schedules

    mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("pp",))
    total = world * each
    its = [rank + world * i for i in range(each)]
    if schedule in ("ScheduleZBVZeroBubble", "ScheduleDualPipeV"):
        its = [rank, total - 1 - rank]
    models = [blocks(1 + at % 2) for at in its]
    given = {}
    if static:
        meta = torch.empty(TOKENS // 4, WIDTH, device="meta")
        out = meta.clone().requires_grad_()  # torch 2.15 derives from it that gradients arrive
        given = {"input_args": (out if rank else meta,), "output_args": (out,)}
    stages = [
        pipelining.PipelineStage(m, at, total, torch.device("cuda"), group=mesh.get_group("pp"), **given)
        for m, at in zip(models, its)
    ]

    def loss(out, target):
        return (out - target).square().mean()

    its_schedule = getattr(schedules, schedule)(
        stages if issubclass(getattr(schedules, schedule), schedules.PipelineScheduleMulti) else stages[0],
        n_microbatches=4,
        loss_fn=loss,
    )
    optimizer = torch.optim.AdamW([p for m in models for p in m.parameters()])
    for _ in range(2):
        x = torch.randn(TOKENS, WIDTH, device="cuda")
        its_schedule.step(*([x] if 0 in its else []), **({"target": x} if total - 1 in its else {}))
        optimizer.step()
        optimizer.zero_grad()


STRATEGIES["pipeline, GPipe"] = functools.partial(pipeline, schedule="ScheduleGPipe")
STRATEGIES["pipeline, 1F1B"] = pipeline
STRATEGIES["pipeline, 1F1B, static shapes"] = functools.partial(pipeline, static=True)
STRATEGIES["pipeline, interleaved"] = functools.partial(pipeline, schedule="ScheduleInterleaved1F1B", each=2)
STRATEGIES["pipeline, zero bubble"] = functools.partial(pipeline, schedule="ScheduleInterleavedZeroBubble", each=2)
STRATEGIES["pipeline, zero bubble V"] = functools.partial(pipeline, schedule="ScheduleZBVZeroBubble", each=2)
STRATEGIES["pipeline, DualPipe V"] = functools.partial(pipeline, schedule="ScheduleDualPipeV", each=2)


def fsdp1(rank, world, states=False, **options):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    dist.init_process_group("nccl")
    model = FullyShardedDataParallel(
        blocks(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.cuda.current_device(), **options
    )
    # a pickle of a tensor, as of Adam's step, has an address in it: its length is not the same in each process
    optimizer = train(model, optimizer=torch.optim.SGD(model.parameters(), momentum=0.9) if states else None)
    if states:
        found = FullyShardedDataParallel.optim_state_dict(model, optimizer)["state"]
        shapes = {name: p.shape for name, p in blocks().named_parameters()}
        assert {name: s["momentum_buffer"].shape for name, s in found.items()} == shapes


strategy(fsdp1)
STRATEGIES["fsdp1, flat parameters kept"] = functools.partial(fsdp1, use_orig_params=True)
STRATEGIES["fsdp1, optimizer's states gathered"] = functools.partial(fsdp1, use_orig_params=True, states=True)


def zero_redundancy(rank, world):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    dist.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(blocks(), device_ids=[torch.cuda.current_device()])
    train(model, optimizer=ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW))


STRATEGIES["ZeroRedundancyOptimizer"] = zero_redundancy


class Experts(nn.Module):
    """Tokens go to the ranks of their experts and come back."""

    def __init__(self, world):
        super().__init__()
        self.router, self.expert, self.world = nn.Linear(WIDTH, world), Block(), world

    def forward(self, x):
        from torch.distributed._functional_collectives import all_to_all_single, all_to_all_single_autograd

        chosen = self.router(x).argmax(-1)
        order = chosen.argsort()
        counts = torch.bincount(chosen, minlength=self.world)
        arriving = all_to_all_single(counts, None, None, dist.group.WORLD)
        out, into = counts.tolist(), torch.ops._c10d_functional.wait_tensor(arriving).tolist()
        tokens = all_to_all_single_autograd(x[order], into, out, dist.group.WORLD)
        back = all_to_all_single_autograd(self.expert(tokens), out, into, dist.group.WORLD)
        return torch.zeros_like(x).index_add(0, order, back)


def expert_parallel(rank, world):
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    train(Experts(world).cuda())


STRATEGIES["expert parallel"] = expert_parallel


def checkpoint(rank, world):
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("shard",))
    model = blocks()
    fully_shard(model, mesh=mesh)
    optimizer = train(model)
    folder = os.environ.get("CHECKPOINT") or tempfile.mkdtemp()
    parts, state = get_state_dict(model, optimizer)
    checkpoint.save({"model": parts, "optimizer": state}, checkpoint_id=folder)


STRATEGIES["distributed checkpoint"] = checkpoint


def mixed_backends(rank, world):
    dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    train(nn.parallel.DistributedDataParallel(blocks(), device_ids=[torch.cuda.current_device()]))
    total = torch.ones(2)
    dist.all_reduce(total)
    dist.barrier()
    objects = [{"from": 0} if rank == 0 else None]
    dist.broadcast_object_list(objects, 0)
    assert objects == [{"from": 0}]


STRATEGIES["gloo beside NCCL"] = mixed_backends
