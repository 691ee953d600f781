"""A training loop over an adapter of peft, on a model in bfloat16."""

import sys

import peft
import tiny
import torch
from transformers import AutoModelForCausalLM

of = {"task_type": "CAUSAL_LM"}
layers = {**of, "target_modules": "all-linear"}
adapter = {
    "lora": lambda: peft.LoraConfig(r=8, **layers),
    "rslora": lambda: peft.LoraConfig(r=8, use_rslora=True, **layers),
    "dora": lambda: peft.LoraConfig(r=8, use_dora=True, **layers),
    "pissa": lambda: peft.LoraConfig(r=8, init_lora_weights="pissa_niter_4", **layers),
    "loftq": lambda: peft.LoraConfig(
        r=8, init_lora_weights="loftq", loftq_config=peft.LoftQConfig(loftq_bits=4), **layers
    ),
    "ia3": lambda: peft.IA3Config(**of),
    "prompt": lambda: peft.PromptTuningConfig(num_virtual_tokens=8, **of),
    "prefix": lambda: peft.PrefixTuningConfig(num_virtual_tokens=8, **of),
    "p-tuning": lambda: peft.PromptEncoderConfig(num_virtual_tokens=8, encoder_hidden_size=64, **of),
    "oft": lambda: peft.OFTConfig(oft_block_size=32, **layers),
    "boft": lambda: peft.BOFTConfig(boft_block_size=32, **layers),
    "loha": lambda: peft.LoHaConfig(r=8, **layers),
    "lokr": lambda: peft.LoKrConfig(r=8, **layers),
    "adalora": lambda: peft.AdaLoraConfig(init_r=8, target_r=4, total_step=10, **layers),
    "vera": lambda: peft.VeraConfig(r=8, **of, target_modules=["q_proj", "v_proj"]),
    "ln": lambda: peft.LNTuningConfig(**of),
}[sys.argv[1]]()
model = AutoModelForCausalLM.from_pretrained(tiny.folder(torch.float32 if sys.argv[1] == "loftq" else torch.bfloat16))
model = peft.get_peft_model(model.cuda(), adapter)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for _ in range(3):
    model(**tiny.batch()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.print_trainable_parameters()
