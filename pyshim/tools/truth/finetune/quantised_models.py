"""A quantised model as transformers loads it: compressed-tensors made on the spot; gptq and awq by
the config of a folder, which name the library that they want."""

import json
import pathlib
import shutil
import sys

import tiny
import torch
from transformers import AutoModelForCausalLM

folder = pathlib.Path(tiny.output())
if sys.argv[1] in ("gptq", "awq"):
    shutil.copytree(tiny.folder(), folder, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": sys.argv[1], "bits": 4, "group_size": 64}
    (folder / "config.json").write_text(json.dumps(config))
else:
    from compressed_tensors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config, preset_name_to_scheme

    model = AutoModelForCausalLM.from_pretrained(tiny.folder())
    scheme = preset_name_to_scheme(sys.argv[1], targets=["Linear"])
    apply_quantization_config(model, QuantizationConfig(config_groups={"all": scheme}, ignore=["lm_head"]))
    compressor = ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    model.save_pretrained(folder)
    compressor.update_config(folder)
    tiny.tokenizer().save_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, device_map={"": 0}).eval()
with torch.no_grad():
    model(**tiny.batch())
    model.generate(tiny.batch(tokens=16)["input_ids"], max_new_tokens=8, do_sample=False)
print(torch.cuda.max_memory_allocated())
