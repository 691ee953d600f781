from types import SimpleNamespace as Object

from vllm.v1.worker.gpu_worker import LAYERS, PAGE, Worker


def get_kv_cache_configs(config, specs, memory):
    blocks = memory // (PAGE * LAYERS)
    group = Object(kv_cache_spec=Object(block_size=16))
    tensors = [Object(size=blocks * PAGE) for _ in range(LAYERS)]
    return Object(num_blocks=blocks, kv_cache_groups=[group], kv_cache_tensors=tensors)


class EngineCore:
    def __init__(self, config):
        self.vllm_config, worker = config, Worker(config)
        worker.init_device()
        worker.load_model()
        cache = get_kv_cache_configs(config, None, worker.determine_available_memory())
        worker.compile_or_warm_up_model()
        self.scheduler = Object(kv_cache_config=cache)
