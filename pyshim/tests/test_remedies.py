"""What is tried where a run does not fit: kinds, lines of memspec.yaml, code, and what excludes what."""

import pytest

from memshim.allocator.recording import Contents, Site
from memshim.judge import remedies

STEP = {"optimizer": "AdamW", "arguments": {}, "accumulate": 1, "clip": None, "checkpoint": None}
CASE = {
    "device": {"name": "t4", "memory": 16, "compute_capability": "7.5"}, "training": STEP, "dtype": "", "autocast": "",
    "dims": {"B": 8}, "inputs": ["float32[8,4]"], "flags": {}, "alloc_conf": "", "cublas_workspace": "",
}  # fmt: skip
BLOCKS = [Site(op, f"h.{n}") for n in range(2) for op in ("mm", "gelu")]


def contents(*sites):
    return Contents({}, list(sites), [])


def of_source(case=(), sites=(), batch="B"):
    return remedies.of_source(CASE | dict(case), contents(*sites), batch)


def of_kind(kind, found):
    return [(r.what, r.lines, r.code, r.against) for r in found if r.kind == kind]


def step(**more):
    return {"training": STEP | more}


@pytest.fixture(autouse=True)
def nothing_of_8_bits(monkeypatch):
    monkeypatch.setattr(remedies, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    "value, text",
    [
        ({"a": [1, "x", True]}, "{a: [1, x, true]}"),
        ("h.*/x-1", "h.*/x-1"),
        ("float32[4]", '"float32[4]"'),
        ("True", '"True"'),
        ("null", '"null"'),
        ("1a", '"1a"'),
        (0.5, "0.5"),
        ("é x", '"é x"'),
    ],
)
def test_yaml_on_one_line(value, text):
    assert remedies.flow(value) == text


def test_halves_of_a_training_step():
    (autocast,) = of_kind(remedies.HALVES, of_source())
    assert autocast == (
        "autocast in float16",
        ("autocast: float16",),
        'with torch.autocast("cuda", dtype=torch.float16): loss = …; torch.amp.GradScaler around the backward and the '
        "step",
        ("optimizer in backward",),
    )
    ampere = {"device": CASE["device"] | {"compute_capability": "8.0"}}
    assert of_kind(remedies.HALVES, of_source(ampere)) == [
        (
            "autocast in bfloat16",
            ("autocast: bfloat16",),
            'with torch.autocast("cuda", dtype=torch.bfloat16): loss = …',
            (),
        ),
        ("weights in bfloat16", ("dtype: bfloat16",), "model = model.to(torch.bfloat16)", ()),
    ]


def test_halves_of_a_forward():
    found = of_kind(remedies.HALVES, of_source({"training": None}))
    assert [(what, code, against) for what, _, code, against in found] == [
        ("autocast in float16", 'with torch.autocast("cuda", dtype=torch.float16): model(x)', ()),
        ("weights in float16", "model = model.to(torch.float16)", ()),
    ]


@pytest.mark.parametrize("set_already", [{"dtype": "float16"}, {"dtype": "bfloat16"}, {"autocast": "float16"}])
def test_a_half_of_a_half_is_not_tried(set_already):
    assert of_kind(remedies.HALVES, of_source(set_already)) == []
    assert of_kind(remedies.HALVES, of_source({"dtype": "float64"}))


def test_a_smaller_batch_of_a_training_step():
    half, quarter = of_kind("batch", of_source(step(accumulate=3)))
    assert half == (
        "B=4, accumulated 6 times",
        ("dims: {B: 4}", "accumulate: 6"),
        "for part in x.chunk(2): (loss_of(model(part)) / 6).backward()",
        ("optimizer in backward",),
    )
    assert quarter[:2] == ("B=2, accumulated 12 times", ("dims: {B: 2}", "accumulate: 12"))


