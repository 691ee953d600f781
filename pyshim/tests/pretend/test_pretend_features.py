"""What PyTorch does with a GPU's memory, on a pretend one: each feature runs, and takes what it is
known to take."""

import json
import os
import sys

import pytest
import warm

from memshim import pretend
from memshim.pretend import support

MIB = 1 << 20


@pytest.fixture(scope="module")
def seen(play):
    return play("features", "a100-sxm-40gb")


# Four blocks of 30, 30, less than 1 and 3 MiB: a block from 10 MiB takes a segment in steps of 2
# MiB, one from 1 MiB one of 20, a small one one of 2.
@pytest.mark.parametrize(
    "conf, segments",
    [
        ("", [(2, "small", False), (20, "large", False), (30, "large", False), (30, "large", False)]),
        # one range of each kind, mapped in pages of 2 and 20 MiB
        ("expandable_segments:True", [(2, "small", True), (80, "large", True)]),
        (
            "roundup_power2_divisions:4",
            [(2, "small", False), (20, "large", False), (32, "large", False), (32, "large", False)],
        ),
        (
            "max_split_size_mb:25,garbage_collection_threshold:0.6",
            [(2, "small", False), (20, "large", False), (30, "large", False), (30, "large", False)],
        ),
    ],
)
def test_segments(play, conf, segments):
    found = play("features", "a100-sxm-40gb", "segments", environ={"PYTORCH_CUDA_ALLOC_CONF": conf})["segments"]
    assert found["segments"] == [[n * MIB, kind, expandable] for n, kind, expandable in segments]
    assert found["reserved"] == found["taken"] == sum(n for n, _, _ in segments) * MIB, (
        "mem_get_info has less by what is reserved"
    )
    assert found["after"] == [0, 0] and found["backend"] == "native"


