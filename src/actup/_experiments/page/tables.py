"""Markdown tables, the formatting of numbers in them, and the folding of long ones."""

from __future__ import annotations

import html
import re
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actup._experiments.experiment import Run
    from actup._experiments.results import Findings

_MAX_OPEN_ROWS = 8  # of a table that a page shows at once
_MAX_OPEN_CHARACTERS = 150  # in a row of such a table
_NAMED_COLUMNS = 4  # in the line that stands for a folded table
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells that are already text."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """A number with a fixed number of decimals; a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def mean_with_sd(values: Sequence[float], digits: int = 1) -> str:
    """The mean and, of two or more values, the standard deviation; a dash for no values."""
    if not values:
        return number(None)
    mean = number(statistics.fmean(values), digits)
    return mean if len(values) == 1 else f"{mean} ± {number(statistics.stdev(values), digits)}"


def accuracy_and_v(findings: Findings, runs: Iterable[Run]) -> str:
    """kNN accuracy and V-measure over the seeds of a recipe."""
    runs = list(runs)
    measures = (findings.values(runs, name) for name in ("knn_accuracy", "v_measure"))
    return "; ".join(map(mean_with_sd, measures))


def with_published(ours: str, published: str | None) -> str:
    """Our number, with the published one in parentheses if there is one."""
    return ours if published is None else f"{ours} ({published})"


def fold_tables(page: str) -> str:
    """Put long and wide tables of a Markdown page under a line that opens them.

    Parameters
    ----------
    page : str
        The text, whose tables stand alone between blank lines.

    Returns
    -------
    str
        The text with an HTML element ``details`` around each such table, which GitHub and Sphinx understand.
    """

    def fold(match: re.Match[str]) -> str:
        lines = match[0].splitlines()
        rows = len(lines) - 2
        if rows <= _MAX_OPEN_ROWS and max(map(len, lines)) <= _MAX_OPEN_CHARACTERS:
            return match[0]
        headings = re.findall(r"^##+ (.+)$", page[: match.start()], re.MULTILINE)
        heading = headings[-1] if headings else "Table"
        summary = html.escape(f"{heading}: {_describe_columns(lines[0])}", quote=False)
        counted = f"{rows} row{'s' if rows > 1 else ''}"
        return f"<details>\n<summary>{summary} ({counted})</summary>\n\n{match[0]}\n</details>\n"

    return _TABLE.sub(fold, page)


def _describe_columns(header: str) -> str:
    """The first names in the header of a table, without Markdown's marks."""
    names = [re.sub(r"[`*]", "", cell).strip() for cell in header.strip("| ").split("|")]
    named = [name for name in names if name]
    return ", ".join(named[:_NAMED_COLUMNS]) + (", …" if len(named) > _NAMED_COLUMNS else "")
