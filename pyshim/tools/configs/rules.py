"""The rules of one architecture, found from its models and compared with others of its models."""

from __future__ import annotations

import contextlib
import random
import re
from collections import Counter
from typing import Any

from learn import Learner, RowKey, Rule, Unknown, evaluate, is_int, namespace, sub_expressions
from probes import Built, build, change, config_class, default_model, flat_fields, undeclared, variable

ATTEMPTS, ROUNDS = 2, 5
SIZES = re.compile(r"head|hidden|dim|d_model|expand|n_embd")


class Rules:
    """What transformers builds for a config of this architecture."""

    def __init__(self, model_type: str, probes: list[Built], sizes: frozenset[str] = frozenset()) -> None:
        self.model_type = model_type
        self.sizes = sizes  # expressions that sizes may have where the probes have plain numbers
        self.learner = Learner(probes)
        self.lists: dict[str, tuple[str, str]] = {}  # of those that JSON leaves out: the length and the item
        self.numbers: dict[str, str] = {}
        self.changed: dict[str, str] = {}
        self.derive(probes)
        keys = self.repaired(probes)
        prefixes = {p: self.learner.layer_count(p) for p in {p for b in probes for p in b.counts}}
        self.varied: set[str] = set()
        self.rules = []
        for key, at in keys.items():
            prefix = key[0].partition(".*")[0]
            layers = prefixes[prefix] if ".*" in key[0] else ""
            try:
                condition = self.learner.condition(layers, set(at))
                times = self.times(at)
            except Unknown as e:
                raise Unknown(f"{key[0]} {key[1]}: {e}") from None
            self.rules.append(Rule(*key, layers, times, condition))

    def derive(self, probes: list[Built]) -> None:
        """Finds what the class makes of fields that JSON leaves out or has as null, and of others that it changes."""
        ints = sorted(self.learner.ints, key=len)
        quotients = [f"{a} // {b}" for a in ints for b in ints if a != b] + [f"-(-{a} // 16)" for a in ints]
        for field in sorted({f for b in probes for f in b.fields} - set(undeclared(self.model_type))):
            after = {k: b.fields.get(field) for k, b in enumerate(probes)}
            if any(isinstance(v, dict | float) for v in after.values()):
                continue
            raw = {k: b.raw(field) for k, b in enumerate(probes)}
            without = {k: v for k, v in after.items() if raw[k] is None}
            given = {k: v for k, v in after.items() if raw[k] is not None}
            if any(v is not None for v in without.values()):
                self.left_out(field, without, ints, quotients)
            if self.word(field, given, raw, ints, quotients):
                continue
            if any(v != raw[k] for k, v in given.items()):
                texts = {
                    k: [field if v == raw[k] else probes[k].derived.get(field) or repr(v)] for k, v in given.items()
                }
                try:
                    self.changed[field] = self.learner.choice(field, "", texts)
                except Unknown:
                    self.changed[field] = ""

    def word(self, field: str, after: dict[int, Any], raw: dict[int, Any], ints: list[str], tries: list[str]) -> bool:
        """Whether a word in place of a number, such as auto, is all that the class changes, and for what number."""
        words = {raw[k] for k, v in after.items() if v != raw[k] and isinstance(raw[k], str)}
        at = [k for k in after if raw[k] in words] if len(words) == 1 else []
        if not at or any(v != raw[k] for k, v in after.items() if k not in at):
            return False
        probes, names = self.learner.probes, self.learner.names
        known = sorted({e for k in at if (e := probes[k].derived.get(field))}, key=len)
        for text in known + [t for t in ints + tries if t != field]:
            if all(evaluate(text, names[k]) == after[k] for k in at):
                self.changed[field] = f"{text} if {field} == {words.pop()!r} else {field}"
                return True
        return False

    def left_out(self, field: str, values: dict[int, Any], ints: list[str], quotients: list[str]) -> None:
        """Finds what a field is where JSON has none."""
        probes, names = self.learner.probes, self.learner.names
        if all(isinstance(v, list) and v and isinstance(v[0], str) for v in values.values()):
            stacks = [f for f in ints if all(probes[k].fields.get(f) == len(v) for k, v in values.items())]
            stacks.sort(key=lambda f: ("layer" not in f, len(f)))
            texts = {k: [repr(w) for w in v] for k, v in values.items()}
            try:
                self.lists[field] = stacks[0], self.learner.choice(field, stacks[0], texts)
            except (Unknown, IndexError):
                self.lists[field] = "", ""
            return
        ours = {k: [probes[k].derived.get(field) or repr(v)] for k, v in values.items()}
        if all(is_int(v) for v in values.values()) and not any(probes[k].derived.get(field) for k in values):
            for text in ints + quotients + [str(next(iter(values.values())))]:
                if text != field and all(evaluate(text, names[k]) == v for k, v in values.items()):
                    ours = {k: [text] for k in values}
                    break
        try:
            self.numbers[field] = self.learner.choice(field, "", ours)
        except Unknown:
            self.numbers[field] = ""

    def repaired(self, probes: list[Built]) -> dict[RowKey, Counter[tuple[int, int]]]:
        """The rows of all probes, with sizes that are plain numbers written as expressions where one fits."""
        rows: dict[RowKey, Counter[tuple[int, int]]] = {}
        for k, built in enumerate(probes):
            for key, layers in built.rows.items():
                at = rows.setdefault(key, Counter())
                for layer, n in layers.items():
                    at[k, layer] += n
        lost: dict[tuple[str, int, str], list[RowKey]] = {}
        for key in rows:
            if any(d.isdigit() for d in key[1]):
                lost.setdefault((key[0], len(key[1]), key[2]), []).append(key)
        known = sub_expressions({d for key in rows for d in key[1]} | set(self.learner.ints) | self.sizes)
        for group in lost.values():
            if len(group) < 2:
                continue
            mixed = [
                key for key in rows if (key[0], len(key[1]), key[2]) == (group[0][0], len(group[0][1]), group[0][2])
            ]
            for rank in range(len(group[0][1])):
                if len({key[1][rank] for key in mixed}) == 1:
                    continue
                seen = {(k, int(key[1][rank])) for key in group if key[1][rank].isdigit() for k, _ in rows[key]}
                for text in known:
                    if all(evaluate(text, self.learner.names[k]) == size for k, size in seen):
                        break
                else:
                    continue
                renamed = []
                for key in group:
                    if not key[1][rank].isdigit():
                        renamed.append(key)
                        continue
                    new = (key[0], (*key[1][:rank], text, *key[1][rank + 1 :]), key[2])
                    rows.setdefault(new, Counter()).update(rows.pop(key))
                    renamed.append(new)
                group = list(dict.fromkeys(renamed))
                mixed = [
                    key for key in rows if (key[0], len(key[1]), key[2]) == (group[0][0], len(group[0][1]), group[0][2])
                ]
        return rows

    def times(self, at: Counter[tuple[int, int]]) -> str:
        if set(at.values()) == {1}:
            return "1"
        ints = sorted(self.learner.ints, key=len)
        tries = (
            ints
            + [str(n) for n in set(at.values())]
            + [f"{a} * {b}" for a in ints for b in ints]
            + [f"{a} - 1" for a in ints]
        )
        for text in tries + [f"{a}[i]" for a in self.learner.fields]:
            if all(evaluate(text, self.learner.names[k] | {"i": i}) == n for (k, i), n in at.items()):
                return text
        raise Unknown("no number")

    def elements(self, fields: dict[str, Any]) -> dict[str, int]:
        """Elements by dtype of a config, by the rules; of a cache by how they grow and their dtype."""
        names = namespace(fields)
        out: dict[str, int] = {}
        for rule in self.rules:
            for i in range(evaluate(rule.layers, names) or 0) if rule.layers else (0,):
                at = names | {"i": i}
                if rule.condition and not evaluate(rule.condition, at):
                    continue
                n = evaluate(rule.times, at) or 0
                for d in rule.dims:
                    n *= evaluate(d, at) or 0
                out[rule.dtype] = out.get(rule.dtype, 0) + n
        return {k: v for k, v in out.items() if v}

    def agree(self, built: Built) -> bool:
        """Whether the rules give what was built, and the fields what the class made of them."""
        if self.elements(built.fields) != {k: v for k, v in built.elements.items() if v}:
            return False
        names = namespace(built.fields)
        for field, after in built.fields.items():
            raw = built.raw(field)
            if isinstance(after, dict | float) or field in undeclared(self.model_type):
                continue
            if raw is not None:
                text = self.changed.get(field, field)
                before = namespace(built.fields | {field: raw})
                if text and evaluate(text, before) != after:
                    return False
            elif field in self.lists and all(self.lists[field]):
                length, item = self.lists[field]
                if [evaluate(item, names | {"i": i}) for i in range(evaluate(length, names) or 0)] != after:
                    return False
            elif (
                field not in self.lists and (text := self.numbers.get(field, "None")) and evaluate(text, names) != after
            ):
                return False
        return True


