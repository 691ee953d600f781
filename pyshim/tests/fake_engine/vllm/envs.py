import os

VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = os.environ.get("FAKE_ENGINE") == "later"
