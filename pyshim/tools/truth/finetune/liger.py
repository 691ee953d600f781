"""A Llama with liger's Triton kernels, trained: patched, or its fused linear cross entropy alone."""

import sys

import tiny
import torch
from transformers import AutoModelForCausalLM

if sys.argv[1] == "patched":
    from liger_kernel.transformers import AutoLigerKernelForCausalLM as AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny.folder()).cuda()
    loss = lambda: model(**tiny.batch()).loss
else:
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    model = AutoModelForCausalLM.from_pretrained(tiny.folder()).cuda()
    fused = LigerFusedLinearCrossEntropyLoss()

    def loss():
        given = tiny.batch()
        hidden = model.model(input_ids=given["input_ids"]).last_hidden_state
        return fused(model.lm_head.weight, hidden.reshape(-1, hidden.shape[-1]), given["labels"].reshape(-1))


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(3):
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
