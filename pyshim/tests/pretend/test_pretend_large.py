"""Models that no machine here could hold: built, run and trained on a pretend GPU within little
memory of the host. What it takes of time is a benchmark (tools/bench.py --only large)."""

GIB = 1 << 30
BIG = {"name": "big", "memory": "186GiB", "compute_capability": 9.0, "sms": 132}  # every PyTorch has kernels for it
EIGHT, SEVENTY = 8030261248, 70553706496  # parameters of Llama 3's sizes: 2 bytes each


def test_eight_billion(play):
    seen = play("large", "h100-sxm-80gb", "long_8b")["long_8b"]
    assert seen["parameters"] == EIGHT and seen["base"] - 2 * EIGHT < 1 << 20
    assert 2 * EIGHT < seen["allocated"] < 2 * EIGHT + 3 * GIB
    assert seen["host"] < 2 * GIB


def test_constructors_on_the_host_cost_nothing(play):
    """Weights that are filled on the CPU and moved: they are never written."""
    seen = play("large", "h100-sxm-80gb", "built_on_the_host_8b")["built_on_the_host_8b"]
    assert seen["parameters"] == EIGHT and seen["host"] < 2 * GIB


def test_seventy_billion(play):
    seen = play("large", BIG, "forward_70b")["forward_70b"]
    assert seen["parameters"] == SEVENTY and seen["allocated"] > 2 * SEVENTY
    assert seen["host"] < 4 * GIB


def test_training_eight_billion_does_not_fit(play):
    """PyTorch's own words, in the second step: parameters, AdamW's two states, and what the forward
    pass saves."""
    seen = play("large", "a100-sxm-80gb", "training_8b")["training_8b"]
    assert seen["text"].startswith("CUDA out of memory. Tried to allocate") and seen["host"] < 2 * GIB
    assert seen["held"] == [2 * EIGHT, 4 * EIGHT]
