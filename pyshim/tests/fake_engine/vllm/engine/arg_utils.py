import os
from types import SimpleNamespace as Object


class EngineArgs:
    def __init__(self, model):
        self.model, self.tokenizer, self.load_format, self.skip_tokenizer_init = model, None, "auto", False
        self.max_num_seqs, self.max_num_batched_tokens, self.tensor_parallel_size = None, 64, 1
        self.max_model_len = 128

    def create_engine_config(self):
        if os.environ.get("FAKE_ENGINE") == "refuses":
            raise ValueError("architecture X is not supported\nand more lines")
        assert (self.load_format, self.skip_tokenizer_init) == ("dummy", True)
        with open(os.path.join(self.model, "config.json")) as config:
            assert config.read()
        os.listdir(self.model)
        return Object(
            model_config=Object(
                max_model_len=self.max_model_len,
                dtype="torch.bfloat16",
                quantization=None,
                enforce_eager=os.environ.get("FAKE_ENGINE") != "later",
                is_moe=False,
                get_num_layers=lambda parallel: 2,
                get_vocab_size=lambda: 2,
            ),
            compilation_config=Object(cudagraph_mode=Object(name="FULL_AND_PIECEWISE"), cudagraph_capture_sizes=[1, 2]),
            scheduler_config=Object(max_num_seqs=self.max_num_seqs or 4, max_num_batched_tokens=64),
            cache_config=Object(gpu_memory_utilization=0.5, cache_dtype="auto", kv_cache_memory_bytes=None),
            parallel_config=Object(tensor_parallel_size=1, world_size=1),
        )
