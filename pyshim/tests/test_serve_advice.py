"""memshim serve --advise, without an engine: which changes are tried, and what is said of them."""

from served import FOUND, NO_CACHE

from memshim.serving import advice, start

ASKED = start.Wanted(["vllm", "serve", "m"], "h100-sxm-80gb", None, None, None)


def test_each_change_is_another_value_than_the_start_had(found_binary):
    assert [str(c) for c in advice.changes(FOUND, ASKED)] == [
        "--max-num-seqs 512",
        "--max-num-batched-tokens 4096",
        "--kv-cache-dtype fp8",
        "--quantization fp8",
        "--tensor-parallel-size 2",
        "--on " + advice._larger(FOUND["device"]["memory"]),
    ]
    kv = FOUND["kv"] | {"max_num_seqs": 1, "kv_cache_dtype": "fp8", "quantization": "gptq", "tensor_parallel_size": 2}
    small = FOUND | {"kv": kv | {"max_num_batched_tokens": 512, "gpu_memory_utilization": 0.9}}
    words = [str(c) for c in advice.changes(small, ASKED._replace(memory="40GiB"))]
    assert words == ["--gpu-memory-utilization 0.95", "--tensor-parallel-size 4"]
    program = ASKED._replace(program=["program.py"])
    assert [c.words for c in advice.changes(FOUND, program)] == [()], "its words are its own"


def test_advice_is_of_starts_alone(monkeypatch, found_binary):
    began = []

    def start_with(asked, version):
        began.append(asked)
        tokens = {"--max-num-seqs": 500_000, "--tensor-parallel-size": 900_000}.get(asked.program[-2])
        found = FOUND | {"kv": FOUND["kv"] | {"tokens": tokens} if tokens else None, "fits": bool(tokens)}
        return start.Start(found | {"error": NO_CACHE["error"]}, [], 1, b"", None)

    monkeypatch.setattr(advice, "start", start_with)
    lines = advice.text(FOUND, advice.trials(FOUND, ASKED, "0.19.0")).splitlines()
    assert lines[1:3] == [
        "    --tensor-parallel-size 2: 900,000 tokens, +113.3%",
        "    --max-num-seqs 512: 500,000 tokens, +18.5%",
    ]
    assert lines[3].startswith("    --max-num-batched-tokens 4096: models/qwen3-8b does not fit h100-sxm-80gb")
    assert [a.number for a in began] == [None, None, None, None, 2, None]