def test_a_smaller_batch_of_a_forward():
    assert of_kind("batch", of_source({"training": None})) == [
        ("B=4, 2 passes", ("dims: {B: 4}",), "torch.cat([model(part) for part in x.chunk(2)])", ()),
        ("B=2, 4 passes", ("dims: {B: 2}",), "torch.cat([model(part) for part in x.chunk(4)])", ()),
    ]


@pytest.mark.parametrize(
    "case, whats",
    [
        ({"dims": {"B": 6}}, ["B=3"]),
        ({"dims": {"B": 7}}, []),
        ({"dims": {"B": 0}}, []),
        (step(accumulate=1 << 18), ["B=4", "B=2"]),
        (step(accumulate=1 << 19), ["B=4"]),
        (step(accumulate=(1 << 19) + 1), []),
        (step(optimizer_in_backward=True), []),
    ],
)
def test_a_batch_that_has_no_half(case, whats):
    assert [what.partition(",")[0] for what, *_ in of_kind("batch", of_source(case))] == whats


@pytest.mark.parametrize(
    "inputs, lines",
    [
        (["float32[8,4]"], ['inputs: ["float32[4,4]"]', 'inputs: ["float32[2,4]"]']),
        (["x=float32[8] cpu", "y=int64[8,2]"], ['inputs: {x: "float32[4] cpu", y: "int64[4,2]"}',
         'inputs: {x: "float32[2] cpu", y: "int64[2,2]"}']),
        (["float32[8]", "y=int64[8]"], ['inputs: ["float32[4]", "int64[4]"]', 'inputs: ["float32[2]", "int64[2]"]']),
        (["x=float32[8]", "y=int64[3]"], []),
        (["x=float32[8]", "y=3"], []),
        (["y=3", "x=float32[8]"], []),
        ([], []),
    ],
)  # fmt: skip
def test_a_smaller_batch_of_inputs_without_dims(inputs, lines):
    found = of_kind("batch", of_source({"inputs": inputs}, batch=""))
    assert [line for _, (line, *_), *_ in found] == lines
    assert [what.partition(",")[0] for what, *_ in found] == ["batch 4", "batch 2"][: len(lines)]


def test_an_optimizer_in_the_backward():
    (found,) = of_kind("optimizer in backward", of_source(step(arguments={"lr": 0.1})))
    assert found == (
        "optimizer in backward",
        ("optimizer_in_backward: true",),
        "for p in model.parameters(): p.register_post_accumulate_grad_hook(lambda _, one=torch.optim.AdamW([p], "
        "lr=0.1): one.step() or one.zero_grad())",
        ("batch",),
    )
    assert "torch.optim.AdamW([p]):" in of_kind("optimizer in backward", of_source())[0][2]
    for other in ({"optimizer_in_backward": True}, {"accumulate": 2}, {"clip": 1.0}):
        assert of_kind("optimizer in backward", of_source(step(**other))) == []


def test_implementations_of_an_optimizer():
    found = of_kind("optimizer", of_source(step(arguments={"lr": 0.1})))
    assert found == [
        (
            "AdamW with foreach=False",
            ("optimizer: {name: AdamW, lr: 0.1, foreach: false}",),
            "torch.optim.AdamW(model.parameters(), lr=0.1, foreach=False)",
            (),
        ),
        (
            "AdamW with fused=True",
            ("optimizer: {name: AdamW, lr: 0.1, fused: true}",),
            "torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)",
            (),
        ),
    ]
    assert [w for w, *_ in of_kind("optimizer", of_source(step(optimizer="RMSprop")))] == ["RMSprop with foreach=False"]
    for name in ("", "none", "opt.py:Own", "LBFGS"):
        assert of_kind("optimizer", of_source(step(optimizer=name))) == []
    for name in ("foreach", "fused", "capturable", "differentiable"):
        assert of_kind("optimizer", of_source(step(arguments={name: False}))) == []


