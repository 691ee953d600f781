"""Three QLoRA steps of a Llama of 8B with 2,048 tokens: nf4, rank 16, a paged 8-bit optimizer. The
weights have no values: each layer is quantised on the device, so that the host never has the model."""

import resource
import time

import bitsandbytes
import peft
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig
from transformers.integrations import replace_with_bnb_linear

begun = time.process_time()
config = LlamaConfig(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=8192,
)
quantization = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_use_double_quant=True,
    bnb_4bit_compute_dtype=torch.bfloat16,
)
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model = replace_with_bnb_linear(model, modules_to_not_convert=["lm_head"], quantization_config=quantization)
for module in model.modules():
    for name, p in list(module._parameters.items()):
        if isinstance(p, bitsandbytes.nn.Params4bit):
            weight = torch.empty(module.out_features, module.in_features, dtype=torch.bfloat16)
            four = bitsandbytes.nn.Params4bit(weight, requires_grad=False, quant_type="nf4", compress_statistics=True)
            module._parameters[name] = four.to("cuda")
        elif p is not None:
            module._parameters[name] = torch.nn.Parameter(torch.empty_like(p, device="cuda"))
    for name, b in module._buffers.items():
        module._buffers[name] = torch.zeros_like(b, device="cuda")
model.is_loaded_in_4bit = True
model = peft.prepare_model_for_kbit_training(model, gradient_checkpointing_kwargs={"use_reentrant": False})
model = peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
optimizer = bitsandbytes.optim.PagedAdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
ids = torch.zeros(1, 2048, dtype=torch.int64, device="cuda")
for _ in range(3):
    step = time.process_time()
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step: {time.process_time() - step:.1f} s of the processor")
host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"in all: {time.process_time() - begun:.1f} s of the processor, {host:.2f} GiB of the host, imports apart")
