"""Training by torchao: float8, int8 and quantisation-aware."""

import sys

import tiny
import torch
from transformers import AutoModelForCausalLM

how = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(tiny.folder(), dtype=torch.bfloat16).cuda()
if how == "float8":
    from torchao.float8 import convert_to_float8_training

    convert_to_float8_training(model.model)
elif how in ("int8-mixed", "int8-weights"):
    from torchao.prototype import quantized_training as t
    from torchao.quantization import quantize_

    config = t.int8_mixed_precision_training() if how == "int8-mixed" else t.int8_weight_only_quantized_training()
    quantize_(model.model, config)
elif how == "qat":
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.qat import QATConfig

    base = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    quantize_(model.model, QATConfig(base, step="prepare"))
decay = 0 if how == "int8-weights" else 0.01  # its weights cannot be scaled in place
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=decay)
for _ in range(3):
    model(**tiny.batch()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
