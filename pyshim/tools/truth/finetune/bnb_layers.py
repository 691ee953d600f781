"""A model that bitsandbytes quantises while it is loaded, in a pass without gradients: nf4, fp4,
double or int8."""

import sys

import tiny
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

four = {"load_in_4bit": True, "bnb_4bit_compute_dtype": torch.bfloat16}
quantization = {
    "nf4": BitsAndBytesConfig(**four, bnb_4bit_quant_type="nf4"),
    "fp4": BitsAndBytesConfig(**four, bnb_4bit_quant_type="fp4"),
    "double": BitsAndBytesConfig(**four, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True),
    "int8": BitsAndBytesConfig(load_in_8bit=True),
}[sys.argv[1]]
model = AutoModelForCausalLM.from_pretrained(tiny.folder(), quantization_config=quantization, device_map={"": 0})
model.eval()
with torch.no_grad():
    model(**tiny.batch())
    model.generate(tiny.batch(tokens=16)["input_ids"], max_new_tokens=8, do_sample=False)
print(model.get_memory_footprint())
