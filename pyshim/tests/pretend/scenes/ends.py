"""Programs whose sizes depend on values: with real values on the CPU, and on the pretend GPU in
each mode. What a case returns are its sizes.

python ends.py [CASE ...] prints {case: {"real": [sizes of a seed, ...], "balanced": sizes, "least":
..., "most": ..., "skewed": ...}}, as one line; with --lines a line a case, each when it is done.
Without names, the quick ones; all with --all, quick ones first. Cases of models need transformers
and torchvision."""

import json
import sys
import time

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from memshim.pretend import values

CASES, QUICK = {}, []
COUNTED = ("nonzero", "_unique2", "masked_select", "nms", "unique_dim", "unique_consecutive")
SEEDS = 3


def case(f=None, quick=True, name=None):
    def register(f):
        CASES[name or f.__name__] = f
        if quick:
            QUICK.append(name or f.__name__)
        return f

    return register(f) if f else register


class Counts(TorchDispatchMode):
    """How many rows the operators have found whose results have a size by value."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        out = f(*args, **(kwargs or {}))
        if f._schema.name.partition("::")[2] in COUNTED:
            self.rows.append((out[0] if isinstance(out, tuple) else out).shape[0])
        return out


class Saved(torch.autograd.graph.saved_tensors_hooks):
    """The bytes of the storages that autograd keeps for the backward pass."""

    def __init__(self):
        self.bytes, self.kept = {}, []
        super().__init__(self.pack, lambda t: t)

    def __enter__(self):
        super().__enter__()
        return self

    def pack(self, t):
        storage = t.untyped_storage()
        if id(storage) not in self.bytes:
            self.kept.append(storage)
            self.bytes[id(storage)] = storage.nbytes()
        return t


# ---- mixtures of experts ----

SMALL = dict(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=128,
    head_dim=16,
    max_position_embeddings=128,
    pad_token_id=0,
    attn_implementation="eager",
)
FAMILIES = {
    "Mixtral": dict(num_local_experts=8, num_experts_per_tok=2),
    "Qwen2Moe": dict(
        num_experts=8, num_experts_per_tok=4, moe_intermediate_size=32, shared_expert_intermediate_size=64
    ),
    "Qwen3Moe": dict(num_experts=16, num_experts_per_tok=4, moe_intermediate_size=32),
    "Olmoe": dict(num_experts=16, num_experts_per_tok=8),
    "DeepseekV3": dict(
        n_routed_experts=16,
        num_experts_per_tok=4,
        n_group=4,
        topk_group=2,
        moe_intermediate_size=32,
        first_k_dense_replace=1,
        q_lora_rank=32,
        kv_lora_rank=32,
        qk_rope_head_dim=16,
        qk_nope_head_dim=16,
        v_head_dim=16,
        num_key_value_heads=4,
    ),
    "GptOss": dict(num_local_experts=8, num_experts_per_tok=2, layer_types=["full_attention", "sliding_attention"]),
}
TOKENS = 2, 32


def drawn(model):
    """Weights that no kernel computed: of a tiny model that was initialised on the CPU all is
    known, and routed as it really is."""
    for p in model.parameters():
        p.data.normal_(std=0.05)


def experts(family, implementation, device):
    import transformers

    config = getattr(transformers, f"{family}Config")(**SMALL | FAMILIES[family])
    config._experts_implementation = implementation
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", experts_implementation=implementation
    ).to(device)
    drawn(model)
    ids = torch.randint(3, 128, TOKENS, device="cpu").to(device)
    with Saved() as saved, Counts() as counts:
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
    loose = sum(p.numel() for p in model.parameters() if p.requires_grad and p.grad is None)
    layers = sum("experts" in n and n.endswith("down_proj") for n, _ in model.named_parameters())
    out = {"saved": sum(saved.bytes.values()), "rows": sum(counts.rows), "without gradient": loose}
    if implementation == "eager":  # first how many experts have tokens, then how many tokens each of them has, a layer
        rows, shares = list(counts.rows), []
        for _ in range(layers):
            hit = rows.pop(0)
            shares.append([rows.pop(0) for _ in range(hit)])
        out |= {
            "routed": sum(map(sum, shares)),
            "most of an expert": max(map(max, shares)),
            "experts hit": sum(map(len, shares)),
        }
        count = next(
            n for n in (getattr(config, k, None) for k in ("num_local_experts", "num_experts", "n_routed_experts")) if n
        )
        out["_uneven"] = max(max(s) - (min(s) if len(s) == count else 0) for s in shares)
        out["_expected"] = layers * TOKENS[0] * TOKENS[1] * config.num_experts_per_tok
        assert not rows
    return out


for family in FAMILIES:
    for implementation in ("eager", "batched_mm", "grouped_mm"):
        case(
            lambda device, f=family, i=implementation: experts(f, i, device),
            (family, implementation) in (("Mixtral", "eager"), ("Mixtral", "grouped_mm")),
            f"{family} {implementation}",
        )


@case
def own_experts(device):
    """A loop over all experts, as most people write it, with a bias against full ones."""
    x, router = torch.randn(96, 32, device=device), nn.Linear(32, 6, device=device)
    weights = [nn.Linear(32, 32, device=device) for _ in range(6)]
    index = torch.topk(router(x).softmax(-1), 2).indices
    out, rows = torch.zeros_like(x), []
    for e, expert in enumerate(weights):
        mask = (index == e).any(-1)
        if mask.any():
            out[mask] += expert(x[mask])
        rows.append(int(mask.sum()))
    return {"routed": sum(rows), "most of an expert": max(rows), "_uneven": max(rows) - min(rows), "_expected": 192}


@case
def capacity(device):
    """Switch: what an expert cannot take is dropped."""
    x, router = torch.randn(128, 32, device=device), nn.Linear(32, 8, device=device)
    mask = nn.functional.one_hot(router(x).argmax(-1), 8)
    kept = (mask.cumsum(0) * mask <= 16) & (mask > 0)
    return {"kept": sum(x[kept[:, e]].shape[0] for e in range(8)), "used": int((mask.sum(0) > 0).sum())}


# ---- detectors ----


def detect(name, device, **options):
    import torchvision

    model = (
        getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, **options).eval().to(device)
    )
    drawn(model)
    with torch.no_grad(), Counts() as counts:
        found = model([torch.rand(3, 160, 192, device="cpu").to(device)])
    return {"rows": sum(counts.rows), "boxes": len(found[0]["boxes"])}


for name in (
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "retinanet_resnet50_fpn",
    "ssdlite320_mobilenet_v3_large",
    "maskrcnn_resnet50_fpn",
):
    case(lambda device, n=name: detect(n, device), False, name)


@case
def nms(device):
    import torchvision

    boxes = torch.rand(200, 4, device=device).mul(50).add(torch.tensor([0, 0, 50, 50], device=device))
    scores = torch.rand(200, device=device)
    likely = scores > 0.3
    keep = torchvision.ops.nms(boxes[likely], scores[likely], 0.5)
    return {"likely": int(likely.sum()), "kept": keep.shape[0]}


# ---- lengths and masks ----


@case
def packed(device):
    """Lengths that the host wrote are exact, others have two ends."""
    given = (torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]], device=device) != 0).sum(1)
    drawn = torch.randint(1, 9, (4,), device=device)
    x = torch.randn(4, 8, 5, device=device)
    pack = lambda x, n: nn.utils.rnn.pack_padded_sequence(
        x, n.cpu(), batch_first=True, enforce_sorted=False
    ).data.shape[0]
    return {
        "exact given": pack(x[:2], given),
        "drawn": pack(x, drawn),
        "repeated": torch.repeat_interleave(x, drawn, 0).shape[0] // 4,
    }


@case
def masked(device):
    x = torch.randn(64, 33, device=device)
    odd = x[(x > 0.5) | (x < -2)]
    return {
        "selected": x[x > 0].shape[0],
        "both": odd.shape[0],
        "where": torch.where(x.mean(1) < 0)[0].shape[0],
        "unique": torch.unique(x.argmax(1)).shape[0],
        "counted": torch.bincount(x.abs().argmax(1)).shape[0],
        "buckets": int(torch.bucketize(x[:, 0], torch.linspace(-1, 1, 5, device=device)).max()),
    }


@case
def shuffled(device):
    """A masked autoencoder's: what is kept has a size that the host knows."""
    noise = torch.rand(4, 49, device=device)
    keep = noise.argsort(1)[:, :12]
    mask = torch.ones(4, 49, device=device).scatter_(1, keep, 0.0)
    return {
        "exact hidden": int(mask.sum()),
        "exact again": torch.nonzero(mask).shape[0],
        "exact order": int(keep.argsort(1).sum()),
        "exact perm": int(torch.randperm(9, device=device).sum()),
    }


