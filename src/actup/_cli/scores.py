"""Measure maps and print what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._cli.chosen import Chosen
from actup._cli.options import RunningOptions
from actup._cli.outputs import places_of
from actup._labels import missing_labels

if TYPE_CHECKING:
    from actup.quality import QualityReport

_CAPTION = {
    "neighbor_recall": "neighbour recall",
    "trustworthiness": "trustworthiness",
    "knn_accuracy": "label accuracy",
}
_MEASURED_METRICS = ("euclidean", "cosine")


def score_map(
    chosen: Chosen,
    Y: Any,
    running: RunningOptions,
    *,
    metric: str = "euclidean",
    graph: Any = None,
    kernel: tuple[float, float] = (1.0, 1.0),
) -> QualityReport:
    """All measures of one map; those that need labels use the first label column, if no label is missing."""
    from actup import quality_report

    label = next(iter(chosen.labels.values()), None)
    if label is not None and missing_labels(np.asarray(label)).any():
        label = None
    return quality_report(
        chosen.X,
        places_of(Y),
        label,
        graph=graph,
        a=kernel[0],
        b=kernel[1],
        metric=metric if metric in _MEASURED_METRICS else "euclidean",
        n_jobs=running.jobs,
        verbose=False,
    )


def score_table(chosen: Chosen, maps: Mapping[str, Any], running: RunningOptions) -> dict[str, QualityReport]:
    """Measure several maps and print a table with a line for each."""
    reports = {name: score_map(chosen, Y, running) for name, Y in maps.items()}
    measures = list(next(iter(reports.values())))
    width = max(map(len, reports))
    print(" " * width, *measures, sep="  ")
    for name, report in reports.items():
        print(f"{name:<{width}}", *(f"{report[m]:>{len(m)}.4f}" for m in measures), sep="  ")
    return reports


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
