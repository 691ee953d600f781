"""Builds causal language models of transformers on the meta device, with configs whose numbers are symbols."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import random
import re
import sys
import typing
from collections import Counter
from typing import Any

import torch
import transformers
from symbols import Shapes, Sym, SymbolicInt, SymFloat
from transformers import PreTrainedConfig
from transformers.configuration_utils import ALLOWED_LAYER_TYPES
from transformers.initialization import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)

transformers.logging.set_verbosity_error()

# Beside causal language models: models that read images with an encoder.
WITH_IMAGES = (
    "aya_vision glm4v got_ocr2 idefics3 internvl llava llava_next llava_onevision mistral3 paligemma qwen2_vl "
    "qwen2_5_vl qwen3_vl qwen3_vl_moe smolvlm"
).split()
NESTED = [*WITH_IMAGES, "moss_transcribe_diarize"]  # classes that take other nested defaults where JSON has none
MODELS = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES | {n: MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[n] for n in WITH_IMAGES}

GENERAL = {f.name for f in dataclasses.fields(PreTrainedConfig)} - {"tie_word_embeddings"}
IRRELEVANT = re.compile(
    r"token_id|token_index|use_cache|dropout|^output_|init|eps$|_eps_|epsilon|router_aux|aux_loss|jitter|^scale_attn|pretraining_tp|"
    r"^rope_|gradient_checkpointing|return_dict|routed_scaling|top_k|topk|temperature"
)


@dataclasses.dataclass
class Built:
    """One config, and the tensors of its model: how often each (name with its layer as *, dims, dtype) is there."""

    fields: dict[str, Any]  # every field by its dotted name, as the config has it when it is made
    given: dict[str, Any]  # the fields that its JSON has
    rows: dict[tuple[str, tuple[str, ...], str], Counter[int]]  # the layers of each, with their number
    counts: dict[str, int]  # layers under each prefix
    elements: dict[str, int]  # by dtype
    derived: dict[str, str]  # fields that the class computed: the expressions
    config: Any

    def raw(self, field: str) -> Any:
        """What JSON has for a field, else the class's default: before the class computes."""
        return self.given.get(field, plain(all_defaults(type(self.config)).get(field)))


@functools.cache
def all_defaults(cls: Any) -> dict[str, Any]:
    return defaults(cls)


def config_class(model_type: str) -> Any:
    return CONFIG_MAPPING[model_type]


def model_class(model_type: str) -> Any:
    return getattr(transformers, MODELS[model_type])


@functools.cache
def sub_classes(cls: Any) -> dict[str, Any]:
    """The classes of nested configs; of those that may be of any class, that of the default."""
    made = cls()
    subs = {name: type(getattr(made, name, None)) for name in cls.sub_configs}
    return {name: sub for name, sub in subs.items() if issubclass(sub, PreTrainedConfig)}


def declared(cls: Any) -> dict[str, Any]:
    return {f.name: f for f in dataclasses.fields(cls) if f.name not in GENERAL and f.init}


def takes_int(field: Any) -> bool:
    kind = field.type
    if isinstance(kind, str):
        return bool(re.search(r"\bint\b", kind))
    args = typing.get_args(kind)
    return kind is int or int in args


def defaults(cls: Any, prefix: str = "") -> dict[str, Any]:
    """Every field by its dotted name with what the class says where JSON has none."""
    out: dict[str, Any] = {}
    subs = sub_classes(cls)
    for name, field in declared(cls).items():
        if name in subs:
            continue
        value = None
        if field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        out[prefix + name] = value
    for name, sub in subs.items():
        out |= defaults(sub, f"{prefix}{name}.")
    return out


PER_LAYER = "allow_global_per_layer_attribute_access"  # fields that layers have values for may be read
LITERAL = r"(-?[\d.]+|True|False|None|\"[^\"]*\"|\[\])"


