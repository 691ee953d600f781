"""accelerate's loop over a tiny Llama: DDP, FSDP1 or FSDP2."""

import sys

import tiny
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

strategy = sys.argv[1]
plugin = None
if strategy != "ddp":
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=int(strategy[-1]),
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["LlamaDecoderLayer"],
        state_dict_type="FULL_STATE_DICT" if strategy == "fsdp1" else "SHARDED_STATE_DICT",
    )
accelerator = Accelerator(mixed_precision="bf16", fsdp_plugin=plugin)
set_seed(0)
model = AutoModelForCausalLM.from_config(tiny.config())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
rows = [{"input_ids": torch.arange(64), "labels": torch.arange(64)} for _ in range(64)]
model, optimizer, batches = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=4))
for _, batch in zip(range(3), batches):
    loss = model(**batch).loss
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    every = accelerator.gather(loss.detach().reshape(1))
    accelerator.print(len(every), every.mean().item())
accelerator.wait_for_everyone()
state = accelerator.get_state_dict(model)
accelerator.print(len(state))
accelerator.end_training()
