from types import SimpleNamespace as Object

from vllm.v1.worker.gpu_worker import LAYERS, PAGE, Worker


def get_kv_cache_configs(config, specs, memory):
    blocks = memory // (PAGE * LAYERS)
    if config.model_config.max_model_len > 16 * blocks:
        raise ValueError("To serve at least one request, more memory is needed")
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
        self.model_executor = Object(collective_rpc=lambda method: [method(worker)])
        self.scheduler = Object(kv_cache_config=cache, running=[], has_requests=lambda: bool(self.scheduler.running))
        self.batch_queue, self.request_block_hasher, self.step_fn, self.worker = None, None, self.step, worker

    def add_request(self, request):
        assert len({tuple(r.prompt) for r in (*self.scheduler.running, request)}) == len(self.scheduler.running) + 1
        self.scheduler.running.append(request)

    def step(self):
        requests = self.scheduler.running
        self.worker.execute_model(sum(len(r.prompt) for r in requests))
        self.worker.sample_tokens()
        for r in requests:
            r.left -= 1
        outputs = [Object(new_token_ids=[0]) for _ in requests]
        self.scheduler.running = [r for r in requests if r.left]
        return {0: Object(outputs=outputs)}, True

    def post_step(self, executed):
        assert executed
