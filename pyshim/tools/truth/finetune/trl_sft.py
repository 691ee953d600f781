"""Supervised fine-tuning by trl: plain, packed, padding-free, on the assistant's words alone, or of
an adapter on a quantised model."""

import sys

import tiny
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

how = sys.argv[1]
chats = [
    {"messages": [{"role": "user", "content": tiny.text(i, 8)}, {"role": "assistant", "content": tiny.text(i, 40)}]}
    for i in range(32)
]
texts = [{"text": tiny.text(i, 20 + 5 * (i % 9))} for i in range(64)]
data = Dataset.from_list(chats if how == "assistant" else texts)
settings = {
    "plain": {},
    "packed": {"packing": True},
    "wrapped": {"packing": True, "packing_strategy": "wrapped"},
    "padding-free": {"padding_free": True, "max_length": None},
    "assistant": {"assistant_only_loss": True},
    "qlora": {"optim": "paged_adamw_32bit"},
    "liger": {"use_liger_kernel": True},
    "offload": {"activation_offloading": True, "gradient_checkpointing": False},
}[how]
arguments = SFTConfig(
    tiny.output(),
    per_device_train_batch_size=4,
    max_steps=3,
    report_to=[],
    save_strategy="no",
    **{"max_length": 128} | settings,
)
quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16) if how == "qlora" else None
arguments.model_init_kwargs = {"dtype": torch.bfloat16, "quantization_config": quantization}
SFTTrainer(
    tiny.folder(),
    arguments,
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(tiny.folder()),
    peft_config=LoraConfig(r=8, target_modules="all-linear") if how == "qlora" else None,
).train()
