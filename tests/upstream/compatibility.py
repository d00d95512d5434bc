"""Write docs/compatibility.md from the saved outcomes of all suites of this folder.

    python tests/upstream/compatibility.py

Each script here that runs another library's tests saves its outcomes with ``--save``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from suite import FAILED, NOT_APPLICABLE, PASSED, Outcome, Suite, load_suites

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"

HEAD = """# Tests of other libraries

Which tests of other libraries pass if ActUp takes their place. `make upstream` runs the tests as their
authors wrote them and writes this page. A test does not apply if it calls a private function of its library,
or checks that the library calls a third one. umap-learn does not distribute its tests: ActUp's own tests of
its interface stand for them.

| tests | release | run on | passed | failed | of the applicable ones | not applicable |
|---|---|---|---|---|---|---|
"""


def page(suites: list[Suite]) -> str:
    """The text of the page."""
    text = HEAD
    for suite in suites:
        counts = suite.count()
        text += (
            f"| {suite.title} | {suite.version} | `{suite.runs}` | {counts[PASSED]} | {counts[FAILED]} | "
            f"{suite.share():.1%} | {counts[NOT_APPLICABLE]} |\n"
        )
    for suite in suites:
        text += f"\n## {suite.title}\n"
        text += _topics(suite)
        text += _table("Failed tests, and why", suite, FAILED)
        text += _table("Tests that do not apply", suite, NOT_APPLICABLE)
    return text


def _topics(suite: Suite) -> str:
    """What each file tests, with its outcomes, and what differs on purpose."""
    text = ""
    if suite.topics:
        text += "\n| file | what it tests | tests | passed | failed |\n|---|---|---|---|---|\n"
    for file, topic in suite.topics.items():
        counts = Counter(o.outcome for o in suite.outcomes if o.test.startswith(f"{file}::"))
        run = counts[PASSED] + counts[FAILED]
        text += f"| `{file}` | {_cell(topic)} | {run} | {counts[PASSED]} | {counts[FAILED]} |\n"
    if suite.differences:
        rows = "".join(f"| {_cell(what)} | {_cell(why)} |\n" for what, why in suite.differences.items())
        text += f"\n### What differs on purpose\n\n| what | why |\n|---|---|\n{rows}"
    return text


def _table(title: str, suite: Suite, outcome: str) -> str:
    found = [o for o in suite.outcomes if o.outcome == outcome]
    if not found:
        return ""
    rows = "".join(f"| `{_name(o)}` | {_cell(o.reason)} |\n" for o in found)
    return f"\n### {title}: {suite.title.partition(',')[0]}\n\n| test | reason |\n|---|---|\n{rows}"


def _name(outcome: Outcome) -> str:
    return outcome.test.rpartition(".py::")[2].replace("|", "\\\\|")


def _cell(text: str) -> str:
    return text.replace("|", "\\\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(load_suites()), encoding="utf-8")
