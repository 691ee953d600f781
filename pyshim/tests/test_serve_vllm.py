"""python -m memshim serve with vLLM itself: make test-serve, in a separate environment of 11 GB. The
model is a tiny Llama of a config.json."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pretended
import pytest

from memshim.serving import report
from memshim.serving.driver_memory import release
from memshim.sizes import MIB

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not installed: make test-serve installs it", allow_module_level=True)

LAYERS, HIDDEN, WIDE, HEADS, KV_HEADS, HEAD, VOCABULARY = 2, 256, 512, 4, 2, 64, 1024
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": WIDE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
LAYER = HIDDEN * HEAD * (2 * HEADS + 2 * KV_HEADS) + 3 * HIDDEN * WIDE + 2 * HIDDEN
PARAMETERS = 2 * VOCABULARY * HIDDEN + LAYERS * LAYER + HIDDEN
TOKEN = LAYERS * 2 * KV_HEADS * HEAD * 2  # bytes of KV cache
ARGUMENTS = "--max-model-len 2048 --max-num-seqs 64 --max-num-batched-tokens 2048".split()
PROGRAM = """
import sys
from vllm import LLM

if __name__ == "__main__":
    LLM(sys.argv[1], max_model_len=2048, max_num_seqs=64, max_num_batched_tokens=2048, enforce_eager=True)
    raise SystemExit("the engine was not ended")