@functools.cache
def undeclared(model_type: str) -> dict[str, Any]:
    """Fields that code reads although no class declares them, with what it takes where JSON has none.

    The config's own code pops them from its other arguments; the model's code asks with getattr.
    """
    out: dict[str, Any] = {}
    cls = config_class(model_type)
    for prefix, sub in [("", cls)] + [(f"{n}.", c) for n, c in sub_classes(cls).items()]:
        found = re.findall(rf'kwargs\.(?:pop|get)\("(\w+)",\s*{LITERAL}\)', inspect.getsource(sub))
        if prefix == ("text_config." if "text_config" in sub_classes(cls) else ""):
            source = inspect.getsource(sys.modules[model_class(model_type).__module__])
            found += re.findall(rf'getattr\((?:self\.)?(?:text_)?config,\s*"(\w+)",\s*{LITERAL}\)', source)
            found += [(n, "None") for n in re.findall(r'getattr\(\s*(?:self\.)?(?:text_)?config,\s*"(\w+)",', source)]
        for name, literal in found:
            if (
                name not in declared(sub)
                and name not in GENERAL
                and not IRRELEVANT.search(name)
                and not name.startswith("_")
            ):
                out.setdefault(prefix + name, ast.literal_eval(literal))
    return out


def text_from_flat(model_type: str) -> bool:
    """Whether the class takes the fields of its text_config from its own, where JSON has none."""
    return bool(re.search(r"text_config = \{key: kwargs\.pop\(key\)", inspect.getsource(config_class(model_type))))


def renames(model_type: str) -> dict[str, str]:
    """Fields that code of the config sets from other names in JSON, with these names."""
    found = re.findall(
        r'self\.(\w+) = kwargs\.pop\(\s*"(\w+)"(?:\)|,\s*self\.)', inspect.getsource(config_class(model_type))
    )
    return {own: other for own, other in found if own in declared(config_class(model_type))}


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        at = out
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return out


def with_types(cls: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a nested config with the model_type that says which class it is of."""
    for name, sub in sub_classes(cls).items():
        if name in values:
            values[name] = {"model_type": sub.model_type} | with_types(sub, values[name])
    return values


def symbolic(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Sym(value, name)
    if isinstance(value, float):
        return SymFloat(value, name)
    if isinstance(value, list | tuple) and value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        return type(value)(Sym(v, f"{name}[{i}]") for i, v in enumerate(value))
    return value


def plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int.__int__(value) if type(value) is not int else value
    if isinstance(value, float):
        return float.__add__(value, 0.0)
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return None


def walk(config: Any, prefix: str = "") -> list[tuple[Any, str, str]]:
    """Each field of a config and of its nested ones: the object, the field's name and its dotted name."""
    out = []
    subs = sub_classes(type(config))
    for name in declared(type(config)):
        if name not in subs:
            out.append((config, name, prefix + name))
    for name in subs:
        if isinstance(sub := getattr(config, name, None), PreTrainedConfig):
            out += walk(sub, f"{prefix}{name}.")
    return out


def keep_symbols(*classes: Any) -> None:
    """Makes int() keep symbols in the modules of these classes."""
    for cls in classes:
        sys.modules[cls.__module__].__dict__.setdefault("int", SymbolicInt)


def configured(model_type: str, given: dict[str, Any]) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """A config whose numbers are symbols, its fields, and the expressions of those that were computed."""
    cls = config_class(model_type)
    keep_symbols(cls, *sub_classes(cls).values())
    known = undeclared(model_type) | all_defaults(cls)
    values = {k: v for k, v in known.items() if v is not None and takes_symbol(v)} | given
    config = cls(**with_types(cls, nested({k: symbolic(k, v) for k, v in values.items()})))
    derived = {}
    for part in (config, *(getattr(config, n, None) for n in sub_classes(cls))):
        if hasattr(part, PER_LAYER):
            setattr(part, PER_LAYER, True)
    for owner, name, dotted in walk(config):
        value = getattr(owner, name, None)
        if isinstance(value, Sym) and value.expr != dotted:
            derived[dotted] = value.expr
            setattr(owner, name, Sym(plain(value), dotted))
        elif isinstance(value, SymFloat):
            continue
        elif isinstance(value, list) and value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            setattr(owner, name, symbolic(dotted, plain(value)))
        elif isinstance(value, int) and not isinstance(value, bool | Sym):
            setattr(owner, name, Sym(value, dotted))
    fields = {dotted: plain(getattr(owner, name, None)) for owner, name, dotted in walk(config)}
    fields |= {name: plain(given.get(name, value)) for name, value in undeclared(model_type).items()}
    return config, fields, derived


def text_config(model_cls: Any, config: Any) -> Any:
    """The part of a config that a causal language model of this class takes, as AutoModelForCausalLM has it."""
    sub = getattr(config, "text_config", None)
    return (
        sub
        if sub is not None
        and isinstance(sub, model_cls.config_class)
        and not isinstance(config, model_cls.config_class)
        else config
    )


def build(model_type: str, given: dict[str, Any]) -> Built:
    """The model of a config with these fields."""
    model_cls = model_class(model_type)
    keep_symbols(model_cls)
    config, fields, derived = configured(model_type, given)
    shapes = Shapes()
    if getattr(config, "dtype", None) is not None:
        config.dtype = torch.bfloat16
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with no_init_weights(), torch.device("meta"), shapes:
            model = model_cls(text_config(model_cls, config))
            model.tie_weights()
    finally:
        torch.set_default_dtype(before)
    rows: dict[tuple[str, tuple[str, ...], str], Counter[int]] = {}
    counts: dict[str, int] = {}
    elements: dict[str, int] = {}
    persistent = set(model.state_dict())
    tensors = list(model.named_parameters())
    tensors += [(n, b) for n, b in model.named_buffers() if n in persistent]
    for name, tensor in tensors:
        dtype = "" if tensor.dtype == torch.bfloat16 else str(tensor.dtype).removeprefix("torch.")
        elements[dtype] = elements.get(dtype, 0) + tensor.numel()
        found = re.search(r"\.(\d+)(?=\.|$)", name)
        layer = int(found[1]) if found else 0
        pattern = name if not found else f"{name[: found.start()]}.*{name[found.end() :]}"
        pattern = re.sub(r"\.\d+(?=\.|$)", ".#", pattern)
        if found:
            prefix = name[: found.start()]
            counts[prefix] = max(counts.get(prefix, 0), layer + 1)
        dims = tuple(re.sub(rf"\[{layer}\]", "[i]", d) if found else d for d in shapes.of(tensor))
        rows.setdefault((pattern, dims, dtype), Counter())[layer] += 1
    return Built(fields, {k: plain(v) for k, v in given.items()}, rows, counts, elements, derived, config)


def takes_symbol(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, list | tuple) and bool(value) and isinstance(value[0], int)
    )


