"""The comparison as text."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from oracle.compare import Verdict, compare
from oracle.configuration import Prediction, Run

CAUSES = {
    "locals-unknown": "the archive does not record Python's names (locals-unknown)",
    "operators-differ": "the live model runs other operators (operators-differ)",
}
HOLDS = ("equal", "within", "none")  # none: memspec says that it cannot say


class Row(NamedTuple):
    """A model with its runs and predictions."""

    model: str
    kinds: list[str]
    runs: dict[Run, dict]
    reports: dict[tuple[Prediction, Run], dict]

    def verdicts(self) -> dict[tuple[Prediction, Run], Verdict]:
        return {k: compare(report, self.runs[k[1]]) for k, report in self.reports.items()}

    def counts(self) -> Counter:
        return Counter(f"{v.quality} {v.word}" for v in self.verdicts().values())

    def line(self) -> str:
        failed = sum("failed" in x for x in self.runs.values())
        counts = ", ".join(f"{n} {what}" for what, n in sorted(self.counts().items()))
        return f"{self.model}: {counts}" + (f"; {failed} runs failed" if failed else "")

    def off(self) -> list[str]:
        out = []
        for (p, run), v in self.verdicts().items():
            if v.word == "equal":
                continue
            off = (
                f"{v.figure} {v.predicted} for {v.ran}, {v.off():+} ({100 * v.off() / max(v.ran, 1):+.2f} %)"
                if v.figure
                else self.reports[p, run].get("error", "")[:150]
            )
            causes = [CAUSES[n["id"]] for n in self.reports[p, run].get("notes", ()) if n["id"] in CAUSES]
            out.append(
                "; ".join([f"{v.quality} {v.word}: {p.artifact} {p.runtime} {run.key()}: {off}", *sorted(set(causes))])
            )
        return out + [f"failed: {run.key()}: {x['failed']}" for run, x in self.runs.items() if "failed" in x]


def total(rows: list[Row]) -> str:
    counts = sum((r.counts() for r in rows), Counter())
    return f"{len(rows)} models: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))


def text(rows: list[Row]) -> str:
    """A line for each model that was run, with those below it that are not equal; then the
    total."""
    run = [r for r in rows if r.reports]
    return "".join(r.line() + "\n" + "".join(f"  {x}\n" for x in r.off()) for r in run) + total(run) + "\n"
