"""A model that hqq quantises: while transformers loads it, by hqq's own call, or that under a LoRA that
trains."""

import sys

import peft
import tiny
import torch
from transformers import AutoModelForCausalLM, HqqConfig

how, _, bits = sys.argv[1].partition("-")
if how in ("own", "lora"):
    from hqq.core.quantize import BaseQuantizeConfig
    from hqq.models.hf.base import AutoHQQHFModel

    model = AutoModelForCausalLM.from_pretrained(tiny.folder())
    AutoHQQHFModel.quantize_model(
        model, BaseQuantizeConfig(nbits=int(bits), group_size=64), compute_dtype=torch.bfloat16, device="cuda"
    )
else:
    model = AutoModelForCausalLM.from_pretrained(
        tiny.folder(), quantization_config=HqqConfig(nbits=int(bits), group_size=64), device_map={"": 0}
    )
if how == "lora":
    model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for _ in range(3):
        model(**tiny.batch()).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
else:
    model.eval()
    with torch.no_grad():
        model(**tiny.batch())
        model.generate(tiny.batch(tokens=16)["input_ids"], max_new_tokens=8, do_sample=False)
print(torch.cuda.max_memory_allocated())
