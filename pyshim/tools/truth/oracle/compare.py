"""A prediction against a run: equal to the byte, within what memspec says of itself, or off."""

from __future__ import annotations

from typing import NamedTuple

UNDER = 0.01  # how far an estimate may lie under
METRICS = ("allocated", "reserved")


class Verdict(NamedTuple):
    word: str  # equal; within; over, under: off by more than the prediction allows; none: memspec gives no account
    quality: str
    figure: str = ""  # the worst one
    predicted: int = 0
    ran: int = 0

    def off(self) -> int:
        return self.predicted - self.ran


def figures(report: dict) -> dict[str, int]:
    out = {f"baseline {m}": report["baseline"][m] for m in METRICS}
    for p in report["passes"]:
        out |= {f"{p['name']} {m}": p["peak"][m] for m in METRICS}
    return out


def ran(row: dict) -> dict[str, int]:
    return {
        f"{phase} {m}": row[phase][i + 1] for phase in ("baseline", "first", "steady") for i, m in enumerate(METRICS)
    }


def compare(report: dict, row: dict) -> Verdict:
    """exact must be equal in all six figures. An estimate is never under by more than a hundredth
    and its upper figure never under; a bound is never under."""
    if "error" in report:
        return Verdict("none", "error")
    quality, truth, ours = report["quality"], ran(row), figures(report)
    if quality == "incomplete":
        return Verdict("none", quality)
    missing = sorted(set(truth) - set(ours))
    if missing:
        raise ValueError(f"got no {missing[0]} in the report")
    worst = max(truth, key=lambda f: (abs(ours[f] - truth[f]) / max(truth[f], 1), f))
    if ours[worst] == truth[worst]:
        return Verdict("equal", quality)
    verdict = Verdict("", quality, worst, ours[worst], truth[worst])
    under = [f for f in truth if ours[f] < truth[f] * (1 - UNDER)]
    if quality == "bound":
        under = [f for f in truth if ours[f] < truth[f]]
    upper = report.get("upper") or report["peak"]
    broken = [m for m in METRICS if upper[m] < max(truth[f"{phase} {m}"] for phase in ("baseline", "first", "steady"))]
    if quality != "exact" and not under and not broken:
        return verdict._replace(word="within")
    if broken:
        return verdict._replace(word="above upper" if quality != "exact" else "under")
    return verdict._replace(word="under" if ours[worst] < truth[worst] else "over")
