import os
from types import SimpleNamespace as Object

PAGE, LAYERS = 1 << 16, 2


def request_memory(snapshot, cache):
    if os.environ.get("FAKE_ENGINE") == "unfit":
        raise ValueError("free memory is less than what is wanted")
    return snapshot.total_memory * cache.gpu_memory_utilization


class Worker:
    def __init__(self, config):
        self.rank, self.cache_config, self.parallel_config = 0, config.cache_config, config.parallel_config

    def init_device(self):
        if os.environ.get("FAKE_ENGINE") == "unfit":
            request_memory(None, None)
        import torch

        self.device = torch.device("cuda:0")
        self.free, total = torch.cuda.mem_get_info(self.device)
        self.init_snapshot = Object(total_memory=total, free_memory=self.free)
        self.requested_memory = request_memory(self.init_snapshot, self.cache_config)
        self.model_runner = Object(capture_model=lambda: 3 << 20)

    def load_model(self):
        import torch

        self.model_runner.model = torch.empty(8 << 20, dtype=torch.uint8, device=self.device)
        self.model_runner.model_memory_usage = torch.cuda.memory_allocated()

    def determine_available_memory(self):
        import torch

        if os.environ.get("FAKE_ENGINE") != "moved":
            self.peak_activation_memory = 1 << 20
        free = torch.cuda.mem_get_info(self.device)[0]
        self.non_torch_memory = self.free - free - torch.cuda.memory_reserved()
        taken = self.model_runner.model_memory_usage + self.non_torch_memory + (1 << 20)
        self.available_kv_cache_memory_bytes = self.requested_memory - taken
        return int(self.available_kv_cache_memory_bytes)

    def compile_or_warm_up_model(self):
        self.model_runner.capture_model()

    def execute_model(self, tokens):
        import torch

        assert tokens == 64, "prompts fill what is batched"
        mib = {"grows": 16, "overflows": 1 << 20}.get(os.environ.get("FAKE_ENGINE"), 1)
        torch.empty(mib << 20, dtype=torch.uint8, device=self.device)

    def sample_tokens(self):
        pass
