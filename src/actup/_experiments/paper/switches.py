"""Experiment: the switches that the paper calls irrelevant, turned one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import draw_maps
from actup._experiments.page.tables import mean_with_sd, number, table, with_published
from actup._experiments.paper.embeddings import legends_for, map_panel
from actup._experiments.paper.methods import COLUMNS, PAPER, switched
from actup._experiments.paper.published import COLUMN_MEANS, ROW_MEANS, SWITCHES
from actup._experiments.results import Findings

_DATASETS = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "coil100": "COIL-100",
    "single_cell": "Single cell",
    "cifar10": "CIFAR-10",
}
_WITH_PICTURE = ("mnist", "fashion_mnist")
_WITH_NOTE = ("mnist", "coil100", "single_cell")
_NOT_THE_PAPERS_DATA = ("single_cell",)
# How far a row mean may be from the paper's, in percentage points: accuracy below it, V on either side.
_MAX_ACCURACY_DEFICIT = 1.5
_MAX_V_DIFFERENCE = 4.0
_NOTABLE_CHANGE = 2  # percentage points of accuracy from which the page names a switch


@dataclass(frozen=True)
class Cell:
    """The quality of one recipe's maps, one value for each seed."""

    accuracy: list[float]
    v: list[float]
    ten_voters: list[float]  # accuracy with 10 voting neighbours instead of 100

    def means(self) -> tuple[float, float]:
        """Mean accuracy and mean V-measure."""
        return fmean(self.accuracy), fmean(self.v)


def _runs(scale: Scale) -> list[Run]:
    return [run for data in _DATASETS for method in PAPER for column in COLUMNS
            for run in _seeds(scale, data, method, column)]  # fmt: skip


def _seeds(scale: Scale, data: str, method: str, column: str) -> list[Run]:
    recipe = switched(PAPER[method], column)
    return [
        Run(data, recipe, seed, points=scale.limit(), label=f"{method}, {column}")
        for seed in range(scale.seeds)
    ]


def _render(findings: Findings) -> str:
    parts = []
    for data, title in _DATASETS.items():
        cells = {method: [_cell(findings, data, method, column) for column in COLUMNS] for method in PAPER}
        if not all(cell.accuracy for row in cells.values() for cell in row):
            parts.append(f"### {title}\n\nNo results: not run, or the data set was missing.")
            continue
        parts += [f"### {title}", _table(data, cells), _column_table(data, cells)]
        parts += [_verdict(title, cells), agreement(data, cells)]
        if data in _WITH_NOTE:
            parts.append(note(f"switches_{data}"))
        if data in _WITH_PICTURE:
            parts.append(findings.draw(f"switches_{data}", _drawing(findings, data)))
    return "\n\n".join(part for part in parts if part)


def _cell(findings: Findings, data: str, method: str, column: str) -> Cell:
    runs = _seeds(findings.scale, data, method, column)
    measures = ("knn_accuracy", "v_measure", "fair_knn_accuracy")
    return Cell(*(findings.values(runs, measure) for measure in measures))


def _table(data: str, cells: dict[str, list[Cell]]) -> str:
    rows = []
    for method, row in cells.items():
        texts = [method]
        for i, cell in enumerate(row):
            published = None
            if data in SWITCHES:
                accuracy, v = SWITCHES[data][method][i]
                published = f"{accuracy}; {v}"
            texts.append(with_published(f"{mean_with_sd(cell.accuracy)}; {mean_with_sd(cell.v)}", published))
        texts += [_row_mean(data, method, row, which) for which in (0, 1)]
        rows.append(texts)
    header = ["", *COLUMNS, "mean ± sd, accuracy", "mean ± sd, V"]
    return table(header, rows)


def _row_mean(data: str, method: str, row: list[Cell], which: int) -> str:
    """Mean and standard deviation over the six columns, and the paper's."""
    ours = mean_with_sd([cell.means()[which] for cell in row])
    published = published_row_mean(data, method, which)
    return with_published(ours, published and f"{number(published[0])} ± {number(published[1])}")


def published_row_mean(data: str, method: str, which: int) -> tuple[float, float] | None:
    """The paper's mean and standard deviation over its six columns; ``which``: 0 accuracy, 1 V-measure."""
    if data in ROW_MEANS:
        return ROW_MEANS[data][method][which]
    if data in SWITCHES:
        theirs = [cell[which] for cell in SWITCHES[data][method]]
        return fmean(theirs), stdev(theirs)
    return None