def probes(model_type: str, make: Any, base: dict[str, Any], rng: random.Random, together: int) -> list[Built]:
    """Configs that differ from base in so many fields, as make measures them: each field in at least one of them.

    Fields that cannot change together are changed in smaller groups, and those that cannot change at all are left.
    """
    names = list(variable(model_type, base))
    rng.shuffle(names)
    groups = [names[k : k + together] for k in range(0, len(names), together)]
    out: list[Built] = []
    while groups:
        group = groups.pop()
        given = change(model_type, rng, base, group)
        if given == base:
            continue
        try:
            out.append(make(model_type, given))
        except Exception:
            if len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            else:
                out += paired(model_type, make, base, given, group[0])
    return out


def nulls(model_type: str, make: Any, base: dict[str, Any]) -> list[Built]:
    """For each number that may be null and has a default, base with null in its place, where that can be built."""
    kinds = dict(flat_fields(config_class(model_type)))
    out = []
    for name, value in variable(model_type, base).items():
        if is_int(value) and name in kinds and "None" in str(kinds[name].type):
            with contextlib.suppress(Exception):
                out.append(make(model_type, base | {name: None}))
    return out


def paired(model_type: str, make: Any, base: dict[str, Any], given: dict[str, Any], name: str) -> list[Built]:
    """A config with a field changed that cannot change alone: another number is changed by the same factor."""
    values = variable(model_type, base)
    before, after = values[name], given[name]
    if not (is_int(before) and is_int(after) and before and after > 0 and SIZES.search(name)):
        return []
    for other, value in values.items():
        if other == name or not is_int(value) or not value or not SIZES.search(other) or value * after % before:
            continue
        try:
            return [make(model_type, given | {other: value * after // before})]
        except Exception:
            continue
    return []


def learn(
    model_type: str, make: Any, base: dict[str, Any], sweeps: int, together: int, sizes: frozenset[str] = frozenset()
) -> tuple[Rules, list[Built]]:
    """The rules, and other configs for which they are right: none of these took part in finding them."""
    wrong: Exception | None = None
    for attempt in range(ATTEMPTS):
        rng = random.Random(f"{model_type} {attempt}")
        train = [make(model_type, base)]
        for _ in range(sweeps):
            train += probes(model_type, make, base, rng, together)
        train += nulls(model_type, make, base)
        for _ in range(ROUNDS):
            try:
                rules = Rules(model_type, train, sizes)
            except Unknown as e:
                wrong = wrong or e
                break
            fresh = probes(model_type, make, base, rng, together + 2)
            if make is build:
                fresh += default_model(model_type)
            if all(rules.agree(b) for b in fresh):
                rules.varied = {f for b in train + fresh for f, v in b.given.items() if v != base.get(f)}
                return rules, fresh
            train += fresh
    raise wrong or Unknown("rules were wrong for other configs")
