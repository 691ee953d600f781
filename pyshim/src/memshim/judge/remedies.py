"""What people try where a run does not fit: each a few lines of memspec.yaml, and the same in
PyTorch. Nothing here says what it saves: advise.py runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple

from memshim.allocator.recording import Contents

NEEDS_BF16 = (8, 0)  # the compute capability from which a card computes in bfloat16
# PyTorch's optimizers that take fused=, and those that take foreach= (torch/optim)
FUSED = ("Adagrad", "Adam", "AdamW", "SGD")
FOREACH = (*FUSED, "ASGD", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")
HALVES = "16-bit"
GPUS = (2, 4, 8)  # over which a model is sharded
# classes of 8 bits by those of torch.optim, and the arguments that both take
BITSANDBYTES = ("Adagrad", "Adam", "AdamW", "RMSprop", "SGD")  # bitsandbytes/optim
TORCHAO = ("Adam", "AdamW")  # torchao/optim
TAKEN = ("lr", "betas", "eps", "weight_decay", "amsgrad", "momentum", "nesterov", "alpha", "centered")
_INPUT = re.compile(r"(?:(\w+)=)?(\w+)\[(\d+)((?:,\d+)*)\](.*)")
_PLAIN = re.compile(r"[A-Za-z_][\w.*/-]*")


class Remedy(NamedTuple):
    """kind: two of one kind exclude each other. lines: keys of a case. code: what to write in the
    program instead, "" for nothing. against: kinds beside which it cannot be. gpus: over how many it
    shards the model, by FSDP2; sharded: the names of the modules that it shards beside the model."""

    kind: str
    what: str
    lines: tuple[str, ...]
    code: str
    against: tuple[str, ...] = ()
    gpus: int = 1
    sharded: tuple[str, ...] = ()

    def beside(self, other: Remedy) -> bool:
        """Whether both can be done at once."""
        return self.kind != other.kind and other.kind not in self.against and self.kind not in other.against


def flow(value: Any) -> str:
    """YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "null")
    return value if plain else json.dumps(value, ensure_ascii=False)


def of_source(case: dict[str, Any], base: Contents, batch: str) -> list[Remedy]:
    """For a source. case: as memspec cases states it; base: its recording; batch: the dim that is
    the first size of every input and of nothing else, "" for none."""
    out: list[Remedy] = []
    step, capability = case["training"], tuple(map(int, case["device"]["compute_capability"].split(".")))
    if step:
        out += checkpoints(base, step)
    out += _precision(case, capability >= NEEDS_BF16)
    out += _smaller(case, batch)
    if step:
        out += _optimizers_of_8_bits(step) + _optimizers(step)
    if any("scaled_dot_product" in s.op for s in base.sites) and not case["flags"].get("attention"):
        out += _attention(capability)
    return [*out, *_allocator(case), *_cublas(case)]


def of_many_gpus(case: dict[str, Any], base: Contents) -> list[Remedy]:
    """FSDP2 of a training step over a few GPUs: of the repeated blocks, and of the model. Each GPU has
    the case's batch."""
    step = case["training"]
    if not step or step.get("optimizer_in_backward"):
        return []
    found = blocks(s for s in base.sites if s.category == "activation")
    lists = ", ".join(f"*model.{name}" if name else "*model" for name in found)
    code = [f"for block in [{lists}]: fully_shard(block)"] if found else []
    modules = tuple(f"{name}.*" if name else "*" for name in found)
    out = []
    for n in GPUS:
        lines = "\n".join([*code, "fully_shard(model)", f"torchrun --nproc-per-node {n} train.py"])
        out.append(Remedy("many GPUs", f"FSDP2 over {n} GPUs", (), lines, ("optimizer in backward",), n, modules))
    return out


def of_own_iteration(case: dict[str, Any]) -> list[Remedy]:
    """For a source that gives a callable, whose step is its own."""
    return [*_allocator(case), *_cublas(case)]


def of_program(case: dict[str, Any], least: dict[str, int]) -> list[Remedy]:
    """For a program, which stays as it is. least: the smallest value of each dim that may be tried."""
    set_already = case["program"]["env"]
    out = []
    for name, value in (
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128"),
        ("CUBLAS_WORKSPACE_CONFIG", ":16:8"),
    ):
        if name not in set_already and not ("CUBLAS" in name and case["cublas_workspace"]):
            what = value if "ALLOC" in name else f"cuBLAS workspace {value}"
            out.append(Remedy(name, what, (f"env: {flow({name: value})}",), f"{name}={value}"))
    for dim, value in case["dims"].items():
        for part in (2, 4, 8):
            if value % part == 0 and value // part >= least.get(dim, 1):
                line = f"dims: {flow({dim: value // part})}"
                out.append(Remedy(f"dim {dim}", f"{dim}={value // part}", (line,), f"{dim}={value // part}"))
    return out