# ---- branches and loops ----


@case
def branch(device):
    y = nn.Linear(64, 64, device=device)(torch.randn(8, 64, device=device)).abs() + 1
    return {"bytes": (torch.cat([y] * 100) if y.mean() > 0.5 else y).nbytes}


@case
def other_branch(device):
    y = nn.Linear(64, 64, device=device)(torch.randn(8, 64, device=device))
    return {"bytes": (torch.cat([y] * 3) if y.mean().item() < 0.5 else y).nbytes}


@case
def below_zero(device):
    y = -nn.Linear(64, 64, device=device)(torch.randn(8, 64, device=device)).abs() - 1
    return {"bytes": (torch.cat([y] * 3) if y.mean().item() < 0 else y).nbytes}


@case
def between(device):
    y = torch.randn(8, 64, device=device).abs()
    return {"bytes": (torch.cat([y] * 3) if 0.1 < y.mean().item() < 10 else y).nbytes}


@case
def early_exit(device):
    x, layers, done = torch.randn(4, 32, device=device), [nn.Linear(32, 32, device=device) for _ in range(12)], 0
    for layer in layers:
        x, done = torch.tanh(layer(x)) * 2, done + 1
        if x.softmax(-1).amax(-1).max() > 0.3:
            break
    return {"layers": done}


