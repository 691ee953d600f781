"""What trl learns from answers that people prefer: dpo, its form with an adapter, orpo, kto, cpo, a
reward model."""

import sys

import tiny
import trl
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

how = sys.argv[1]
pairs = [
    {"prompt": tiny.text(i, 8), "chosen": " " + tiny.text(i, 40), "rejected": " " + tiny.text(i + 1, 30)}
    for i in range(16)
]
answers = [{"prompt": tiny.text(i, 8), "completion": " " + tiny.text(i, 40), "label": i % 2 == 0} for i in range(16)]
whole = [{"chosen": p["prompt"] + p["chosen"], "rejected": p["prompt"] + p["rejected"]} for p in pairs]


def of(name):
    """From trl, or from where it keeps what is not settled."""
    if hasattr(trl, name):
        return getattr(trl, name)
    import importlib

    kind = name.removesuffix("Config").removesuffix("Trainer").lower()
    return getattr(importlib.import_module(f"trl.experimental.{kind}"), name)


kind = {"dpo": "DPO", "dpo-adapter": "DPO", "orpo": "ORPO", "kto": "KTO", "cpo": "CPO", "reward": "Reward"}[how]
arguments = of(kind + "Config")(
    output_dir=tiny.output(),
    per_device_train_batch_size=4,
    max_length=128,
    max_steps=3,
    report_to=[],
    save_strategy="no",
)
model = (
    AutoModelForSequenceClassification.from_pretrained(tiny.folder(one_label=True))
    if how == "reward"
    else AutoModelForCausalLM.from_pretrained(tiny.folder())
)
of(kind + "Trainer")(
    model=model,
    args=arguments,
    train_dataset=Dataset.from_list({"kto": answers, "reward": whole}.get(how, pairs)),
    processing_class=AutoTokenizer.from_pretrained(tiny.folder()),
    peft_config=LoraConfig(r=8, target_modules="all-linear") if how == "dpo-adapter" else None,
).train()
