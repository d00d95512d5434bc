"""Experiment: the switches that the paper calls irrelevant, one at a time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import beside, mean, number, table, with_spread
from actup._experiments.paper.embeddings import keys_of, panel_of
from actup._experiments.paper.methods import COLUMNS, PAPER, switched
from actup._experiments.paper.published import COLUMN_MEANS, ROW_MEANS, SWITCHES
from actup._experiments.results import Found

_SETS = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "coil100": "COIL-100",
    "single_cell": "Single cell",
    "cifar10": "CIFAR-10",
}
_DRAWN = ("mnist", "fashion_mnist")
_OTHER_DATA = ("single_cell",)
_LEAST = -1.5  # points of accuracy that a row mean may be off the paper's, downwards only
_FARTHEST = 4.0  # ... and of V-measure, either way
_NOTED = ("mnist", "coil100", "single_cell")


@dataclass(frozen=True)
class Cell:
    """One recipe's figures, a value for each seed."""

    accuracy: list[float]
    v: list[float]
    ten_voters: list[float]  # accuracy by the vote of 10 in place of 100

    def means(self) -> tuple[float, float]:
        """Accuracy and V-measure."""
        return mean(self.accuracy), mean(self.v)


def _runs(scale: Scale) -> list[Run]:
    return [run for data in _SETS for method in PAPER for column in COLUMNS
            for run in _seeds(scale, data, method, column)]  # fmt: skip


def _seeds(scale: Scale, data: str, method: str, column: str) -> list[Run]:
    recipe = switched(PAPER[method], column)
    return [
        Run(data, recipe, seed, points=scale.of(), label=f"{method}, {column}") for seed in range(scale.seeds)
    ]


def _render(found: Found) -> str:
    parts = []
    for data, title in _SETS.items():
        cells = {method: [_cell(found, data, method, column) for column in COLUMNS] for method in PAPER}
        if not all(cell.accuracy for row in cells.values() for cell in row):
            parts.append(f"### {title}\n\nNo results: it was not run, or the data set was not at hand.")
            continue
        parts += [f"### {title}", _table(data, cells), _column_table(data, cells)]
        parts += [_verdict(title, cells), agreement(data, cells)]
        if data in _NOTED:
            parts.append(note(f"switches_{data}"))
        if data in _DRAWN:
            parts.append(found.draw(f"switches_{data}", lambda path, d=data: _draw(path, found, d)))
    return "\n\n".join(part for part in parts if part)


def _cell(found: Found, data: str, method: str, column: str) -> Cell:
    runs = _seeds(found.scale, data, method, column)
    figures = ("knn_accuracy", "v_measure", "fair_knn_accuracy")
    return Cell(*(found.figures(runs, figure) for figure in figures))


def _table(data: str, cells: dict[str, list[Cell]]) -> str:
    rows = []
    for method, row in cells.items():
        paper = SWITCHES.get(data, {}).get(method, [None] * len(COLUMNS))
        texts = [method]
        for cell, theirs in zip(row, paper, strict=True):
            published = None if theirs is None else f"{theirs[0]}; {theirs[1]}"
            texts.append(beside(f"{with_spread(cell.accuracy)}; {with_spread(cell.v)}", published))
        texts += [_row_mean(data, method, row, which) for which in (0, 1)]
        rows.append(texts)
    header = ["", *COLUMNS, "mean ± sd, accuracy", "mean ± sd, V"]
    return table(header, rows)


def _row_mean(data: str, method: str, row: list[Cell], which: int) -> str:
    """Mean and standard deviation over the six columns, and the paper's."""
    values = [cell.means()[which] for cell in row]
    ours = f"{number(mean(values))} ± {number(statistics.stdev(values))}"
    published = published_row_mean(data, method, which)
    return beside(ours, published and f"{number(published[0])} ± {number(published[1])}")