def checkpoints(base: Contents, step: dict[str, Any]) -> list[Remedy]:
    """Activation checkpointing of the repeated blocks: all, and every second."""
    if step["checkpoint"]:
        return []
    found = blocks(s for s in base.sites if s.category == "activation")
    if not found:
        return []
    names = [f"{name}.*" if name else "*" for name in found]
    lists = ", ".join(f"*model.{name}" if name else "*model" for name in found)
    code = (
        "for block in [{}]{}: block.forward = functools.partial(torch.utils.checkpoint.checkpoint, "
        "block.forward, use_reentrant=False)"
    )
    return [
        Remedy("checkpoint", "checkpoint all blocks", (f"checkpoint: {flow(names)}",), code.format(lists, "")),
        Remedy(
            "checkpoint",
            "checkpoint every second block",
            (f"checkpoint: {flow([f'{name}[02468]' for name in names])}",),
            " ".join(code.format(f"*model.{name}" if name else "*model", "[::2]") for name in found[:1])
            if len(found) == 1
            else code.format(", ".join(f"*model.{name}[::2]" if name else "*model[::2]" for name in found), ""),
        ),
    ]


def blocks(sites: Iterable[Any]) -> list[str]:
    """The modules whose numbered children are alike: of which operators run in them, one has all that
    another has, and more than one. Outermost numbers alone."""
    ran: dict[str, dict[int, set[tuple[str, str]]]] = {}
    for s in sites:
        parts = s.module.split(".")
        at = next((i for i, part in enumerate(parts) if part.isdecimal()), None)
        if at is not None and s.op:
            held = ran.setdefault(".".join(parts[:at]), {}).setdefault(int(parts[at]), set())
            held.add((".".join(parts[at + 1 :]), s.op))
    return [name for name, children in ran.items() if _alike(list(children.values()))]


def _alike(children: list[set[tuple[str, str]]]) -> bool:
    large = [c for c in children if len(c) > 1]
    return any(a <= b for i, a in enumerate(large) for j, b in enumerate(large) if i != j)


def _precision(case: dict[str, Any], bf16: bool) -> list[Remedy]:
    if case["dtype"] in ("float16", "bfloat16") or case["autocast"]:
        return []
    half = "bfloat16" if bf16 else "float16"
    scaler = () if bf16 or not case["training"] else ("optimizer in backward",)
    code = f'with torch.autocast("cuda", dtype=torch.{half}): ' + ("loss = …" if case["training"] else "model(x)")
    code += "; torch.amp.GradScaler around the backward and the step" if scaler else ""
    out = [Remedy(HALVES, f"autocast in {half}", (f"autocast: {half}",), code, scaler)]
    if bf16 or not case["training"]:
        out.append(Remedy(HALVES, f"weights in {half}", (f"dtype: {half}",), f"model = model.to(torch.{half})"))
    return out


def _smaller(case: dict[str, Any], batch: str) -> list[Remedy]:
    """Parts of the batch one after the other; in training their gradients add up."""
    out: list[Remedy] = []
    step = case["training"]
    for parts in (2, 4):
        if batch:
            whole = case["dims"][batch]
            change, what = f"dims: {flow({batch: whole // parts})}", f"{batch}={whole // parts}"
        else:
            found = [_INPUT.fullmatch(text) for text in case["inputs"]]
            whole = int(found[0][3]) if found and found[0] else 0
            if not found or any(m is None or int(m[3]) != whole for m in found):
                return []
            texts = [(m[1] or "", f"{m[2]}[{whole // parts}{m[4]}]{m[5]}") for m in found if m]
            named = {name: text for name, text in texts}
            change = f"inputs: {flow(named if '' not in named else [text for _, text in texts])}"
            what = f"batch {whole // parts}"
        if whole % parts or whole == 0 or step and step["accumulate"] * parts > 1 << 20:
            break
        if not step:
            code = f"torch.cat([model(part) for part in x.chunk({parts})])"
            out.append(Remedy("batch", f"{what}, {parts} passes", (change,), code))
        elif not step.get("optimizer_in_backward"):
            several = step["accumulate"] * parts
            out.append(
                Remedy(
                    "batch",
                    f"{what}, accumulated {several} times",
                    (change, f"accumulate: {several}"),
                    f"for part in x.chunk({parts}): (loss_of(model(part)) / {several}).backward()",
                    ("optimizer in backward",),
                )
            )
    return out