@case
def scaler(device):
    """The state of an optimizer whose step the scaler skips, or not."""
    net = nn.Linear(32, 32, device=device)
    optimizer, grads = torch.optim.Adam(net.parameters()), torch.amp.GradScaler(device, init_scale=2.0)
    loss = net(torch.randn(4, 32, device=device)).sum() / (torch.rand((), device=device) - 0.5).relu()
    grads.scale(loss).backward()
    grads.step(optimizer)
    grads.update()
    return {"state": sum(t.numel() for s in optimizer.state.values() for t in s.values())}


@case
def sampling(device):
    """Tokens are drawn until one ends the text."""
    table, tokens, steps = torch.randn(500, 500, device=device), torch.tensor([3], device=device), 0
    while steps < 20:
        steps += 1
        scores = table[tokens[-1]]
        ordered, order = torch.sort(scores, descending=True)
        drop = ordered.softmax(-1).cumsum(-1) > 0.9
        scores = scores.masked_fill(drop.scatter(0, order, drop), -1e9)
        tokens = torch.cat([tokens, torch.multinomial(scores.softmax(-1), 1)])
        if tokens[-1] == 499:
            break
    return {"tokens": len(tokens), "unique": tokens.unique().shape[0]}


def generated(device, ends=7, **options):
    import transformers

    config = transformers.GPT2Config(
        vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=ends, pad_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval().to(device)
    drawn(model)
    ids = torch.randint(2, 60, (2, 5), device="cpu").to(device)
    text = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, **options)
    return {"length": text.shape[1]}


GENERATED = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "top_p": 0.9},
    "beam search": {"num_beams": 3, "do_sample": False},
    "beam sampling": {"num_beams": 3, "do_sample": True},
}
for name, options in GENERATED.items():
    for ends in (7, 63):
        case(lambda device, o=options, e=ends: generated(device, e, **o), True, f"generate, {name}, ends with {ends}")


def look(name):
    seen = {"real": []}
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        seen["real"].append(CASES[name]("cpu"))
    for mode in values.modes.MODES:
        values.installed().choose(mode)
        torch.manual_seed(0)
        try:
            seen[mode] = CASES[name]("cuda")
        except Exception as e:
            seen[mode] = {"error": f"{type(e).__name__}: {e}"}
    values.installed().choose(values.modes.BALANCED)
    return seen


if __name__ == "__main__":
    names = [n for n in sys.argv[1:] if not n.startswith("--")] or QUICK
    if "--all" in sys.argv:
        names = [*QUICK, *(n for n in CASES if n not in QUICK)]
    found = {}
    for name in names:
        start = time.perf_counter()
        try:
            found[name] = look(name)
        except Exception as e:
            found[name] = {"error": f"{type(e).__name__}: {e}"}
        print(f"{name}: {time.perf_counter() - start:.2f} s", file=sys.stderr)
        if "--lines" in sys.argv:
            print(json.dumps({name: found[name]}), flush=True)
    if "--lines" not in sys.argv:
        print(json.dumps(found))
