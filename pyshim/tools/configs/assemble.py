"""Writes the table of architectures, and the configs that a test compares it with.

    python pyshim/tools/configs/assemble.py FOLDER

FOLDER is what __main__.py filled. The table and the configs go to engine/artifact/modelfolder. An
architecture that FOLDER has no file of keeps what the table has of it.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from probes import (
    MODELS,
    NESTED,
    build,
    config_class,
    mixed,
    model_class,
    nested,
    renames,
    small,
    sub_classes,
    text_from_flat,
    with_types,
)
from transformers.initialization import no_init_weights

PACKAGE = Path(__file__).parents[3] / "engine" / "artifact" / "modelfolder"
SHOWN = 3  # configs of each architecture that the test has, the class's defaults apart
# Fields that sizes of an engine's tables and buffers are read from, beside those of the rules.
ENGINE = (
    "hidden_size num_hidden_layers num_attention_heads vocab_size max_position_embeddings head_dim qk_rope_head_dim "
    "num_experts_per_tok moe_topk moe_k num_experts_per_token moe_intermediate_size expert_ffn_hidden_size "
    "intermediate_size ffn_hidden_size "
    "n_positions n_ctx max_seq_len n_layer n_layers n_embd d_model rope_theta partial_rotary_factor"
).split()


def fields_of(text: str) -> set[str]:
    """The dotted names in an expression."""
    out = set()
    for node in ast.walk(ast.parse(text or "None", mode="eval")):
        if isinstance(node, ast.Attribute | ast.Name):
            out.add(ast.unparse(node))
    return out


def words_of(d: dict[str, Any]) -> dict[str, list[str]]:
    """Lists of words, such as the kinds of layers: the words that configs had. No rule speaks of another."""
    words: dict[str, set[str]] = {}
    texts = []
    for part in (d["parameters"], d["cache"]):
        for field, (_, item) in part.get("lists", {}).items():
            words.setdefault(field, set()).update(words_in(item))
        for given, _ in part.get("compared", []):
            for field, value in given.items():
                if isinstance(value, list) and any(isinstance(v, str) for v in value):
                    words.setdefault(field, set()).update(value)
        texts += [row[5] for row in part.get("rows", [])]
    for text in texts:
        for node in ast.walk(ast.parse(text or "None", mode="eval")):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Subscript):
                words.setdefault(ast.unparse(node.left.value), set()).update(words_in(ast.unparse(node)))
    return {field: sorted(of) for field, of in words.items() if of}


def words_in(text: str) -> set[str]:
    nodes = ast.walk(ast.parse(text or "None", mode="eval"))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def lines_of(name: str, d: dict[str, Any]) -> list[list[str]]:
    parameters, cache = d["parameters"], d["cache"]
    out = [["architecture", name, d["class"]]]
    out += [["alias", alias, own] for alias, own in sorted(d["aliases"].items())]
    rows = []
    for kind, part in (("tensor", parameters), ("cache", cache)):
        if "unknown" in part:
            rows.append(
                [f"no-{kind.removesuffix('s')}s".replace("caches", "cache"), part["unknown"].replace("\t", " ")[:160]]
            )
        for row_name, dims, dtype, layers, times, condition in part.get("rows", []):
            rows.append([kind, row_name, "; ".join(dims), dtype, layers, "" if times == "1" else times, condition])
    used = {
        f
        for row in rows
        if row[0] in ("tensor", "cache")
        for text in (*row[2].split("; "), *row[4:])
        for f in fields_of(text)
    }
    used |= {f for f in d["defaults"] if f.split(".")[-1] in ENGINE}
    numbers = cache.get("numbers", {}) | parameters.get("numbers", {})
    lists = cache.get("lists", {}) | parameters.get("lists", {})
    changed = cache.get("changed", {}) | parameters.get("changed", {})
    while True:
        more = {g for f in used if f in numbers for g in fields_of(numbers[f])}
        more |= {g for f in used if f in changed for g in fields_of(changed[f])}
        more |= {g for f in used if f in lists for text in lists[f] for g in fields_of(text)}
        if more <= used:
            break
        used |= more
    for field in sorted(used):
        default = d["defaults"].get(field)
        if default is not None:
            out.append(["default", field, json.dumps(default)])
        if field in lists:
            out.append(["items", field, *lists[field]])
        if field in numbers:
            out.append(["derived", field, numbers[field]])
        if field in changed:
            out.append(["changed", field, changed[field]])
    out += [["words", field, *words] for field, words in sorted(words_of(d).items())]
    if {"rope_parameters", "text_config.rope_parameters"} & set(d["defaults"]):
        out.append(["rotary"])
    for field in parameters.get("fixed", []):
        if isinstance(d["defaults"].get(field), int):
            out.append(["fixed", field, json.dumps(d["defaults"][field])])
    if name in NESTED:
        out += [["fixed", f"{at}.model_type", json.dumps(cls.model_type)] for at, cls in parts(config_class(name))]
        if text_from_flat(name):
            out.append(["flat", "text_config"])
    return out + rows


def parts(cls: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """The classes of nested configs by their dotted names."""
    out = []
    for name, sub in sub_classes(cls).items():
        out += [(prefix + name, sub), *parts(sub, f"{prefix}{name}.")]
    return out


def renamed(name: str, d: dict[str, Any]) -> None:
    """Adds the other names that the class takes fields from, and a config with each of them to compare with."""
    parameters = d["parameters"]
    if "unknown" in parameters:
        return
    for own, other in renames(name).items():
        default = d["defaults"][own]
        if isinstance(default, bool):
            value: Any = not default
        elif isinstance(default, int):
            value = default * 2
        else:
            continue
        known = own not in parameters["changed"]
        parameters["changed"][own] = f"{other} if {other} is not None else {own}" if known else ""
        given = mixed(name, 8) | small(name) | {other: value}
        try:
            parameters["compared"].insert(0, [given, build(name, given).elements])
        except ValueError:  # the class's sizes are checked together
            parameters["changed"][own] = ""


def compared(name: str, d: dict[str, Any]) -> list[dict[str, Any]]:
    """Configs with what transformers makes of them: elements of parameters, or of a cache, by kind."""
    out = []
    cls = config_class(name)
    for part, key in ((d["parameters"], "parameters"), (d["cache"], "cache")):
        seen = part.get("compared", [])
        whole = [c for c in seen if not c[0]] if key == "parameters" else []
        if name in NESTED:  # without a nested config the class takes another than that one's class has
            seen, whole = [c for c in seen if c[0]], default_elements(name) if whole else []
        for given, elements in seen[:SHOWN] + whole * (name not in NESTED):
            config = {"model_type": name} | with_types(cls, nested(given))
            out.append({"config": config, key: elements})
            if name in NESTED and text_from_flat(name):
                text = {k: v for k, v in config.get("text_config", {}).items() if k != "model_type"}
                out.append({"config": {k: v for k, v in config.items() if k != "text_config"} | text, key: elements})
        for _, elements in whole:  # as save_pretrained writes it
            saved = json.loads(cls().to_json_string(use_diff=False))
            kept = {
                k: v
                for k, v in saved.items()
                if k not in ("id2label", "label2id", "task_specific_params", "architectures")
            }
            out.append(
                {"config": {k: v for k, v in kept.items() if v is not None or k in d["defaults"]}, key: elements}
            )
    return out


def default_elements(name: str) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """Elements of the model of the class's own default, by dtype ("" for the model's); none where it makes none."""
    try:
        with no_init_weights(), torch.device("meta"):
            model = model_class(name)(config_class(name)())
            model.tie_weights()
    except ValueError:
        return []
    persistent = set(model.state_dict())
    tensors = [*model.parameters(), *(b for n, b in model.named_buffers() if n in persistent)]
    return [({}, {"": sum(t.numel() for t in tensors)})]


def before() -> tuple[dict[str, list[list[str]]], dict[str, list[dict[str, Any]]]]:
    """Lines of the table and configs that are there already, by architecture."""
    lines: dict[str, list[list[str]]] = {}
    for line in (PACKAGE / "architectures.txt").read_text().splitlines()[1:]:
        columns = line.split("\t")
        if columns[0] == "architecture":
            name = columns[1]
        lines.setdefault(name, []).append(columns)
    configs: dict[str, list[dict[str, Any]]] = {}
    for line in (PACKAGE / "testdata" / "transformers.jsonl").read_text().splitlines():
        row = json.loads(line)
        configs.setdefault(row["config"]["model_type"], []).append(row)
    return lines, configs


def main(folder: Path) -> None:
    had, had_configs = before()
    lines = [
        [
            "#",
            f"transformers {transformers.__version__}, by pyshim/tools/configs. Columns: tensor or cache, name, sizes, "
            "dtype or growth, layers, times, condition.",
        ]
    ]
    configs = []
    for name, cls in sorted(MODELS.items()):
        path = folder / f"{name}.json"
        if not path.exists() or path.stat().st_size == 0:
            if name in had:
                lines += had[name]
                configs += had_configs.get(name, [])
                continue
            why = "its models have not been measured"
            lines += [["architecture", name, cls], ["no-tensors", why], ["no-cache", why]]
            continue
        d = {"defaults": {}} | json.loads(path.read_text())
        renamed(name, d)
        lines += lines_of(name, d)
        configs += compared(name, d)
    text = "\n".join("\t".join(line).rstrip("\t") for line in lines) + "\n"
    (PACKAGE / "architectures.txt").write_text(text)
    rows = [json.dumps(c, separators=(",", ":"), sort_keys=True) for c in configs]
    (PACKAGE / "testdata").mkdir(exist_ok=True)
    (PACKAGE / "testdata" / "transformers.jsonl").write_text("\n".join(rows) + "\n")
    print(f"{len(text)} bytes of rules, {sum(map(len, rows))} of {len(rows)} configs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
