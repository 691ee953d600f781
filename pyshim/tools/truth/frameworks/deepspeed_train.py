"""DeepSpeed's engine over a tiny Llama: ZeRO's stage, and where optimizer states and parameters lie."""

import sys

import deepspeed
import tiny
import torch
from transformers import LlamaForCausalLM  # before zero.Init, which replaces Tensor.__new__

stage, place = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "gpu"
zero = {"stage": stage}
if place == "offload":
    zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if stage == 3:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
settings = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "zero_optimization": zero,
    "zero_force_ds_cpu_optimizer": False,
    "zero_allow_untested_optimizer": True,
}
deepspeed.init_distributed()
with deepspeed.zero.Init(config_dict_or_path=settings, enabled=stage == 3):
    model = LlamaForCausalLM(tiny.config(pad_token_id=None))  # a partition has no row 0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings)
for _ in range(3):
    ids = torch.arange(64, device=engine.device).repeat(4, 1)
    loss = engine(input_ids=ids, labels=ids).loss
    engine.backward(loss)
    engine.step()
print(engine.global_rank, engine.world_size, torch.cuda.max_memory_allocated())
