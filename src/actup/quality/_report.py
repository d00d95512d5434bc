"""quality_report() and QualityReport: all measures of one map, as a mapping that prints as a table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from numpy.typing import ArrayLike

from actup._errors import WrongType
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._typing import CsrMatrix, Rows
from actup._values import is_iterable, read_flag
from actup.graph._records import Graph
from actup.quality._inputs import NotMeasurable, check_labels, check_map, check_pair, check_sample
from actup.quality._measures import MEASURES, MeasureInputs


@dataclass(frozen=True)
class Measurement:
    """One computed measure.

    Attributes
    ----------
    value : float
    better : str
        ``"higher"`` or ``"lower"``.
    note : str
        What was measured, in a few words.
    seconds : float
        Time it took; work that several measures share counts for the first of them.
    """

    value: float
    better: str
    note: str
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class QualityReport(Mapping[str, float]):
    """The measures of one map, as a mapping from their names to numbers.

    ``report["trustworthiness"]`` is a number, ``print(report)`` shows a table.

    Attributes
    ----------
    title : str
        First line of the table.
    measurements : dict of str to Measurement
        The measures that were computed: each has ``value``, ``better`` ("higher" or "lower"), ``note`` and
        ``seconds``.
    left_out : dict of str to str
        The measures that were not computed, each with the reason.

    See Also
    --------
    actup.quality_report : Computes it.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.quality import quality_report
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> report = quality_report(X, X, verbose=False)  # a map that keeps everything
    >>> report["neighbor_recall"]
    1.0
    >>> report.measurements["neighbor_recall"].better
    'higher'
    >>> report.left_out["v_measure"]
    'needs labels: give y'
    """

    title: str
    measurements: dict[str, Measurement]
    left_out: dict[str, str]

    def __getitem__(self, name: str) -> float:
        if name in self.left_out:
            raise KeyError(f"{name} was left out: {self.left_out[name]}")
        return self.measurements[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def __repr__(self) -> str:
        return f"QualityReport({', '.join(f'{name}={_figure(value)}' for name, value in self.items())})"

    @property
    def seconds(self) -> float:
        """Time all measures took together."""
        return sum(measurement.seconds for measurement in self.measurements.values())

    def __str__(self) -> str:
        names = max(map(len, self.measurements), default=0)
        figures = max((len(_figure(m.value)) for m in self.measurements.values()), default=0)
        lines = [self.title]
        for name, measured in self.measurements.items():
            arrow = _ARROWS[measured.better]
            lines.append(f"  {name:<{names}}  {_figure(measured.value):>{figures}} {arrow}  {measured.note}")
        for reason, left in self._reasons().items():
            lines.append(f"  left out: {', '.join(left)} ({reason})")
        lines.append(f"  ↑ higher is better, ↓ lower is better; measured in {self.seconds:.1f} s")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:right'>{_figure(measured.value)} "
            f"{_ARROWS[measured.better]}</td><td style='text-align:left'>{escape(measured.note)}</td></tr>"
            for name, measured in self.measurements.items()
        )
        reasons = "".join(
            f"<li>left out: {escape(', '.join(left))} ({escape(reason)})</li>"
            for reason, left in self._reasons().items()
        )
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr><th>measure</th><th>value</th>"
            f"<th>what it says</th></tr></thead><tbody>{rows}</tbody></table>"
            + (f"<ul>{reasons}</ul>" if reasons else "")
        )

    def _reasons(self) -> dict[str, list[str]]:
        """The measures left out, grouped by the reason."""
        groups: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            groups.setdefault(reason, []).append(name)
        return groups


_ARROWS = {"higher": "↑", "lower": "↓"}


def _figure(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.4e}"


@explain_unknown_keywords()
def quality_report(
    X: Rows | None,
    Y: ArrayLike,
    y: ArrayLike | None = None,
    *,
    graph: Graph | CsrMatrix | None = None,
    others: Sequence[ArrayLike] | None = None,
    a: float = 1.0,
    b: float = 1.0,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
    verbose: bool = True,
) -> QualityReport:
    """Compute all measures of a map, print them as a table and return them.

    Measures that need an input which is not given, or that would take minutes, are left out; the table says
    why.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), or None
        The data. It is never copied as a whole. None: measures that compare distances between rows of X are
        left out, such as for data whose distances are neither Euclidean nor cosine.
    Y : array-like of shape (n, n_components)
        The map.
    y : array-like of shape (n,), default=None
        Labels; none may be missing.
    graph : Graph or sparse matrix, default=None
        The similarities that the losses compare the map with: ``embed(...).graph``, or a sparse matrix such
        as an estimator's ``graph_``.
    others : sequence of array-like of shape (n, n_components), default=None
        Maps of the same points from other seeds.
    a, b : float, default=1.0
        Parameters of the kernel 1/(1 + a d^2b) in the losses. The default 1, 1 is t-SNE's kernel, whatever
        made the map: for the loss that a map of UMAP or GDR minimised, give the kernel of its recipe,
        ``a, b = model.recipe_.kernel()``.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows of X. Distances in the map are always Euclidean.
    sample : int or None, default=2000
        Number of points whose neighbourhoods are compared; 50 times as many random pairs and triplets are
        drawn. None: all points, pairs and triplets.
    random_state : int, default=0
        Seed of the sample and of k-means.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. It never changes the result.
    verbose : bool, default=True
        Whether to print the report.

    Returns
    -------
    QualityReport
        A mapping from names to numbers; ``left_out`` has the reason for each measure that is missing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from actup import quality_report
    >>> X, y = load_iris(return_X_y=True)
    >>> report = quality_report(X, PCA(2).fit_transform(X), y, verbose=False)
    >>> list(report)[:4]
    ['knn_accuracy', 'v_measure', 'neighbor_recall', 'trustworthiness']
    >>> report["trustworthiness"] > 0.95
    True
    >>> report.left_out["kl_divergence"]
    'needs the neighbour graph: give graph'
    """
    shown = read_flag(verbose, "verbose")
    if others is not None and not is_iterable(others):
        raise WrongType(f"others={others!r} must be a sequence of maps, of other seeds")
    points, Y = (None, check_map(Y)) if X is None else check_pair(X, Y, metric)
    labels = None if y is None else check_labels(y, len(Y), "y")
    given = MeasureInputs(
        points, Y, labels, graph, others, a, b, check_sample(sample), random_state, count_threads(n_jobs)
    )
    measurements, left_out = {}, {}
    for measure in MEASURES:
        start = time.perf_counter()
        try:
            value = measure.compute(given)
        except NotMeasurable as reason:
            left_out[measure.name] = str(reason)
            continue
        note = measure.note.format(given=given)
        seconds = time.perf_counter() - start
        measurements[measure.name] = Measurement(value, measure.better, note, seconds)
    dimensions = f"{'' if points is None else f'{points.features} to '}{Y.shape[1]} dimensions"
    report = QualityReport(f"Map of {len(Y)} points, {dimensions}", measurements, left_out)
    if shown:
        print(report)
    return report
