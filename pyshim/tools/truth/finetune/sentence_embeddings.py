"""A model of sentence-transformers: trained by its trainer, with a loss that caches gradients, or
asked for embeddings."""

import sys

import tiny
import transformers
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
)
from sentence_transformers.models import Pooling, Transformer

folder = tiny.output()
transformers.BertModel(
    transformers.BertConfig(
        vocab_size=1024, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256
    )
).save_pretrained(folder)
tiny.tokenizer().save_pretrained(folder)
words = Transformer(folder, max_seq_length=64)
model = SentenceTransformer(modules=[words, Pooling(words.get_word_embedding_dimension())])
if sys.argv[1] == "encode":
    print(model.encode([tiny.text(i, 4 + i) for i in range(32)], batch_size=8).shape)
else:
    rows = Dataset.from_list([{"anchor": tiny.text(i, 8), "positive": tiny.text(i + 1, 8)} for i in range(32)])
    loss = {
        "ranking": lambda: losses.MultipleNegativesRankingLoss(model),
        "cached": lambda: losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=4),
        "matryoshka": lambda: losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [128, 64]),
    }[sys.argv[1]]()
    SentenceTransformerTrainer(
        model,
        SentenceTransformerTrainingArguments(
            tiny.output(), per_device_train_batch_size=8, max_steps=3, bf16=True, report_to=[], save_strategy="no"
        ),
        train_dataset=rows,
        loss=loss,
    ).train()