"""


@pytest.fixture(autouse=True)
def possible(found_binary):
    if why := pretended.missing():
        pytest.skip(why)


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def serve(tmp_path, *program, options=(), environ=()):
    """What the command printed and wrote."""
    to = tmp_path / "found.json"
    p = subprocess.run(
        [sys.executable, "-m", "memshim", "serve", "--on", "h100-sxm-80gb", *options]
        + ["--json", str(to), "--log", str(tmp_path / "log"), "--", *map(str, program)],
        env=os.environ | dict(environ),
        capture_output=True,
        text=True,
        timeout=3000,
    )
    return p, json.loads(to.read_text())


def test_a_server_without_graphs(model, tmp_path):
    p, found = serve(tmp_path, "vllm", "serve", model, *ARGUMENTS, "--enforce-eager", options=["--generate", "8"])
    assert p.returncode == 0, p.stderr
    [worker], kv = found["workers"], found["kv"]
    generated = found["generated"]
    [of_worker] = generated.pop("workers")
    assert generated == {"requests": 64, "prompt": 32, "tokens": 8, "at_once": 64, "generated": 512}
    later = release(found["engine"]["release"]) > (0, 20)
    # of 2,048 tokens each, and of 64 rows of logits; 0.33 was seen to take 1 MiB and 1 KiB more
    assert MIB < of_worker["activation"] <= worker["activation"] + (MIB + 1024 if later else 0)
    assert 0 <= of_worker["reserved"] - of_worker["reserved_before"] <= (24 * MIB if later else 0)
    assert of_worker["reserved_before"] > kv["kv_cache"]
    rotary = 4096 * HEAD * 2  # the table of cosines and sines, in bfloat16
    assert 2 * PARAMETERS + rotary <= worker["loaded"] < 2 * PARAMETERS + rotary + MIB // 8
    kept = worker["outside_pytorch"] - found["driver"]["bytes"]
    # later releases count what PyTorch's pools keep
    assert 0 <= kept < 8 * MIB and (kept == 0 or later)
    left = worker["requested"] - worker["loaded"] - worker["activation"] - worker["outside_pytorch"]
    assert abs(left - worker["kv_memory"]) <= 1
    assert kv["tokens"] == worker["kv_memory"] // (16 * TOKEN) * 16 and kv["kv_cache"] == kv["tokens"] * TOKEN
    # later releases sample with kernels of FlashInfer, which take nvcc
    assert set(found["made_up"]) - ({"kernels"} if later else set()) == {"tokenizer", "weights"}
    assert kv["eager"] and worker["graphs"] == 0
    assert f"GPU KV cache size: {kv['tokens']:,} tokens" in (tmp_path / "log").read_text(), "as the engine logs it"
    assert kv["concurrency"] * kv["max_model_len"] == pytest.approx(kv["tokens"])


def test_a_server_as_it_starts_by_default(model, tmp_path):
    """Compiled, with CUDA graphs: what is charged for them is what the engine finds, where it takes them off its
    cache. It generates with them."""
    p, found = serve(tmp_path, "vllm", "serve", model, *ARGUMENTS, options=["--generate", "8"])
    assert p.returncode == 0, p.stderr
    [worker], kv = found["workers"], found["kv"]
    assert not kv["eager"] and worker["graphs"] > worker["graphs_of_driver"] > 0
    later = release(found["engine"]["release"]) > (0, 20)
    assert (worker["graphs_in_budget"] > 0) == later
    left = worker["requested"] - worker["loaded"] - worker["activation"] - worker["outside_pytorch"]
    assert abs(left - worker["graphs_in_budget"] - worker["kv_memory"]) <= 1
    assert found["generated"]["generated"] == 512 and found["generated"]["at_once"] == 64


def test_a_server_on_two_gpus(model, tmp_path):
    arguments = [*ARGUMENTS, "--enforce-eager", "--tensor-parallel-size", "2"]
    p, found = serve(tmp_path, "vllm", "serve", model, *arguments, options=["--count", "2"])
    assert p.returncode == 0, p.stderr
    ranks, kv = found["workers"], found["kv"]
    assert [w["rank"] for w in ranks] == [0, 1] and kv["tensor_parallel_size"] == 2
    assert kv["tokens"] == min(w["kv_memory"] for w in ranks) // (16 * TOKEN // 2) * 16, "half of the heads each"


def test_a_program_that_makes_an_engine_in_its_own_process(model, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    p, found = serve(tmp_path, tmp_path / "program.py", model, environ={"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}.items())
    assert p.returncode == 0, p.stderr
    assert found["kv"]["max_num_seqs"] == 64 and found["defaults"] == []


VISION = {
    "depth": 1,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 2,
    "in_chans": 3,
    "out_hidden_size": HIDDEN,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "window_size": 112,
    "fullatt_block_indexes": [0],
}
TOKENS = ["<unk>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
WITH_IMAGES = CONFIG | {
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "model_type": "qwen2_5_vl",
    "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
    "vision_config": VISION,
    "vision_start_token_id": 1,
    "vision_end_token_id": 2,
    "image_token_id": 3,
    "video_token_id": 4,
}
PROCESSOR = {
    "image_processor_type": "Qwen2VLImageProcessor",
    "min_pixels": 3136,
    "max_pixels": 1024 * 28 * 28,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
}


def processor(model):
    """The small files beside config.json, with a tokenizer of the special tokens alone."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": t, **special} for i, t in enumerate(TOKENS)],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {t: i for i, t in enumerate(TOKENS)}, "unk_token": "<unk>"},
    }
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    (model / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Qwen2Tokenizer"}))
    (model / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))


def test_an_encoder_of_images_is_in_the_activation(model, tmp_path):
    """One image of 1,024 tokens, 4,096 patches, of two frames of 14 by 14 pixels of three colours each."""
    (model / "config.json").write_text(json.dumps(WITH_IMAGES))
    arguments = [*ARGUMENTS, "--enforce-eager", "--limit-mm-per-prompt", '{"image": 1, "video": 0}']
    p, _ = serve(tmp_path, "vllm", "serve", model, *arguments)
    assert p.returncode == 3 and "got no preprocessor_config.json and no tokenizer, want the files" in p.stderr
    processor(model)
    peaks = []
    for alone in ([], ["--language-model-only"]):
        p, found = serve(tmp_path, "vllm", "serve", model, *arguments, *alone)
        assert p.returncode == 0, p.stderr
        assert found["made_up"] == ["weights"]
        peaks.append(found["workers"][0]["activation"])
    assert peaks[0] >= peaks[1] + 1024 * 4 * 2 * 14 * 14 * 3 * 2