def published_row_mean(data: str, method: str, which: int) -> tuple[float, float] | None:
    """The paper's mean and standard deviation over its six columns; ``which``: 0 accuracy, 1 V-measure."""
    if data in ROW_MEANS:
        return ROW_MEANS[data][method][which]
    if data in SWITCHES:
        theirs = [cell[which] for cell in SWITCHES[data][method]]
        return statistics.fmean(theirs), statistics.stdev(theirs)
    return None


def agreement(data: str, cells: dict[str, list[Cell]]) -> str:
    """Which row means are off the paper's; nothing where the data are others."""
    if data in _OTHER_DATA:
        return ""
    off = []
    for method, row in cells.items():
        accuracy, v = (
            mean([cell.means()[which] for cell in row]) - published_row_mean(data, method, which)[0]
            for which in (0, 1)
        )
        if accuracy < _LEAST:
            off.append(f"accuracy of {method} ({number(accuracy, sign=True)})")
        if abs(v) > _FARTHEST:
            off.append(f"V of {method} ({number(v, sign=True)})")
    verdict = f"all but {', '.join(off)}" if off else "all"
    allowed = f"accuracy no more than {-_LEAST:g} points below the paper's, V within {_FARTHEST:g} of it"
    return f"Row means with {allowed}: {verdict}."


def _column_table(data: str, cells: dict[str, list[Cell]]) -> str:
    """The mean deviation of each column from the row means, over the four methods."""
    rows, paper = [], published_deviations(data)
    for which, name in enumerate(("accuracy", "V")):
        ours = column_deviations([[cell.means()[which] for cell in row] for row in cells.values()])
        theirs = [None] * len(ours) if paper is None else [number(value, sign=True) for value in paper[which]]
        rows.append([name, *(beside(number(a, sign=True), b) for a, b in zip(ours, theirs, strict=True))])
    return table(["mean deviation", *COLUMNS], rows)


def column_deviations(rows: Sequence[Sequence[float]]) -> list[float]:
    """How far a column is from the rows' means, on average."""
    means = [mean(row) for row in rows]
    return [
        mean([value - m for value, m in zip(column, means, strict=True)])
        for column in zip(*rows, strict=True)
    ]


def published_deviations(data: str) -> Sequence[Sequence[float]] | None:
    """The paper's, of accuracy and of V: from its cells where it prints them, else as it prints them."""
    if data not in SWITCHES:
        return COLUMN_MEANS.get(data)
    rows = SWITCHES[data].values()
    return [column_deviations([[cell[which] for cell in row] for row in rows]) for which in (0, 1)]


def _verdict(title: str, cells: dict[str, list[Cell]]) -> str:
    """Which switches move the accuracy by two points or more, and what 10 voters say of them."""
    moved, largest = [], 0.0
    for method, (default, *others) in cells.items():
        for column, cell in zip(COLUMNS[1:], others, strict=True):
            change = mean(cell.accuracy) - mean(default.accuracy)
            largest = max(largest, abs(change))
            if abs(change) >= 2:
                by_ten = mean(cell.ten_voters) - mean(default.ten_voters)
                moved.append(f"{method}, {column} ({number(change, sign=True)}; {number(by_ten, sign=True)})")
    if not moved:
        return f"On {title} no switch changes the accuracy by 2 points; the largest change is {largest:.1f}."
    return (
        f"On {title} these switches change the accuracy by 2 points or more (after the semicolon: the change "
        f"by the vote of 10 neighbours in place of 100): {', '.join(moved)}."
    )


def _draw(path, found: Found, data: str) -> None:
    rows = [
        [panel_of(found, _seeds(found.scale, data, method, column)[0]) for column in COLUMNS]
        for method in PAPER
    ]
    draw_maps(path, rows, list(PAPER), list(COLUMNS), keys_of([data]))


EXPERIMENT = Experiment(
    "switches",
    "The switches, one at a time",
    "Start, pseudo-distance, symmetrisation, symmetric attraction and the scalars a, b hardly change kNN "
    "accuracy and V-measure (tables 3 and 4 and the appendix). Each column turns one switch of the method in "
    "its row to the other position.",
    _runs,
    _render,
)
