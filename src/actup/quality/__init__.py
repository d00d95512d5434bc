"""Quality measures of a map: plain functions, and one report that a table of them drives.

Every measure is deterministic: ``random_state`` draws the sample, ``sample=None`` looks at everything, and
``n_jobs`` never changes a bit of the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from actup._threads import count_threads
from actup.graph._records import Graph
from actup.quality._distances import distance_correlation, triplet_accuracy
from actup.quality._inputs import NotMeasurable, check_labels, check_pair, check_sample
from actup.quality._labels import knn_accuracy, v_measure, voters
from actup.quality._losses import PairLosses, cross_entropy, frobenius_loss, kl_divergence, measurable_losses
from actup.quality._neighborhoods import Neighborhoods, continuity, neighbor_recall, trustworthiness
from actup.quality._points import Points
from actup.quality._report import Measurement, QualityReport
from actup.quality._stability import SeedStability, seed_stability

__all__ = [
    "NotMeasurable",
    "QualityReport",
    "SeedStability",
    "continuity",
    "cross_entropy",
    "distance_correlation",
    "frobenius_loss",
    "kl_divergence",
    "knn_accuracy",
    "neighbor_recall",
    "quality_report",
    "seed_stability",
    "triplet_accuracy",
    "trustworthiness",
    "v_measure",
    "voters",
]

_PAIRS_PER_ROW = 50  # random pairs and triplets per sampled row
_MOST_POINTS = {"pairs": 300_000, "triplets": 2_000}  # beyond, the report leaves sums over all of them out


@dataclass(frozen=True)
class _Case:
    """What is measured; work that several measures share is done once."""

    points: Points
    Y: np.ndarray
    labels: np.ndarray | None
    graph: Graph | None
    others: Sequence | None
    a: float
    b: float
    sample: int | None
    random_state: int
    threads: int

    @cached_property
    def voters(self) -> int:
        return voters(self.labels)

    @cached_property
    def neighborhoods(self) -> Neighborhoods:
        return Neighborhoods(self.points, self.Y, 15, self.sample, self.random_state, self.threads)

    @cached_property
    def losses(self) -> PairLosses:
        self._refuse_many("pairs")
        return measurable_losses(self.graph, self.Y, self.a, self.b, self.threads)

    @cached_property
    def stability(self) -> SeedStability:
        maps = [self.Y, *self.others]
        return seed_stability(maps, sample=self.sample, random_state=self.random_state, n_jobs=self.threads)

    def of_pairs(self, measure: Callable, kind: str) -> float:
        """A measure over random pairs or triplets."""
        if self.sample is None:
            self._refuse_many(kind)
        sample = self.sample and self.sample * _PAIRS_PER_ROW
        return measure(
            self.points, self.Y, sample=sample, random_state=self.random_state, n_jobs=self.threads
        )

    def _refuse_many(self, kind: str) -> None:
        if len(self.Y) > _MOST_POINTS[kind]:
            raise NotMeasurable(
                f"a sum over all {kind} of {len(self.Y)} points takes long: call the function itself"
            )


@dataclass(frozen=True)
class _Measure:
    """A row of the report's table."""

    name: str
    better: str  # "higher" or "lower"
    note: str  # may name fields of the case
    compute: Callable[[_Case], float]
    needs: str | None = None  # a field of the case that must be given


