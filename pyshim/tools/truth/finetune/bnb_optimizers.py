"""A training loop with an optimizer of bitsandbytes, named by its class."""

import sys

import bitsandbytes
import tiny
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(tiny.folder(torch.float32)).cuda()
more = {"momentum": 0.9} if "SGD" in sys.argv[1] or "RMSprop" in sys.argv[1] else {}
optimizer = getattr(bitsandbytes.optim, sys.argv[1])(model.parameters(), lr=1e-4, **more)
for _ in range(3):
    model(**tiny.batch()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
