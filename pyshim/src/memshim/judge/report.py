"""What is said of a case that was run: memspec verify compares, this reads its answer."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

from memshim import binary, sizes
from memshim.case import memspec_yaml, record
from memshim.gpu import devices

PHASES = {"baseline": "baseline", "first": "first pass", "steady": "steady pass"}


class Comparison(NamedTuple):
    """One record compared with its case's prediction. why_not: why it could not be; empty where it
    was."""

    text: str  # memspec's account
    rows: list[dict[str, Any]]  # phase, metric, predicted, measured, difference, under
    findings: list[dict[str, Any]]  # metric, text, warn, under, unknown
    events: dict[str, Any] | None
    why_not: str

    @property
    def outcome(self) -> str:
        """Of the run alone, whatever the prediction came to."""
        if any(not f["warn"] and not f["unknown"] for f in self.findings):
            return "fail"
        if any(f["unknown"] for f in self.findings):
            return "inconclusive"
        return "warn" if self.findings else "pass"

    def peak(self, metric: str) -> int | None:
        return next((r["measured"] for r in self.rows if (r["phase"], r["metric"]) == ("peak", metric)), None)


def compare(spec: str, measured: dict[str, Any], extra: Sequence[str] = ()) -> Comparison:
    """Hold a record against the case of its name in a memspec.yaml. extra are arguments that check
    has too."""
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        record.write(measured, folder)
        arguments = ["verify", *memspec_yaml.selected(spec, [measured["case"]]), "--measured", folder, *extra]
        arguments += ["--on", "pretend"] if measured["where"] == "pretend" else []
        answer = memspec_yaml.ask(*arguments)["cases"][0]
        text, _, _ = binary.call(*arguments)
        blank = r"\s+(?:\\\n\s*)?"  # a long command is continued with a backslash
        text = re.sub(f"{blank}--measured{blank}{re.escape(folder)}", "", text).replace(folder + "/", "")
        text = "\n".join(text.rstrip("\n").split("\n")[:-1])  # less the line that counts
    if not answer["measured"]:
        return Comparison(text, [], [], None, "; ".join(s["why"] for s in answer["skipped"]) or answer["error"])
    got = answer["measured"][0]
    return Comparison(text, got["rows"], got["findings"], got["events"], "")


def device_for(case: dict[str, Any], seen: devices.Seen) -> tuple[dict[str, Any] | None, str]:
    """The GPU of this machine that a case is for, or why running it would record nothing: compute
    capability and memory decide; drivers report memory a little differently."""
    wanted = case["device"]
    for device in seen.devices:
        if wanted["compute_capability"] == device["compute_capability"] and (
            not wanted["memory"] or abs(wanted["memory"] - device["total"]) <= 0.04 * wanted["memory"]
        ):
            return device, ""
    if not seen.devices:
        return None, seen.why
    names = ", ".join(dict.fromkeys(_what(d) for d in seen.devices))
    return None, f"this GPU is {names}, the case is for {wanted['name']}" if len(seen.devices) == 1 else (
        f"the GPUs here are {names}, the case is for {wanted['name']}"
    )


def _what(device: dict[str, Any]) -> str:
    """A part of a card (MIG) is reported by its name, which says so, and its memory; one that shares
    the machine's memory says that."""
    if " MIG " in device["name"]:
        return f"{device['name']} with {sizes.show(device['total'])}"
    return str(device["name"]) + (" (integrated)" if device.get("integrated") else "")


def recorded_line(measured: dict[str, Any]) -> str:
    """What a record that is of no real GPU may say."""
    if measured["where"] == "cpu":
        metric, at, never = "requested", "CPU tensors (no GPU)", "never compared with the allocator's numbers"
    else:
        metric, at, never = "reserved", f"a pretend GPU ({measured['device']['name']})", "no measurement of a real one"
    peaks = ", ".join(f"{PHASES[p['name']]} {sizes.show(p[metric])}" for p in measured["phases"])
    unit = " reserved" if metric == "reserved" else ""
    oom = f"; out of memory: {measured['oom']['text']}" if measured["oom"] else ""
    return f"RECORDED {measured['case']} on {at}: {peaks}{unit}{oom}; {never}"
