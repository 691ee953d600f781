"""Attention by a library of kernels in a training step: xformers or flash-attn."""

import sys

import torch

if sys.argv[1] == "xformers":
    from xformers.ops import memory_efficient_attention as attention
else:
    from flash_attn import flash_attn_func as attention

q, k, v = (torch.randn(2, 256, 8, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
for _ in range(3):
    attention(q, k, v).sum().backward()
print(torch.cuda.max_memory_allocated())