def test_an_optimizer_of_8_bits(monkeypatch):
    monkeypatch.setattr(remedies, "find_spec", lambda name: name if name == "torchao" else None)
    own = step(arguments={"lr": 0.1, "foreach": False})
    assert of_kind("optimizer", of_source(own)) == [
        (
            "AdamW of 8 bits (torchao)",
            ("optimizer: {name: torchao.optim.AdamW8bit, lr: 0.1}",),
            "torchao.optim.AdamW8bit(model.parameters(), lr=0.1)",
            (),
        )
    ]
    assert [remedies.of_8_bits(n) for n in ("AdamW", "SGD", "Adadelta")] == ["torchao", "bitsandbytes", ""]
    assert not [w for w, *_ in of_kind("optimizer", of_source(step(optimizer="SGD"))) if "8 bits" in w]


def test_blocks_are_checkpointed():
    assert of_kind("checkpoint", of_source(sites=BLOCKS)) == [
        (
            "checkpoint all blocks",
            ("checkpoint: [h.*]",),
            "for block in [*model.h]: block.forward = functools.partial(torch.utils.checkpoint.checkpoint, "
            "block.forward, use_reentrant=False)",
            (),
        ),
        (
            "checkpoint every second block",
            ('checkpoint: ["h.*[02468]"]',),
            "for block in [*model.h][::2]: block.forward = functools.partial(torch.utils.checkpoint.checkpoint, "
            "block.forward, use_reentrant=False)",
            (),
        ),
    ]
    both = [*BLOCKS, *(s._replace(module=s.module.replace("h.", "")) for s in BLOCKS)]
    all_, second = of_kind("checkpoint", of_source(sites=both))
    assert (all_[1], second[1]) == (('checkpoint: [h.*, "*"]',), ('checkpoint: ["h.*[02468]", "*[02468]"]',))
    assert "[*model.h, *model]:" in all_[2] and "[*model.h[::2], *model[::2]]:" in second[2]


def test_blocks_are_those_of_activations_of_a_step():
    assert of_kind("checkpoint", of_source(step(checkpoint={"modules": ["h"]}), BLOCKS)) == []
    assert of_kind("checkpoint", of_source({"training": None}, BLOCKS)) == []
    assert of_kind("checkpoint", of_source(sites=[s._replace(category="gradient") for s in BLOCKS])) == []
    assert of_kind("checkpoint", of_source()) == []


def test_backends_of_attention():
    attention = [Site("aten::_scaled_dot_product_attention", "h")]
    found = of_kind("attention", of_source(sites=attention))
    code = "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION): …"
    assert found == [("efficient attention", ("attention: efficient_attention",), code, ())]
    ampere = {"device": CASE["device"] | {"compute_capability": "8.0"}}
    assert [w for w, *_ in of_kind("attention", of_source(ampere, attention))] == [
        "efficient attention",
        "flash attention",
    ]
    assert of_kind("attention", of_source({"flags": {"attention": "math"}}, attention)) == []
    assert of_kind("attention", of_source(sites=BLOCKS)) == []


def test_settings_of_the_allocator_and_of_cublas():
    conf = [
        (f"{value}", (f'alloc_conf: "{value}"',), f"PYTORCH_CUDA_ALLOC_CONF={value}", ())
        for value in ("expandable_segments:True", "max_split_size_mb:128")
    ]
    cublas = [("cuBLAS workspace :16:8", ('cublas_workspace: ":16:8"',), "CUBLAS_WORKSPACE_CONFIG=:16:8", ())]
    found = remedies.of_own_iteration(CASE)
    assert (of_kind("allocator", found), of_kind("cublas", found)) == (conf, cublas)
    assert of_source()[-3:] == found
    assert remedies.of_own_iteration(CASE | {"alloc_conf": "x", "cublas_workspace": "y"}) == []


