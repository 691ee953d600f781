def get_max_concurrency_for_kv_cache_config(config, cache):
    return cache.num_blocks / (config.model_config.max_model_len // 16)