def agreement(data: str, cells: dict[str, list[Cell]]) -> str:
    """Which row means agree with the paper's; empty where the paper used other data or printed no means."""
    if data in _NOT_THE_PAPERS_DATA:
        return ""
    differing = []
    for method, row in cells.items():
        published = [published_row_mean(data, method, which) for which in (0, 1)]
        if published[0] is None or published[1] is None:
            return ""
        accuracy, v = (
            fmean([cell.means()[which] for cell in row]) - mean
            for which, (mean, _) in enumerate((published[0], published[1]))
        )
        if accuracy < -_MAX_ACCURACY_DEFICIT:
            differing.append(f"accuracy of {method} ({number(accuracy, sign=True)})")
        if abs(v) > _MAX_V_DIFFERENCE:
            differing.append(f"V of {method} ({number(v, sign=True)})")
    verdict = f"all but {', '.join(differing)}" if differing else "all"
    return (
        f"Row means with accuracy no more than {_MAX_ACCURACY_DEFICIT:g} points below the paper's, V within "
        f"{_MAX_V_DIFFERENCE:g} of it: {verdict}."
    )


def _column_table(data: str, cells: dict[str, list[Cell]]) -> str:
    """The mean deviation of each column from the row means, over the four methods."""
    rows, paper = [], published_deviations(data)
    for which, name in enumerate(("accuracy", "V")):
        ours = column_deviations([[cell.means()[which] for cell in row] for row in cells.values()])
        cells_of_row = [number(value, sign=True) for value in ours]
        if paper is not None:
            theirs = (number(value, sign=True) for value in paper[which])
            cells_of_row = [with_published(a, b) for a, b in zip(cells_of_row, theirs, strict=True)]
        rows.append([name, *cells_of_row])
    return table(["mean deviation", *COLUMNS], rows)


def column_deviations(rows: Sequence[Sequence[float]]) -> list[float]:
    """The deviation of each column from the row means, averaged over the rows."""
    means = [fmean(row) for row in rows]
    return [
        fmean([value - mean for value, mean in zip(column, means, strict=True)])
        for column in zip(*rows, strict=True)
    ]


def published_deviations(data: str) -> Sequence[Sequence[float]] | None:
    """The paper's column deviations of accuracy and V, computed from its cells if it prints them."""
    if data not in SWITCHES:
        return COLUMN_MEANS.get(data)
    rows = SWITCHES[data].values()
    return [column_deviations([[cell[which] for cell in row] for row in rows]) for which in (0, 1)]


def _verdict(title: str, cells: dict[str, list[Cell]]) -> str:
    """Which switches change the accuracy notably, and by how much with 10 voters."""
    notable, largest = [], 0.0
    for method, (default, *others) in cells.items():
        for column, cell in zip(COLUMNS[1:], others, strict=True):
            change = fmean(cell.accuracy) - fmean(default.accuracy)
            largest = max(largest, abs(change))
            if abs(change) >= _NOTABLE_CHANGE:
                by_ten = fmean(cell.ten_voters) - fmean(default.ten_voters)
                changes = f"{number(change, sign=True)}; {number(by_ten, sign=True)}"
                notable.append(f"{method}, {column} ({changes})")
    if not notable:
        return (
            f"On {title} no switch changes the accuracy by {_NOTABLE_CHANGE} points; the largest change is "
            f"{largest:.1f}."
        )
    return (
        f"On {title} these switches change the accuracy by {_NOTABLE_CHANGE} points or more (after the "
        f"semicolon: the change with 10 voting neighbours instead of 100): {', '.join(notable)}."
    )


def _drawing(findings: Findings, data: str) -> Callable[[Path], None]:
    """A function that draws the maps of the first seed of all cells."""

    def draw(path: Path) -> None:
        rows = [
            [map_panel(findings, _seeds(findings.scale, data, method, column)[0]) for column in COLUMNS]
            for method in PAPER
        ]
        draw_maps(path, rows, list(PAPER), list(COLUMNS), legends_for([data]))

    return draw


EXPERIMENT = Experiment(
    "switches",
    "The switches, one at a time",
    "Start, pseudo-distance, symmetrisation, symmetric attraction and the scalars a, b hardly change kNN "
    "accuracy and V-measure (tables 3 and 4 and the appendix). Each column turns one switch of the method in "
    "its row to the other position.",
    _runs,
    _render,
)
