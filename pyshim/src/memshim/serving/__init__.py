"""Serving engines on a pretend GPU: how many tokens of KV cache are left.

An engine (vLLM) starts unmodified, by the user's own command, to the point where its KV cache is
made. Its figures are then read from its objects, and it is ended.

    command.py         python -m memshim serve: starts the engine and reports
    start.py           one start: how the engine is run, and what its processes left
    advice.py          starts with what could leave more tokens
    larger.py          another card for what does not fit one, by memspec estimate
    model_folder.py    what a model's folder lacks, so that it is made up
    driver_memory.py   what the driver takes beside PyTorch's allocator, by published logs
    graph_memory.py    in the engine's workers: what the driver takes for CUDA graphs
    watch.py           in every process of the engine: hooks, and the figures of its objects
    generation.py      in the engine's processes: tokens that it generates
    attributes.py      attributes of the engine's objects, and those that a release lacks
    report.py          the figures as a table and as JSON (schemas/serving.schema.json)
"""
