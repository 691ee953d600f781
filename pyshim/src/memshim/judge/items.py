"""A memspec.yaml's cases as tests."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memshim import binary
from memshim.case import capture, memspec_yaml
from memshim.judge import check, increase, machine, options


def near(path: Any) -> str:
    """From the working directory where it lies below it, as people write it."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative


class SpecFile(pytest.File):
    """A memspec.yaml."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            found = memspec_yaml.load(near(self.path))
        except (memspec_yaml.SpecError, binary.BinaryError) as e:
            yield Unreadable.from_parent(self, name="(unreadable)", why=str(e))
            return
        for case in found:
            yield CaseItem.from_parent(self, name=case["name"], case=case)


class Unreadable(pytest.Item):
    """A memspec.yaml whose cases are not known: one test that is an error, so that the others still
    run."""

    def __init__(self, *, why: str, **kw: Any) -> None:
        super().__init__(**kw)
        self.why = why

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name

    def setup(self) -> None:
        self.user_properties.append(("memspec.outcome", "error"))
        pytest.fail(self.why, pytrace=False)

    def runtest(self) -> None:
        raise AssertionError("it cannot be set up")


class CaseItem(pytest.Item):
    """One case: predicted and run for real where its GPU is there, then judged. What keeps it from
    an answer is an error, not a failure."""

    def __init__(self, *, case: dict[str, Any], **kw: Any) -> None:
        super().__init__(**kw)
        self.case = case
        self.extra_keyword_matches |= {case["model"], self.name.replace("=", ":")}  # -k takes no =

    def reportinfo(self) -> tuple[Path, int | None, str]:
        line = self.case["spec"].rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdigit() else None, self.name

    def note(self, name: str, value: Any) -> None:
        """A property of the test, in junit.xml too."""
        if value is not None:
            self.user_properties.append((f"memspec.{name}", value))

    def setup(self) -> None:
        try:
            if self.case.get("recording") and options.of_check(self.config).when not in ("never", "real"):
                for line in capture.refresh(near(self.path), [self.case], machine.runner(self.config)):
                    self.add_report_section("setup", "memspec", line)
            asked = machine.asked(self.config)
            self.checked = memspec_yaml.check(near(self.path), [self.name], queried=asked)["cases"][0]
            for line in asked.lines():
                self.add_report_section("setup", "memspec", line)
            self.answers = asked.arguments
            self.messages = (
                []
                if self.checked["outcome"] == "pass"
                else [self.reproducible(memspec_yaml.message(near(self.path), self.name, self.answers))]
            )
            self.measured = self.measure()
        except (memspec_yaml.SpecError, binary.BinaryError) as e:
            self.note("outcome", "error")
            pytest.fail(str(e), pytrace=False)
        self.note_results()
        if "error" in (self.checked["outcome"], self.measured and self.measured.outcome):
            pytest.fail("\n".join(self.messages), pytrace=False)

    def measure(self) -> check.Measured | None:
        o = options.of_check(self.config)
        if o.when == "never":
            return None
        o = o._replace(extra=tuple(self.answers))
        return check.verify(
            near(self.path), self.case, machine.seen(self.config), o, lambda *a: machine.runner(self.config).measure(*a)
        )

    def note_results(self) -> None:
        """Its numbers and outcomes, by the names of memspec check --format junit."""
        for name in ("device", "torch", "runtime", "quality"):
            self.note(name, (self.checked["report"] or {}).get(name))
        for f in self.checked["findings"]:
            self.note(f"budget.{f['metric']}", f["limit"])
            self.note(f"predicted.{f['metric']}", f["predicted"])
        if m := self.measured:
            self.note("measured", m.outcome)
            if m.outcome == "skipped":
                self.note("not_measured", m.text)
            elif m.outcome != "pass":
                self.messages.append(m.text)
            word = "pretended" if m.record and m.record["where"] == "pretend" else "measured"
            for r in m.comparison.rows if m.comparison else ():
                self.note(f"{word}.{r['phase']}.{r['metric']}", r["measured"])
        worst = [self.checked["outcome"], self.measured.outcome if self.measured else "pass"]
        self.note("outcome", next((o for o in ("fail", "error", "inconclusive", "warn") if o in worst), "pass"))

    def runtest(self) -> None:
        bad = (
            self.checked["outcome"] not in ("pass", "warn")
            or self.measured is not None
            and self.measured.outcome not in ("pass", "warn", "skipped")
        )
        if bad:
            pytest.fail("\n".join(self.messages), pytrace=False)
        report = self.checked.get("report") or {}
        peak = {f"predicted {m}": report["peak"][m] for m in ("allocated", "reserved")} if report.get("peak") else {}
        increase.judge(self, increase.Numbers(self.case["device"]["name"], peak))
        if self.messages:
            at_once = self.checked["outcome"] == "pass"
            self.note(
                "warning",
                self.messages[0].splitlines()[0]
                if at_once
                else memspec_yaml.headline(near(self.path), self.name, self.answers),
            )

    def reproducible(self, text: str) -> str:
        """The commands that give the account again, this test's first."""
        command = shlex.join(["pytest", self.nodeid])
        return text.replace("\n  reproduce  ", f"\n  reproduce  {command}\n             ")
