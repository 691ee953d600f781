"""Optimizers of torchao: with states of 8 and 4 bits, or kept by the host."""

import sys

import tiny
import torch
from torchao import optim
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(tiny.folder(), dtype=torch.bfloat16).cuda()
if sys.argv[1] == "offload":
    optimizer = optim.CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, offload_gradients=True)
else:
    optimizer = getattr(optim, sys.argv[1])(model.parameters(), lr=1e-4)
for _ in range(3):
    model(**tiny.batch()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
