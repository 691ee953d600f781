"""What is said of a case that was run: memspec verify compares, this reads its answer."""

from __future__ import annotations

import re
import tempfile
from typing import NamedTuple

from memshim import binary, cases, sizes
from memshim.run import record

PHASES = {"baseline": "baseline", "first": "first pass", "steady": "steady pass"}


class Comparison(NamedTuple):
    """One record held against its case's prediction. why_not: why it could not be; empty where it was."""

    text: str  # memspec's account
    rows: list[dict]  # phase, metric, predicted, measured, difference, under
    findings: list[dict]  # metric, text, warn, under, unknown
    events: dict | None
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


def compare(spec: str, measured: dict, extra: list[str] = ()) -> Comparison:
    """Hold a record against the case of its name in a memspec.yaml. extra are arguments that check has too."""
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        record.write(measured, folder)
        arguments = ["verify", *cases.selected(spec, [measured["case"]]), "--measured", folder, *extra]
        answer = cases.ask(*arguments)["cases"][0]
        text, _, _ = binary.call(*arguments)
        blank = r"\s+(?:\\\n\s*)?"  # a long command is continued with a backslash
        text = re.sub(f"{blank}--measured{blank}{re.escape(folder)}", "", text).replace(folder + "/", "")
        text = "\n".join(text.rstrip("\n").split("\n")[:-1])  # less the line that counts
    if not answer["measured"]:
        return Comparison(text, [], [], None, "; ".join(s["why"] for s in answer["skipped"]) or answer["error"])
    got = answer["measured"][0]
    return Comparison(text, got["rows"], got["findings"], got["events"], "")


def why_other_device(case: dict, device: dict) -> str:
    """Why running a case on this GPU would tell nothing: compute capability and memory decide; drivers report memory a little differently."""
    wanted = case["device"]
    same = wanted["compute_capability"] == device["compute_capability"] and (
        not wanted["memory"] or abs(wanted["memory"] - device["total"]) <= 0.04 * wanted["memory"])
    return "" if same else f"{device['name']}, the case is for {wanted['name']}"


def cpu_line(measured: dict) -> str:
    """What a record on CPU tensors may say."""
    peaks = ", ".join(f"{PHASES[p['name']]} {sizes.show(p['requested'])}" for p in measured["phases"])
    return f"RECORDED {measured['case']} on CPU tensors (no GPU): {peaks}; never compared with the allocator's numbers"
