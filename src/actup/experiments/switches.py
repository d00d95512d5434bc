"""Experiment: the switches that the paper calls irrelevant, one at a time."""

from __future__ import annotations

import statistics

from actup.experiments.embeddings import panel_of
from actup.experiments.experiment import Experiment, Run, Scale
from actup.experiments.methods import COLUMNS, PAPER, switched
from actup.experiments.notes import note
from actup.experiments.pictures import draw_maps
from actup.experiments.published import COLUMN_MEANS, ROW_MEANS, SWITCHES
from actup.experiments.results import Found
from actup.experiments.tables import beside, mean, number, table

_SETS = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "coil100": "COIL-100",
    "single_cell": "Single cell",
    "cifar10": "CIFAR-10",
}
_FIGURES = ("knn_accuracy", "v_measure")
_DRAWN = ("mnist", "fashion_mnist")
_OTHER_DATA = ("single_cell",)
_TOLERANCES = {"accuracy": 1.5, "V": 4}  # points below the paper's row mean
_NOTED = ("mnist", "coil100", "single_cell")


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
        if any(value is None for row in cells.values() for cell in row for value in cell):
            parts.append(f"### {title}\n\nNot run: the data set was not at hand.")
            continue
        parts += [f"### {title}", _table(data, cells), _column_table(data, cells)]
        parts += [_verdict(title, cells), _agreement(data, cells)]
        if data in _NOTED:
            parts.append(note(f"switches_{data}"))
        if data in _DRAWN:
            parts.append(found.draw(f"switches_{data}", lambda path, d=data: _draw(path, found, d)))
    return "\n\n".join(part for part in parts if part)


def _cell(found: Found, data: str, method: str, column: str) -> tuple[float | None, float | None]:
    """The means over the seeds of both figures."""
    runs = _seeds(found.scale, data, method, column)
    accuracy, v = (mean(found.figures(runs, figure)) for figure in _FIGURES)
    return accuracy, v


def _table(data: str, cells: dict) -> str:
    rows = []
    for method, row in cells.items():
        paper = SWITCHES.get(data, {}).get(method, [None] * len(COLUMNS))
        texts = [method]
        for (accuracy, v), theirs in zip(row, paper, strict=True):
            published = None if theirs is None else f"{theirs[0]}; {theirs[1]}"
            texts.append(beside(f"{number(accuracy)}; {number(v)}", published))
        texts += [_row_mean(data, method, row, which) for which in (0, 1)]
        rows.append(texts)
    header = ["", *COLUMNS, "mean ± sd, accuracy", "mean ± sd, V"]
    return table(header, rows)


def _row_mean(data: str, method: str, row: list, which: int) -> str:
    """Mean and standard deviation over the six columns, and the paper's."""
    values = [cell[which] for cell in row]
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


def _agreement(data: str, cells: dict) -> str:
    """Which row means fall short of the paper's; nothing where the data are others."""
    if data in _OTHER_DATA:
        return ""
    short = []
    for method, row in cells.items():
        for which, (name, tolerance) in enumerate(_TOLERANCES.items()):
            off = mean([cell[which] for cell in row]) - published_row_mean(data, method, which)[0]
            if off < -tolerance:
                short.append(f"{name} of {method} ({number(off, sign=True)})")
    allowed = " and ".join(f"{tolerance} ({name})" for name, tolerance in _TOLERANCES.items())
    verdict = f"all but {', '.join(short)}" if short else "all"
    return f"Row means no more than {allowed} below the paper's: {verdict}."


def _column_table(data: str, cells: dict) -> str:
    """The mean deviation of each column from the row means, over the four methods."""
    rows = []
    for which, name in enumerate(("accuracy", "V")):
        deviations = []
        for column in range(len(COLUMNS)):
            off = [row[column][which] - mean([cell[which] for cell in row]) for row in cells.values()]
            paper = COLUMN_MEANS.get(data)
            published = None if paper is None else number(paper[which][column], sign=True)
            deviations.append(beside(number(mean(off), sign=True), published))
        rows.append([name, *deviations])
    return table(["mean deviation", *COLUMNS], rows)


def _verdict(title: str, cells: dict) -> str:
    """Which switches move the accuracy by two points or more."""
    moved = [
        f"{method}, {column} ({number(cell[0] - row[0][0], sign=True)})"
        for method, row in cells.items()
        for column, cell in zip(COLUMNS[1:], row[1:], strict=True)
        if abs(cell[0] - row[0][0]) >= 2
    ]
    if not moved:
        largest = max(abs(cell[0] - row[0][0]) for row in cells.values() for cell in row)
        return f"On {title} no switch changes the accuracy by 2 points; the largest change is {largest:.1f}."
    return f"On {title} these switches change the accuracy by 2 points or more: {'; '.join(moved)}."


def _draw(path, found: Found, data: str) -> None:
    rows = [
        [panel_of(found, _seeds(found.scale, data, method, column)[0]) for column in COLUMNS]
        for method in PAPER
    ]
    draw_maps(path, rows, list(PAPER), list(COLUMNS))


EXPERIMENT = Experiment(
    "switches",
    "The switches, one at a time",
    "Start, pseudo-distance, symmetrisation, symmetric attraction and the scalars a, b hardly change kNN "
    "accuracy and V-measure (tables 3 and 4 and the appendix). Each column turns one switch of the method in "
    "its row to the other position.",
    _runs,
    _render,
)