def variable(model_type: str, base: dict[str, Any]) -> dict[str, Any]:
    """The fields that may decide what a model has, with their values in base."""
    values = undeclared(model_type) | all_defaults(config_class(model_type)) | base
    return {n: v for n, v in values.items() if not IRRELEVANT.search(n.split(".")[-1])}


def change(model_type: str, rng: random.Random, base: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Another config: these fields of base changed, as far as another value of their type is known."""
    kinds = dict(flat_fields(config_class(model_type)))
    lists = built_lists(model_type)
    values = variable(model_type, base)
    out = dict(base)
    for name in names:
        value = values[name]
        last = name.split(".")[-1]
        kind = str(kinds[name].type) if name in kinds else "int"
        if isinstance(value, bool):
            out[name] = not value
        elif isinstance(value, int):
            out[name] = None if "None" in kind and rng.random() < 0.2 else vary_int(rng, last, value)
        elif name in lists:
            length, words = lists[name]
            out[name] = [rng.choice(words) for _ in range(out.get(length, values.get(length)) or 0)]
        elif "list[int]" in kind and (value is None or value == []):
            out[name] = sorted(rng.sample(range(8), rng.randint(1, 3)))
        elif value is None and name not in kinds:
            out[name] = rng.choice([8, 16, 32, 64])
        elif value is None and takes_int(kinds[name]):
            out[name] = vary_int(rng, last, 32) if "window" in last else rng.choice([2, 4, 8, 16, 32, 64])
        elif isinstance(value, float):
            out[name] = value * rng.choice([2.0, 4.0, 0.5])
    return out


@functools.cache
def built_lists(model_type: str) -> dict[str, tuple[str, list[str]]]:
    """Lists of a word for each layer: the field of their length, and the words of the default."""
    built = build(model_type, small(model_type))
    out = {}
    for name, value in built.fields.items():
        if isinstance(value, list) and value and isinstance(value[0], str):
            lengths = [f for f, v in built.fields.items() if v == len(value) and LAYERS.search(f.split(".")[-1])]
            if lengths:
                whole = default[0].fields.get(name) or value if (default := default_model(model_type)) else value
                out[name] = lengths[0], sorted(set(value) | set(whole) | set(layer_words(model_type)))
    return out


@functools.cache
def default_model(model_type: str) -> list[Built]:
    """The model of the class's defaults, where they make one."""
    try:
        return [build(model_type, {})]
    except Exception:
        return []


@functools.cache
def layer_words(model_type: str) -> list[str]:
    """The kinds of layers that the code of a config and of its models names."""
    modules = [config_class(model_type).__module__, model_class(model_type).__module__]
    source = "".join(inspect.getsource(sys.modules[m]) for m in modules)
    return [w for w in ALLOWED_LAYER_TYPES if f'"{w}"' in source]


def mixed(model_type: str, layers: int) -> dict[str, Any]:
    """Layers of every kind, where the class's defaults leave their kinds to JSON."""
    cls = config_class(model_type)
    kinds, words = dict(flat_fields(cls)), layer_words(model_type)
    out: dict[str, Any] = {}
    for name, value in defaults(cls).items():
        if value is None and name.split(".")[-1] in ("layer_types", "layers_block_type") and words:
            out[name] = [words[k % len(words)] for k in range(layers)]
        elif value is None and "list[int]" in str(kinds[name].type) and re.search(r"attn|attention", name):
            out[name] = [1, layers - 1]
    return out


def flat_fields(cls: Any, prefix: str = "") -> list[tuple[str, Any]]:
    subs = sub_classes(cls)
    out = [(prefix + n, f) for n, f in declared(cls).items() if n not in subs]
    for name, sub in subs.items():
        out += flat_fields(sub, f"{prefix}{name}.")
    return out


LAYERS = re.compile(
    r"^(num_hidden_layers|n_layers?|num_layers|encoder_layers|decoder_layers|num_decoder_layers|num_encoder_layers|depth)$"
)


def vary_int(rng: random.Random, name: str, value: int) -> int:
    if LAYERS.search(name):
        tries = list(range(1, 14))
    elif "window" in name:
        tries = list(range(7, 13))
    elif value <= 16:
        tries = [0, 1, 2, 3, 4, 5, 6, 8, value * 2]
    else:
        tries = [value * 2, value // 2, value + 64, value * 3, max(1, value // 4)]
    return rng.choice([t for t in tries if t != value])


@functools.cache
def small(model_type: str) -> dict[str, Any]:
    """The class's defaults with at most 8 layers in each stack and 8 experts, where that builds."""
    out: dict[str, Any] = {}
    for name, value in defaults(config_class(model_type)).items():
        last = name.split(".")[-1]
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        if LAYERS.search(last) and value > 8:
            out[name] = 8
    absent = missing(model_type)
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    theta = {"rope_theta": 10000.0}
    layers = mixed(model_type, 8)
    extras = (
        *([layers] if layers and not attends(model_type, out) else []),
        {},
        rope,
        {"attn_config.rope_theta": 10000.0},
        {"head_dim": 64},
        theta,
        absent,
        absent | theta,
        {"is_decoder": True},
        layers,
    )
    for more in extras:
        for candidate in (out | more, more):
            try:
                build(model_type, candidate)
                return candidate
            except Exception as e:
                wrong = e
    raise ValueError(f"its default config builds no model: {wrong}")


def attends(model_type: str, given: dict[str, Any]) -> bool:
    """Whether these fields make a model with a layer of attention, or say nothing of layers."""
    try:
        config, *_ = configured(model_type, given)
    except Exception:
        return True
    kinds = getattr(getattr(config, "text_config", None) or config, "layer_types", None)
    kinds = kinds or getattr(config, "layers_block_type", None)
    return not kinds or any("attention" in k and k != "linear_attention" for k in kinds)


@functools.cache
def missing(model_type: str) -> dict[str, Any]:
    """A small number for each field that is one and has no default."""
    cls = config_class(model_type)
    kinds = dict(flat_fields(cls))
    skipped = re.compile(r"token_id|head_dim|window")
    return {n: 2 for n, v in all_defaults(cls).items() if v is None and takes_int(kinds[n]) and not skipped.search(n)}
