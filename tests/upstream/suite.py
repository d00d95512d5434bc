"""What the scripts of this folder share: run another library's tests, sort and save their outcomes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"
LEAST_SHARE = 0.9  # of the applicable tests, that has to pass


@dataclass(frozen=True)
class Outcome:
    """What became of one test."""

    test: str  # e.g. "test_t_sne.py::test_64bit[float32-exact]"
    outcome: str
    reason: str = ""


@dataclass(frozen=True)
class Suite:
    """The outcomes of another library's tests.

    ``name`` is the name of the file of results, ``title`` what the page calls the suite, ``runs`` what its
    tests ran on. ``topics`` and ``differences`` are those of a suite that has no tests of deliberate
    differences.
    """

    name: str
    title: str
    version: str
    runs: str
    outcomes: tuple[Outcome, ...]
    topics: dict[str, str] = field(default_factory=dict)  # what each file tests, if the page tells of files
    differences: dict[str, str] = field(default_factory=dict)  # what differs on purpose, and why

    def count(self) -> Counter[str]:
        return Counter(outcome.outcome for outcome in self.outcomes)

    def share(self) -> float:
        """The share of the applicable tests that pass."""
        counts = self.count()
        return counts[PASSED] / max(1, counts[PASSED] + counts[FAILED])

    def save(self) -> None:
        path = RESULTS / f"compatibility_{self.name}.json"
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        counts = self.count()
        lines = [
            f"{self.title} {self.version} on {self.runs}: {counts[PASSED]} passed, {counts[FAILED]} failed, "
            f"{counts[NOT_APPLICABLE]} not applicable; {self.share():.1%} of the applicable tests pass"
        ]
        lines += [f"  {o.outcome:<14} {o.test}: {o.reason}" for o in self.outcomes if o.outcome != PASSED]
        return "\n".join(lines)


def load_suites() -> list[Suite]:
    """The saved results of all suites."""
    suites = []
    for path in sorted(RESULTS.glob("compatibility_*.json")):
        saved = json.loads(path.read_text(encoding="utf-8"))
        outcomes = tuple(Outcome(**outcome) for outcome in saved.pop("outcomes"))
        suites.append(Suite(**saved, outcomes=outcomes))
    return suites


class Recorder:
    """A pytest plugin: prepares every collected module with ``prepare`` and records all outcomes."""

    def __init__(self, prepare: Callable[[ModuleType], None] = lambda module: None):
        self._prepare = prepare
        self.outcomes: dict[str, tuple[str, str]] = {}  # test: (pytest's outcome, its message)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for module in {item.module for item in items}:
            self._prepare(module)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid.rpartition("/")[2]
        if report.when == "call" or report.outcome != "passed":
            message = "" if report.outcome == "passed" else _last_line(report)
            self.outcomes[test] = ("skipped" if hasattr(report, "wasxfail") else report.outcome, message)


def _last_line(report: pytest.TestReport) -> str:
    """The exception of a failed test in one line, or why a test was skipped."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ").replace("`is", "` is")
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message.splitlines()[0] if crash else str(report.longrepr).splitlines()[-1]


def sort_outcomes(
    recorded: dict[str, tuple[str, str]], not_applicable: dict[str, str], differences: dict[str, str]
) -> tuple[Outcome, ...]:
    """Outcomes with their reasons.

    Parameters
    ----------
    recorded : dict of str to (str, str)
        pytest's outcome and message of each test.
    not_applicable, differences : dict of str to str
        A regular expression that matches the beginning of a test's name, and the reason why it does not
        apply, or why ActUp deliberately differs. A test that passes counts as passed even if a difference
        names it, but never if it does not apply.
    """
    outcomes = []
    for test, (outcome, message) in recorded.items():
        exempt, differs = _reason(test, not_applicable), _reason(test, differences)
        if exempt is not None:
            outcomes.append(Outcome(test, NOT_APPLICABLE, exempt))
        elif outcome == "skipped":
            outcomes.append(Outcome(test, NOT_APPLICABLE, f"skipped by its own condition: {message}"))
        elif outcome == "passed":
            outcomes.append(Outcome(test, PASSED))
        else:
            outcomes.append(Outcome(test, FAILED, differs or message))
    return tuple(outcomes)


def _reason(test: str, reasons: dict[str, str]) -> str | None:
    name = test.partition("::")[2]
    return next((reason for pattern, reason in reasons.items() if re.match(pattern, name)), None)


def unexplained(suite: Suite, differences: dict[str, str]) -> list[Outcome]:
    """The failed tests that no difference explains."""
    return [o for o in suite.outcomes if o.outcome == FAILED and _reason(o.test, differences) is None]


def finish(suite: Suite, differences: dict[str, str], arguments: Iterable[str]) -> int:
    """Print the outcomes and give the exit code: 1 if too few tests pass.

    "--save" among the arguments saves the outcomes, "--strict" also forbids failures that no difference
    explains. Without it, a new release of the other library may bring some.
    """
    print(suite)
    if "--save" in arguments:
        suite.save()
    surprises = unexplained(suite, differences) if "--strict" in arguments else []
    return 0 if suite.share() >= LEAST_SHARE and not surprises else 1
