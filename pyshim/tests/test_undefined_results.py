"""Undefined tensors that an operator returns, which PyTorch takes from Python alone and not in a list:
FlashAttention 3 returns them so (test_serve_vllm.py runs it)."""

import torch

from memshim.pretend.values.operators import defined


def test_an_undefined_tensor_in_a_list_is_one_without_elements():
    out = torch.ones(2, dtype=torch.bfloat16)
    first, lse, part = defined([out, None, None])
    assert first is out and lse.numel() == part.numel() == 0 and lse.dtype == torch.bfloat16
    assert [t.numel() for t in defined([None])] == [0]


def test_what_is_no_list_stays():
    out = torch.ones(2)
    assert defined(None) is None and defined(out) is out
    alone, (inner, part) = defined((None, [out, None]))
    assert alone is None and inner is out and part.numel() == 0
    whole = [out, out]
    assert defined(whole) is whole
