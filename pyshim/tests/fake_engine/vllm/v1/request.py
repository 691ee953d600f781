from types import SimpleNamespace


class Request(SimpleNamespace):
    def __init__(self, *, request_id, prompt_token_ids, sampling_params, pooling_params, block_hasher):
        super().__init__(name=request_id, prompt=prompt_token_ids, left=sampling_params.max_tokens)