def _optimizers(step: dict[str, Any]) -> list[Remedy]:
    name, arguments = step["optimizer"], step["arguments"]
    if not name or name == "none" or ":" in name:
        return []
    out = []

    def given(more: dict[str, Any]) -> str:
        return ", ".join(f"{k}={v!r}" for k, v in (arguments | more).items())

    if not step.get("optimizer_in_backward") and step["accumulate"] == 1 and step["clip"] is None:
        own = f"torch.optim.{name}([p]{', ' * bool(arguments)}{given({})})"
        code = (
            "for p in model.parameters(): p.register_post_accumulate_grad_hook("
            f"lambda _, one={own}: one.step() or one.zero_grad())"
        )
        kind = "optimizer in backward"
        out.append(Remedy(kind, kind, ("optimizer_in_backward: true",), code, ("batch",)))
    for key, value, takes in (("foreach", False, FOREACH), ("fused", True, FUSED)):
        if name in takes and not {"foreach", "fused", "capturable", "differentiable"} & set(arguments):
            line = f"optimizer: {flow({'name': name} | arguments | {key: value})}"
            code = f"torch.optim.{name}(model.parameters(), {given({key: value})})"
            out.append(Remedy("optimizer", f"{name} with {key}={value}", (line,), code))
    return out


def _optimizers_of_8_bits(step: dict[str, Any]) -> list[Remedy]:
    """The optimizer with a state of 8 bits, of the package that is installed."""
    name = step["optimizer"]
    package = of_8_bits(name)
    if not package or find_spec(package) is None:
        return []
    arguments = {k: v for k, v in step["arguments"].items() if k in TAKEN}
    given = "".join(f", {k}={v!r}" for k, v in arguments.items())
    whole = f"{package}.optim.{name}8bit"
    line = f"optimizer: {flow({'name': whole} | arguments)}"
    code = f"{whole}(model.parameters(){given})"
    return [Remedy("optimizer", f"{name} of 8 bits ({package})", (line,), code)]


def of_8_bits(name: str) -> str:
    """The package of an optimizer's class of 8 bits: one that is installed, else one to install; ""
    where none has it. torchao's compile their step, which takes longer."""
    found = [p for p, names in (("bitsandbytes", BITSANDBYTES), ("torchao", TORCHAO)) if name in names]
    return next((p for p in found if find_spec(p)), found[0] if found else "")


def _attention(capability: tuple[int, ...]) -> list[Remedy]:
    """One backend alone, which runs or is an error: PyTorch's flash attention begins with 8.0."""
    names = ["efficient_attention", *(["flash_attention"] if capability >= (8, 0) else [])]
    code = "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.{}): …"
    return [
        Remedy("attention", name.replace("_", " "), (f"attention: {name}",), code.format(name.upper()))
        for name in names
    ]


def _allocator(case: dict[str, Any]) -> list[Remedy]:
    if case["alloc_conf"]:
        return []
    return [
        Remedy("allocator", value, (f"alloc_conf: {flow(value)}",), f"PYTORCH_CUDA_ALLOC_CONF={value}")
        for value in ("expandable_segments:True", "max_split_size_mb:128")
    ]


def _cublas(case: dict[str, Any]) -> list[Remedy]:
    if case["cublas_workspace"]:
        return []
    value = ":16:8"
    code = f"CUBLAS_WORKSPACE_CONFIG={value}"
    return [Remedy("cublas", f"cuBLAS workspace {value}", (f"cublas_workspace: {flow(value)}",), code)]


def cards(devices: list[dict[str, Any]], case: dict[str, Any]) -> list[Remedy]:
    """Cards with more memory than the case's, the least first; none has less than a quarter more than
    the one before."""
    out: list[Remedy] = []
    last = case["device"]["memory"]
    for d in sorted((d for d in devices if d["memory"]), key=lambda d: (d["memory"], d["name"])):
        if d["memory"] > last * (1.25 if out else 1):
            last = d["memory"]
            out.append(Remedy("device", f"on {d['name']}", (f"device: {flow(d['name'])}",), ""))
    return out