def test_a_model_over_several_gpus():
    found = remedies.of_many_gpus(CASE, contents(*BLOCKS))
    assert [(r.kind, r.what, r.lines, r.against, r.gpus, r.sharded) for r in found] == [
        ("many GPUs", f"FSDP2 over {n} GPUs", (), ("optimizer in backward",), n, ("h.*",)) for n in (2, 4, 8)
    ]
    assert found[0].code.splitlines() == [
        "for block in [*model.h]: fully_shard(block)",
        "fully_shard(model)",
        "torchrun --nproc-per-node 2 train.py",
    ]
    (plain, *_) = remedies.of_many_gpus(CASE, contents())
    assert plain.code.splitlines() == ["fully_shard(model)", "torchrun --nproc-per-node 2 train.py"]
    assert remedies.of_many_gpus(CASE | {"training": None}, contents(*BLOCKS)) == []
    assert remedies.of_many_gpus(CASE | step(optimizer_in_backward=True), contents(*BLOCKS)) == []


def test_a_program_is_tried_with_smaller_dims():
    program = {"program": {"env": {}}, "cublas_workspace": "x", "dims": {"N": 12, "M": 2}}
    found = remedies.of_program(program, {"N": 3})
    assert [(r.kind, r.what, r.lines, r.code) for r in found[2:]] == [
        ("dim N", "N=6", ("dims: {N: 6}",), "N=6"),
        ("dim N", "N=3", ("dims: {N: 3}",), "N=3"),
        ("dim M", "M=1", ("dims: {M: 1}",), "M=1"),
    ]
    assert [(r.kind, r.what) for r in found[:2]] == [
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128"),
    ]
    program |= {"cublas_workspace": "", "dims": {}}
    assert remedies.of_program(program, {})[2][:4] == (
        "CUBLAS_WORKSPACE_CONFIG",
        "cuBLAS workspace :16:8",
        ('env: {CUBLAS_WORKSPACE_CONFIG: ":16:8"}',),
        "CUBLAS_WORKSPACE_CONFIG=:16:8",
    )


def test_larger_cards_are_a_quarter_apart():
    devices = [
        {"name": n, "memory": m} for n, m in (("none", 0), ("d", 40), ("a", 16), ("c", 25), ("b", 20), ("e", 17))
    ]
    found = remedies.cards(devices, CASE)
    assert [(r.kind, r.what, r.lines, r.code) for r in found] == [
        ("device", f"on {n}", (f"device: {n}",), "") for n in ("e", "c", "d")
    ]
    exact = [{"name": "x", "memory": 20}, {"name": "y", "memory": 25}]
    assert [r.what for r in remedies.cards(exact, CASE)] == ["on x"]


@pytest.mark.parametrize("value, parts", [(16, [8, 4, 2]), (18, [9]), (2, [1]), (7, [])])
def test_dims_of_a_program_are_halved_up_to_three_times(value, parts):
    found = remedies.of_program({"program": {"env": {}}, "cublas_workspace": "", "dims": {"N": value}}, {})
    assert [r.what for r in found if r.kind == "dim N"] == [f"N={part}" for part in parts]


@pytest.mark.parametrize(
    "one, other, beside",
    [
        (("a", ()), ("b", ()), True),
        (("a", ()), ("a", ()), False),
        (("a", ("b",)), ("b", ()), False),
        (("a", ("c",)), ("b", ("d",)), True),
    ],
)
def test_what_excludes_what_holds_both_ways(one, other, beside):
    first, second = (remedies.Remedy(kind, kind, (), "", against) for kind, against in (one, other))
    assert (first.beside(second), second.beside(first)) == (beside, beside)


@pytest.mark.parametrize("name, runs", [("", False), ("none", False), ("opt.py:Own", False), ("LBFGS", True)])
def test_only_an_optimizer_of_pytorch_is_run_in_the_backward(name, runs):
    assert bool(of_kind("optimizer in backward", of_source(step(optimizer=name)))) is runs
