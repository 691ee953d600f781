"""A model that torchao quantises, in a pass without gradients."""

import sys

import tiny
import torch
from torchao import quantization as q
from transformers import AutoModelForCausalLM

config = {
    "int8": lambda: q.Int8WeightOnlyConfig(),
    "int8-dynamic": lambda: q.Int8DynamicActivationInt8WeightConfig(),
    "float8": lambda: q.Float8WeightOnlyConfig(),
    "float8-dynamic": lambda: q.Float8DynamicActivationFloat8WeightConfig(),
    "int4": lambda: q.Int4WeightOnlyConfig(group_size=32, int4_packing_format="tile_packed_to_4d"),
}[sys.argv[1]]()
model = AutoModelForCausalLM.from_pretrained(tiny.folder(), dtype=torch.bfloat16).cuda().eval()
q.quantize_(model, config)
with torch.no_grad():
    model(**tiny.batch())
