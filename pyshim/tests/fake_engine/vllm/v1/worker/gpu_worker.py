import os
import sys
from types import SimpleNamespace as Object

import torch

from vllm.compilation.cuda_graph import CUDAGraphWrapper

PAGE, LAYERS = 1 << 16, 2
# one batch size's: a piece before, between and after two layers, and a full graph
WRAPPERS = [CUDAGraphWrapper(Object(name=mode)) for mode in ("PIECEWISE",) * (LAYERS + 1) + ("FULL",)]


def request_memory(snapshot, cache):
    if os.environ.get("FAKE_ENGINE") == "unfit":
        raise ValueError("free memory is less than what is wanted")
    return snapshot.total_memory * cache.gpu_memory_utilization


class Worker:
    def __init__(self, config):
        self.rank, self.cache_config, self.parallel_config = 0, config.cache_config, config.parallel_config
        self.vllm_config = config

    def init_device(self):
        if os.environ.get("FAKE_ENGINE") == "unfit":
            request_memory(None, None)
        self.device = torch.device("cuda:0")
        self.free, total = torch.cuda.mem_get_info(self.device)
        self.init_snapshot = Object(total_memory=total, free_memory=self.free)
        self.requested_memory = request_memory(self.init_snapshot, self.cache_config)
        self.model_runner = Object(capture_model=lambda: 3 << 20)

    def load_model(self):
        if os.environ.get("FAKE_ENGINE") == "later":  # a kernel of FlashInfer's, without nvcc
            sys.modules["memshim.pretend.unbuilt"].Unbuilt("sampling").softmax()
        self.model_runner.model = torch.empty(8 << 20, dtype=torch.uint8, device=self.device)
        self.model_runner.model_memory_usage = torch.cuda.memory_allocated()

    def determine_available_memory(self):
        if os.environ.get("FAKE_ENGINE") != "moved":
            self.peak_activation_memory = 1 << 20
        free = torch.cuda.mem_get_info(self.device)[0]
        if os.environ.get("FAKE_ENGINE") == "later":
            return self.later(free)
        self.non_torch_memory = self.free - free - torch.cuda.memory_reserved()
        taken = self.model_runner.model_memory_usage + self.non_torch_memory + (1 << 20)
        self.available_kv_cache_memory_bytes = self.requested_memory - taken
        return int(self.available_kv_cache_memory_bytes)

    def later(self, free):
        """As vLLM 0.33: what is no longer free, and CUDA graphs that are captured once and dropped."""
        graphs = [w() for w in WRAPPERS]
        self.cudagraph_memory_estimate = free - torch.cuda.mem_get_info(self.device)[0]
        del graphs
        assert torch.cuda.mem_get_info(self.device)[0] == free, "what they took is free again"
        self.total_consumed = self.free - free
        self.peak_activation_memory += self.cudagraph_memory_estimate
        self.available_kv_cache_memory_bytes = self.requested_memory - self.total_consumed - self.peak_activation_memory
        return int(self.available_kv_cache_memory_bytes)

    def compile_or_warm_up_model(self):
        self.graphs = [w() for w in WRAPPERS if os.environ.get("FAKE_ENGINE") == "later"]
        self.model_runner.capture_model()

    def execute_model(self, tokens):
        assert tokens == 64, "prompts fill what is batched"
        mib = {"grows": 16, "overflows": 1 << 20}.get(os.environ.get("FAKE_ENGINE"), 1)
        torch.empty(mib << 20, dtype=torch.uint8, device=self.device)

    def sample_tokens(self):
        pass