# To add a measure: its function, and a row here.
_MEASURES = (
    _Measure(
        "knn_accuracy",
        "higher",
        "{case.voters} neighbours in the map vote for the label",
        lambda case: knn_accuracy(case.Y, case.labels, n_jobs=case.threads),
        needs="labels",
    ),
    _Measure(
        "v_measure",
        "higher",
        "k-means in the map against the labels",
        lambda case: v_measure(case.Y, case.labels, random_state=case.random_state, n_jobs=case.threads),
        needs="labels",
    ),
    _Measure(
        "neighbor_recall",
        "higher",
        "10 nearest in X found among the 10 nearest in the map",
        lambda case: case.neighborhoods.recall(10),
    ),
    _Measure(
        "trustworthiness",
        "higher",
        "15 nearest in the map are near in X",
        lambda case: case.neighborhoods.trustworthiness(15),
    ),
    _Measure(
        "continuity",
        "higher",
        "15 nearest in X are near in the map",
        lambda case: case.neighborhoods.continuity(15),
    ),
    _Measure(
        "triplet_accuracy",
        "higher",
        "the nearer of two points stays the nearer; 0.5 is chance",
        lambda case: case.of_pairs(triplet_accuracy, "triplets"),
    ),
    _Measure(
        "distance_correlation",
        "higher",
        "Spearman correlation of distances",
        lambda case: case.of_pairs(distance_correlation, "pairs"),
    ),
    _Measure(
        "kl_divergence",
        "lower",
        "t-SNE's loss, a={case.a:.4g}, b={case.b:.4g}",
        lambda case: case.losses.kl_divergence(),
        needs="graph",
    ),
    _Measure(
        "cross_entropy",
        "lower",
        "UMAP's loss over all pairs, a={case.a:.4g}, b={case.b:.4g}",
        lambda case: case.losses.cross_entropy(),
        needs="graph",
    ),
    _Measure(
        "frobenius_loss",
        "lower",
        "squared difference of similarities, a={case.a:.4g}, b={case.b:.4g}",
        lambda case: case.losses.frobenius(normalized=False),
        needs="graph",
    ),
    _Measure(
        "seed_disparity",
        "lower",
        "Procrustes disparity to maps of other seeds",
        lambda case: case.stability.disparity,
        needs="others",
    ),
    _Measure(
        "seed_jaccard",
        "higher",
        "15 nearest shared with maps of other seeds",
        lambda case: case.stability.jaccard,
        needs="others",
    ),
)

_REMEDIES = {
    "labels": "needs labels: give y",
    "graph": "needs the neighbour graph: give graph",
    "others": "needs maps of other seeds: give others",
}


def quality_report(
    X,
    Y,
    y=None,
    *,
    graph: Graph | None = None,
    others: Sequence | None = None,
    a: float = 1.0,
    b: float = 1.0,
    metric: str = "euclidean",
    sample: int | None = 2000,
    random_state: int = 0,
    n_jobs: int = -1,
    verbose: bool = True,
) -> QualityReport:
    """All measures of a map, printed as a table and returned.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, features)
        Never copied as a whole.
    Y : array of shape (n, dimensions)
        The map.
    y : array of shape (n,), optional
        Labels.
    graph : Graph, optional
        The weights whose losses are measured.
    others : sequence of arrays of shape (n, dimensions), optional
        Maps of the same points from other seeds.
    a : float
    b : float
        Of the kernel 1/(1 + a d^2b) in the losses.
    metric : {"euclidean", "cosine"}
        Of X; the map is always Euclidean.
    sample : int or None
        How many points' neighbourhoods are looked at, and 50 times as many pairs and triplets. None: all.
    random_state : int
    n_jobs : int
        Threads; -1 for all cores.
    verbose : bool
        Whether the report is printed.

    Returns
    -------
    QualityReport
        A mapping from names to numbers; ``left_out`` has the reason for each measure that is missing.
    """
    points, Y = check_pair(X, Y, metric)
    labels = None if y is None else check_labels(y, len(Y))
    case = _Case(
        points, Y, labels, graph, others, a, b, check_sample(sample), random_state, count_threads(n_jobs)
    )
    measurements, left_out = {}, {}
    for measure in _MEASURES:
        start = time.perf_counter()
        try:
            value = _measure(measure, case)
        except NotMeasurable as reason:
            left_out[measure.name] = str(reason)
            continue
        note = measure.note.format(case=case)
        seconds = time.perf_counter() - start
        measurements[measure.name] = Measurement(value, measure.better, note, seconds)
    dimensions = f"{points.features} to {Y.shape[1]} dimensions"
    report = QualityReport(f"Map of {len(Y)} points, {dimensions}", measurements, left_out)
    if verbose:
        print(report)
    return report


def _measure(measure: _Measure, case: _Case) -> float:
    if measure.needs and getattr(case, measure.needs) is None:
        raise NotMeasurable(_REMEDIES[measure.needs])
    return measure.compute(case)
