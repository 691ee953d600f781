"""Two adapters: trained in turn, combined, merged into the weights, saved and loaded again."""

import tempfile

import peft
import tiny
import torch
from transformers import AutoModelForCausalLM

layers = {"target_modules": "all-linear", "task_type": "CAUSAL_LM"}
model = AutoModelForCausalLM.from_pretrained(tiny.folder()).cuda()
model = peft.get_peft_model(model, peft.LoraConfig(r=8, **layers), adapter_name="one")
model.add_adapter("two", peft.LoraConfig(r=16, **layers))
for name in ("one", "two"):
    model.set_adapter(name)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for _ in range(2):
        model(**tiny.batch()).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
model.add_weighted_adapter(["one", "two"], [0.5, 0.5], "both", combination_type="cat")
model.set_adapter("both")
kept = tempfile.mkdtemp()
model.save_pretrained(kept)
with torch.no_grad(), model.disable_adapter():
    model(**tiny.batch())
merged = model.merge_and_unload()
with torch.no_grad():
    merged(**tiny.batch())
again = peft.PeftModel.from_pretrained(
    AutoModelForCausalLM.from_pretrained(tiny.folder()).cuda(), kept + "/one", is_trainable=True
)
again(**tiny.batch()).loss.backward()