def test_expandable_segments_end_where_the_card_does(play):
    found = play(
        "device", "t4", "out_of_memory", memory="2GiB", environ={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    )["out_of_memory"]
    assert (
        found["text"].startswith(
            "CUDA out of memory. Tried to allocate 900.00 MiB. GPU 0 has a total capacity of 2.00 GiB"
        )
        and found["ooms"] == 1
    )


def test_cuda_malloc_async(play):
    found = play(
        "features", "a100-sxm-40gb", "cuda_malloc_async", environ={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    )["cuda_malloc_async"]
    assert found == {"backend": "cudaMallocAsync", "allocated": [1000 * MIB + 100, 0], "peak": 1000 * MIB + 100}


def test_pools(seen):
    assert seen["pools"] == {"pools": 2, "inside": 20 * MIB, "reserved": 40 * MIB, "x": 2}, (
        "a pool has segments of its own"
    )


def test_streams_and_events(seen):
    assert seen["streams"] == {"done": [True, True], "time": True, "y": 20 * MIB, "segments": 40}, (
        "blocks of one stream are not another's"
    )


def test_graphs(seen):
    found = seen["graphs"]
    assert found["y"] == [64, 512] and not found["capturing"]
    assert found["replayed"] == 0 and found["private"] > 0, (
        "a replay allocates nothing: its memory is in a pool of its own"
    )


def test_a_capture_that_fails(seen):
    found = seen["failed_capture"]
    assert "capture" in found["capture"], "a read during a capture is an error"
    assert found["after"] == 64 * 512, "and afterwards things go on"


def test_nvml(seen):
    assert seen["nvml"] == {"results": [0, 0, 0], "same": [True, True, True], "held": True}


def test_history_has_frames(seen):
    assert seen["history"]["events"] > 10 and seen["history"]["python"] and seen["history"]["c++"]


def test_profiler(seen):
    assert seen["profiler"] == {"mm": 40448, "shapes": [[100, 100], [100, 100]]}, "100 × 100 × 4 bytes in steps of 512"


@pytest.mark.parametrize(
    "device, half, single",
    [
        ("t4", "EFFICIENT_ATTENTION", "EFFICIENT_ATTENTION"),
        ("a100-sxm-40gb", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"),
        ("h100-sxm-80gb", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"),
    ],
)
def test_attention_is_chosen_by_the_class_of_the_card(play, device, half, single):
    if half.startswith("CUDNN") and support.torch_here().release < (2, 11):
        half = "FLASH_ATTENTION"  # which came first until then
    found = play("features", device, "attention")["attention"]
    assert [found["torch.float16"][0], found["torch.float32"][0]] == [half, single]
    out = 2 * 16 * 1024 * 64
    assert all(found[f"torch.{dtype}"][1] >= out * width for dtype, width in (("float16", 2), ("float32", 4)))
    if half == "FLASH_ATTENTION":  # which had seed and offset on the host until 2.6
        seeds = 2 * 512 if support.torch_here().release > (2, 6) else 0
        assert found["torch.float16"][1] == out * 2 + 2 * 16 * 1024 * 4 + seeds, (
            "the result, log-sum-exp of each row, seed and offset"
        )


@pytest.mark.parametrize("device", ["h100-sxm-80gb", "b200"])
def test_attention_without_a_plan_is_an_error_each_time(play, device):
    if device == "b200" and support.torch_here().release < (2, 11):
        pytest.skip("its cuDNN, 9.10, makes no plan for 10.0 (native/cudnn.c)")
    if support.torch_here().release < (2, 8):
        pytest.skip("its cuDNN makes no plan of attention without a device (native/cudnn_formula.c)")
    found = play("features", device, "attention_without_a_plan")["attention_without_a_plan"]
    assert [text if text == "ran" else "Dropout probability cannot be 1" in text for text in found] == [
        True,
        True,
        "ran",
        True,
        "ran",
    ], found


def test_optimizers_states(seen):
    """Parameters (1000 × 1000 and 1000 floats), gradients, and what each keeps besides, as it was
    requested."""
    p = 4000000 + 4000
    assert {k: v for k, v in seen["optimizers"].items() if "LBFGS" not in k} == {
        "SGD momentum": 3 * p,
        "AdamW": 4 * p,
        "AdamW foreach": 4 * p,
        "AdamW fused": 4 * p + 2 * 4,
        "Adam capturable": 4 * p + 2 * 4,
        "Adafactor": 2 * p + 3 * 4000,  # a row, a column, and the bias's
    }
    assert seen["optimizers"]["LBFGS max_iter"] > 3 * p, "its history"


def test_what_is_not_stood_in_for_fails_by_name(seen):
    assert set(seen["refused"]["errors"]) == {"sparse", "ipc"}
    assert "no error" not in seen["refused"]["errors"].values()
    for call in ("cusparseCreate", "cudaIpcGetEventHandle"):
        assert call in seen["refused"]["refused"] and f"memspec: {call} of " in seen.stderr


def test_every_way_into_such_a_library_is_an_error(play):
    """None passes for having run, none ends the process; the call is on stderr."""
    found = play("libraries", "a100-sxm-40gb")
    assert {name: text for name, text in found["cusparse"].items() if "cusparseCreate" not in text} == {}
    assert found["goes_on"] == 4.0
    assert "memspec: cusparseCreate of " in found.stderr


def test_linear_algebra_runs_and_its_workspace_is_not_known(play):
    """Of one matrix and of several; no check of PyTorch's finds an error, in any mode of values. PyTorch
    2.6 solves several by MAGMA, which wants a handle of cuSPARSE."""
    by_magma = (
        {f"cholesky_solve of three, torch.{t}" for t in ("float32", "complex128")}
        if support.torch_here().release < (2, 7)
        else set()
    )
    for mode in ("balanced", "most"):
        found = play("solvers", "a100-sxm-40gb", environ={"MEMSPEC_VALUES": mode})
        failed = {name: text for name, text in found["calls"].items() if text != "ran"}
        assert failed.keys() == by_magma and all("`cusparseCreate(handle)`" in t for t in failed.values()), (
            mode,
            failed,
        )
    assert "cuSOLVER's workspace: taken as 0" in found["unsized"]
    assert found["refused"] == (["cusparseCreate"] if by_magma else [])
    assert found["wrong_pivots"] == [8, 8]
    assert found["svd"] == [[8, 8], [8], [8, 8]]


def test_recurrent_layers_of_pytorchs_own(seen):
    assert seen["without_cudnn"] == [5, 2, 64]


def test_fsdp_with_the_fake_group(seen):
    model = 4 * (1024 * 1024 + 1024) * 4
    assert seen["fsdp"]["whole"] == model and seen["fsdp"]["sharded"] == model // 8
    assert seen["fsdp"]["now"] == 3 * model // 8, "of parameters and AdamW's two states, an eighth each"
    assert seen["fsdp"]["peak"] > model, "a layer is gathered for its turn"


def test_ddp_with_the_fake_group(seen):
    assert seen["ddp"]["peak"] >= seen["ddp"]["model"] + 2 * 4 * 1024 * 1024 * 4, (
        "gradients and the buckets that they are reduced in"
    )


def test_nccl_of_one_process(seen):
    assert seen["nccl"]["values"] == [1024.0, 1024.0, []] and seen["nccl"]["grad"]
    assert not any("NCCL" in name for name in seen["nccl"]["unsized"])


RANKS = """
import json, os, torch, torch.distributed as dist
from pathlib import Path
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[rank])
opt = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.ones(4, 512, device="cuda")).sum().backward()
    opt.step()
seen = [torch.cuda.get_device_name(), torch.cuda.max_memory_allocated()]
Path(__file__).with_name(f"{rank}.json").write_text(json.dumps(seen))
dist.destroy_process_group()
"""


def test_torchrun(tmp_path):
    """Each rank has its card; they meet as ever, and collectives are over at once."""
    program = tmp_path / "train.py"
    program.write_text(RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)]
    p = warm.run(command, env=os.environ | pretend.environment(["t4", "a100-sxm-40gb"]))
    assert p.returncode == 0, p.stderr[-3000:]
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert [name for name, _ in found] == ["Tesla T4", "NVIDIA A100-SXM4-40GB"] and all(
        taken > 0 for _, taken in found
    ), found


def test_workers_of_a_loader(seen):
    assert seen["loader"] == [[True, 24.0, False], [True, 88.0, False]], (
        "pinned; the values of the host; no CUDA in a worker"
    )


def test_a_forked_child_is_refused(seen):
    assert seen["forked"].startswith("Cannot re-initialize CUDA in forked subprocess"), "PyTorch's own words"


def test_generate(seen):
    assert seen["generate"] == {"shapes": [[2, 18]] * 3, "peak": True}, "greedy, sampled, beams"


def test_jiterator(seen):
    assert seen["jiterator"] == 4


def test_every_case_is_looked_at(seen):
    # these with devices and their own settings
    own = {"segments", "cuda_malloc_async", "attention", "attention_without_a_plan"}
    errors = {k: v for k, v in seen.items() if isinstance(v, dict) and "error" in v and "text" in v}
    assert errors == {}
    assert set(seen) - own == {
        "pools",
        "streams",
        "graphs",
        "nvml",
        "history",
        "profiler",
        "optimizers",
        "refused",
        "without_cudnn",
        "fsdp",
        "ddp",
        "nccl",
        "loader",
        "forked",
        "generate",
        "jiterator",
        "failed_capture",
    }
