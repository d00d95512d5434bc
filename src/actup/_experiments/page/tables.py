"""Markdown tables and the formatting of numbers in them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actup._experiments.experiment import Run
    from actup._experiments.results import Findings


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
