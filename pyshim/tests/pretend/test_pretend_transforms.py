"""Fourier transforms on a pretend H100 ask for what they asked for on an H100."""

import csv
import json
from pathlib import Path

MEASURED = Path(__file__).parents[3] / "testdata" / "measured" / "h100-fft.csv"
NOT_KNOWN = "cuFFT's workspace of lengths that are no powers of two or not recorded: by a rule for others"
OTHER = "workspace-estimate: cuFFT's workspace, by a rule of cuFFT 12.0 on an H100"


def rows(powers_of_two):
    def plain(row):
        return all(n & (n - 1) == 0 for n in map(int, row["sizes"].split("x")))

    with MEASURED.open() as f:
        return [row for row in csv.DictReader(f) if plain(row) is powers_of_two]


def played(play, chosen, device="h100-sxm-80gb"):
    return play("transforms", device, environ={"ROWS": json.dumps(chosen)})


def test_lengths_that_are_powers_of_two_are_as_recorded(play):
    chosen = rows(True)
    assert len(chosen) > 350
    seen = played(play, chosen)
    assert [(r, s) for r, s in zip(chosen, seen["rows"], strict=True) if s != r["events"]] == []
    assert seen["notes"]["unsized"] == [] and seen["notes"]["estimated"] in ([], [OTHER])


def test_other_lengths_run_and_are_not_known(play):
    chosen = rows(False)
    seen = played(play, chosen)
    assert seen["notes"]["unsized"] == [NOT_KNOWN]
    equal = [s == r["events"] for r, s in zip(chosen, seen["rows"], strict=True)]
    assert len(equal) > 200 and sum(equal) > len(equal) * 2 // 3, sum(equal)


def test_another_card_is_an_estimate(play):
    seen = played(play, rows(True)[:1], "a100-sxm-40gb")
    assert seen["notes"] == {"unsized": [], "estimated": [OTHER]}
