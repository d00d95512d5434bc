"""Tables in Markdown, and figures as they stand in them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actup._experiments.experiment import Run
    from actup._experiments.results import Found


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every cell is text."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """A figure, or a dash where there is none."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def with_spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the standard deviation where there is more than one value."""
    if len(values) < 2:
        return number(mean(values), digits)
    return f"{number(mean(values), digits)} ± {number(statistics.stdev(values), digits)}"


def quality(found: Found, runs: Sequence[Run]) -> str:
    """kNN accuracy and V-measure of a recipe's seeds."""
    figures = (found.figures(runs, name) for name in ("knn_accuracy", "v_measure"))
    return "; ".join(map(with_spread, figures))


def beside(ours: str, paper: str | None) -> str:
    """Our figure with the paper's beside it."""
    return ours if paper is None else f"{ours} ({paper})"