MOVED = """
from memshim.pretend.after_import import After


def move(module):
    def absent(worker):
        raise AttributeError("peak_activation_memory")

    module.Worker.peak_activation_memory = property(absent, lambda worker, value: None)


After("vllm.v1.worker.gpu_worker", move)
"""


def test_internals_that_moved(model, tmp_path):
    """An attribute that memshim reads and the engine's worker no longer has."""
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "sitecustomize.py").write_text(MOVED)
    path = os.pathsep.join([str(tmp_path / "moved"), os.environ["PYTHONPATH"]])
    p, found = serve(
        tmp_path, "vllm", "serve", model, *ARGUMENTS, "--enforce-eager", environ={"PYTHONPATH": path}.items()
    )
    assert p.returncode == 2 and found["fits"] is None
    assert p.stderr.splitlines() == [
        f"memshim serve: got vLLM {found['engine']['release']}, which has no Worker.peak_activation_memory: its "
        f"internals have moved; want one of {', '.join(report.TRIED)}"
    ]


def test_each_change_that_could_leave_more_is_run(model, tmp_path):
    """The engine starts again with each: two GPUs and another card among them."""
    arguments = [*ARGUMENTS, "--enforce-eager", "--gpu-memory-utilization", "0.5"]
    p, found = serve(tmp_path, "vllm", "serve", model, *arguments, options=["--advise"])
    assert p.returncode == 0, p.stderr
    lines = p.stdout.partition("  tried, each by a start of the engine:\n")[2].splitlines()
    tried = dict(re.fullmatch(r"    (.*): ([\d,]+) tokens, [+-][\d.]+%", line).groups() for line in lines)
    tokens = {change: int(text.replace(",", "")) / found["kv"]["tokens"] for change, text in tried.items()}
    assert list(tokens.values()) == sorted(tokens.values(), reverse=True)
    larger = next(c for c in tokens if c.startswith("--on "))
    assert sorted(tokens) == sorted(
        [
            "--max-num-seqs 32",
            "--max-num-batched-tokens 1024",
            "--kv-cache-dtype fp8",
            "--quantization fp8",
            "--gpu-memory-utilization 0.95",
            "--tensor-parallel-size 2",
            larger,
        ]
    )
    assert min(tokens.values()) >= 1, "none leaves less"
    assert 1.99 < tokens["--kv-cache-dtype fp8"] <= 2.01 and 1.9 < tokens["--gpu-memory-utilization 0.95"] < 1.92
    assert 1.8 < tokens["--tensor-parallel-size 2"] < 2, "half of the heads each, less what NCCL takes"


SMALL = ["--memory", "3GiB"]
FP8 = ["--dtype", "float16", "--quantization", "fp8"]
V100 = "on v100-16gb, of compute capability 7.0 (arguments): ValidationError: Value error, The quantization method fp8"
SHARE = "--gpu-memory-utilization"


@pytest.mark.parametrize(
    "change, arguments, options, code, text",
    [
        (
            {"architectures": ["NoSuchModel"]},
            [],
            [],
            2,
            "capability 9.0 (arguments): ValidationError: Value",
        ),
        ({}, ["--kv-cache-dtype", "fp9"], [], 2, "exit code 2 before it had a KV cache"),
        ({}, FP8, ["--on", "v100-16gb"], 2, V100),
        ({"vocab_size": 4 << 20}, [SHARE, "0.7"], SMALL, 1, "does not fit h100-sxm-80gb (3.00 GiB) in the weights"),
        ({}, [SHARE, "0.9"], SMALL, 1, "does not fit h100-sxm-80gb (3.00 GiB) at start: "),
        ({}, [SHARE, "0.05"], SMALL, 1, "for the KV cache after"),
    ],
    ids=["architecture", "option", "quantization", "weights", "start", "cache"],
)
def test_a_server_that_does_not_start(change, arguments, options, code, text, model, tmp_path):
    (model / "config.json").write_text(json.dumps(CONFIG | change))
    p, found = serve(tmp_path, "vllm", "serve", model, *ARGUMENTS, "--enforce-eager", *arguments, options=options)
    assert p.returncode == code and text in p.stderr, p.stderr
    assert found["fits"] is (False if code == 1 else None)
