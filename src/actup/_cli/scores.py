"""Measure maps and print what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._cli.chosen import Chosen
from actup._cli.options import RunningOptions
from actup._cli.reporting import complain, show
from actup._labels import label_array, missing_labels
from actup._maps import map_of

if TYPE_CHECKING:
    from actup.quality import QualityReport
    from actup.quality._report import Measurement

_CAPTION = {
    "neighbor_recall": "neighbour recall",
    "trustworthiness": "trustworthiness",
    "knn_accuracy": "label accuracy",
}
_MEASURED_METRICS = ("euclidean", "cosine")
# What the measures lack, as the arguments of quality_report, and what the command line has for them.
_NO_LABELS = "needs labels: give y"
_NO_DISTANCES = "needs distances between rows of the data: give X"
_REASONS = {
    _NO_LABELS: "needs labels: give --label COLUMN or FILE",
    "needs the neighbour graph: give graph": "needs the neighbour graph: score a saved model (.actup)",
    "needs maps of other seeds: give others": "needs maps of other seeds: see actup.quality_report in Python",
}

_REASONS_OF_MODEL = {_NO_LABELS: "needs labels: give a file of them as --label FILE; a model has no columns"}


def score_map(
    chosen: Chosen,
    Y: Any,
    running: RunningOptions,
    *,
    metric: str = "euclidean",
    graph: Any = None,
    kernel: tuple[float, float] = (1.0, 1.0),
    of_model: bool = False,
) -> QualityReport:
    """All measures of one map that its metric and its labels allow.

    Measures that need labels use the rows that have one in the first label column. Measures that compare
    distances between rows are left out if the metric is neither Euclidean nor cosine. ``of_model`` is whether
    the rows are those of a saved model.
    """
    from actup import quality_report
    from actup.quality._measures import MEASURES

    places = np.asarray(map_of(Y))
    reasons = _REASONS | (_REASONS_OF_MODEL if of_model else {})
    measured = metric in _MEASURED_METRICS
    report = quality_report(
        chosen.X if measured else None,
        places,
        graph=graph,
        a=kernel[0],
        b=kernel[1],
        metric=metric if measured else "euclidean",
        n_jobs=running.jobs,
        verbose=False,
    )
    reasons |= {_NO_DISTANCES: f"needs euclidean or cosine distances; the map's metric is {metric}"}
    left_out = {name: reasons.get(reason, reason) for name, reason in report.left_out.items()}
    measurements = dict(report.measurements)
    if chosen.labels:
        names = [name for name, reason in report.left_out.items() if reason == _NO_LABELS]
        for name, found in _measure_by_label(names, chosen, places, running).items():
            if isinstance(found, str):
                left_out[name] = found
            else:
                measurements[name] = found
                del left_out[name]
    ordered = {m.name: measurements[m.name] for m in MEASURES if m.name in measurements}
    return replace(report, measurements=ordered, left_out=left_out)


def _measure_by_label(
    names: list[str], chosen: Chosen, places: np.ndarray, running: RunningOptions
) -> dict[str, Measurement | str]:
    """Measures of the rows that have a label, by name; for those that cannot be measured, the reason."""
    from actup import quality_report

    column, labels = next(iter(chosen.labels.items()))
    classes = _read_classes(column, labels)
    if isinstance(classes, str):
        return dict.fromkeys(names, classes)
    labelled = np.flatnonzero(classes >= 0)
    report = quality_report(None, places[labelled], classes[labelled], n_jobs=running.jobs, verbose=False)
    note = "" if len(labelled) == len(places) else f"; {len(labelled):,} rows with a label"
    found: dict[str, Measurement | str] = dict(report.left_out)
    found.update({name: replace(m, note=m.note + note) for name, m in report.measurements.items()})
    return {name: found[name] for name in names}


def score_table(
    chosen: Chosen, maps: Mapping[str, Any], metrics: Mapping[str, str], running: RunningOptions
) -> dict[str, QualityReport]:
    """Measure several maps and print a table with a line for each.

    Parameters
    ----------
    chosen : Chosen
    maps : mapping of str to object
    metrics : mapping of str to str
        The metric of each map, by the same names.
    running : RunningOptions
    """
    from actup.quality._measures import MEASURES

    reports = {name: score_map(chosen, Y, running, metric=metrics[name]) for name, Y in maps.items()}
    measures = [measure.name for measure in MEASURES if any(measure.name in r for r in reports.values())]
    if not measures:
        return reports
    width = max(map(len, reports))
    show(" " * width, *measures, sep="  ")
    for name, report in reports.items():
        figures = (f"{report[m]:.4f}" if m in report else "-" for m in measures)
        cells = (f"{figure:>{len(m)}}" for m, figure in zip(measures, figures, strict=True))
        show(f"{name:<{width}}", *cells, sep="  ")
    return reports


def announce_unmeasured(metrics: Iterable[str]) -> None:
    """Say before the work which metrics leave scores out."""
    for metric in dict.fromkeys(metrics):
        if metric not in _MEASURED_METRICS:
            complain(
                f"warning: --metric {metric}: scores that compare distances between rows are left out; "
                "they are measured in euclidean or cosine distance only"
            )


def _read_classes(name: str, labels: Any) -> np.ndarray | str:
    """The class number of every row, -1 if it has none; or why the labels are no classes."""
    array = label_array(labels)
    known = ~missing_labels(array)
    present = array[known]
    if not len(present):
        return f"--label {name} is missing in all rows"
    if present.dtype.kind == "f" and not np.array_equal(present, np.round(present)):
        return f"--label {name} holds fractional numbers: give classes"
    codes = np.full(len(array), -1, np.int64)
    texts = present.astype(str) if present.dtype == object else present
    codes[known] = np.unique(texts, return_inverse=True)[1]
    return codes


def caption(report: QualityReport) -> str:
    """The figures that a map is shown with."""
    return ", ".join(f"{words} {report[name]:.3f}" for name, words in _CAPTION.items() if name in report)


def report_as_json(report: QualityReport) -> str:
    """A report as JSON: the measures, which direction is better, and what was left out."""
    measured = {
        name: {"value": found.value, "better": found.better, "note": found.note}
        for name, found in report.measurements.items()
    }
    return json.dumps({"measures": measured, "left_out": report.left_out}, indent=1)
