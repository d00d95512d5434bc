"""The table of measures that the quality report goes through, and the inputs they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from actup._cached_property import cached_property
from actup.graph._records import Graph
from actup.quality._distances import distance_correlation, triplet_accuracy
from actup.quality._inputs import NotMeasurable
from actup.quality._labels import knn_accuracy, v_measure, voters
from actup.quality._losses import PairLosses, measurable_losses
from actup.quality._neighborhoods import Neighborhoods
from actup.quality._points import MeasuredPoints
from actup.quality._stability import SeedStability, seed_stability

_PAIRS_PER_POINT = 50  # random pairs or triplets per sampled point
# Above these numbers of points, the report leaves out sums over all pairs or triplets: they take minutes.
_MAX_POINTS = {"pairs": 300_000, "triplets": 2_000}


class _PairMeasure(Protocol):
    """A measure over random pairs or triplets of points."""

    def __call__(
        self, X: MeasuredPoints, Y: np.ndarray, *, sample: int | None, random_state: int, n_jobs: int
    ) -> float: ...


@dataclass(frozen=True)
class MeasureInputs:
    """A map and everything that was given with it; intermediate results that measures share are cached.

    A property whose optional input is missing raises NotMeasurable, which names the argument to give.
    """

    optional_points: MeasuredPoints | None
    Y: np.ndarray
    y: np.ndarray | None
    optional_graph: Graph | None
    other_maps: Sequence[ArrayLike] | None
    a: float
    b: float
    sample: int | None
    random_state: int
    threads: int

    @property
    def points(self) -> MeasuredPoints:
        if self.optional_points is None:
            raise NotMeasurable("needs distances between rows of the data: give X")
        return self.optional_points

    @property
    def labels(self) -> np.ndarray:
        if self.y is None:
            raise NotMeasurable("needs labels: give y")
        return self.y

    @property
    def graph(self) -> Graph:
        if self.optional_graph is None:
            raise NotMeasurable("needs the neighbour graph: give graph")
        return self.optional_graph

    @property
    def others(self) -> Sequence[ArrayLike]:
        if self.other_maps is None:
            raise NotMeasurable("needs maps of other seeds: give others")
        return self.other_maps

    @cached_property
    def voters(self) -> int:
        return voters(self.labels)

    @cached_property
    def neighborhoods(self) -> Neighborhoods:
        return Neighborhoods(self.points, self.Y, 15, self.sample, self.random_state, self.threads)

    @cached_property
    def losses(self) -> PairLosses:
        graph = self.graph
        self._reject_long_sum("pairs")
        return measurable_losses(graph, self.Y, self.a, self.b, self.threads)

    @cached_property
    def stability(self) -> SeedStability:
        maps = [self.Y, *self.others]
        return seed_stability(maps, sample=self.sample, random_state=self.random_state, n_jobs=self.threads)

    def over_random(self, kind: Literal["pairs", "triplets"], measure: _PairMeasure) -> float:
        """Compute a measure over random pairs or triplets, or over all of them if ``sample`` is None."""
        if self.sample is None:
            self._reject_long_sum(kind)
        sample = self.sample and self.sample * _PAIRS_PER_POINT
        return measure(
            self.points, self.Y, sample=sample, random_state=self.random_state, n_jobs=self.threads
        )

    def _reject_long_sum(self, kind: Literal["pairs", "triplets"]) -> None:
        if len(self.Y) > _MAX_POINTS[kind]:
            raise NotMeasurable(
                f"a sum over all {kind} of {len(self.Y)} points takes long: call the function itself"
            )


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Attributes
    ----------
    name : str
    better : {"higher", "lower"}
    note : str
        What is measured, in a few words; ``{given.…}`` is replaced by that property of the inputs.
    compute : callable
        Takes MeasureInputs, returns the figure or raises NotMeasurable.
    """

    name: str
    better: Literal["higher", "lower"]
    note: str
    compute: Callable[[MeasureInputs], float]


# To add a measure, write its function and add a row here: the report, its table and the tests follow.
MEASURES = (
    Measure(
        "knn_accuracy",
        "higher",
        "{given.voters} neighbours in the map vote for the label",
        lambda given: knn_accuracy(given.Y, given.labels, n_jobs=given.threads),
    ),
    Measure(
        "v_measure",
        "higher",
        "k-means in the map against the labels",
        lambda given: v_measure(given.Y, given.labels, random_state=given.random_state, n_jobs=given.threads),
    ),
    Measure(
        "neighbor_recall",
        "higher",
        "10 nearest in X found among the 10 nearest in the map",
        lambda given: given.neighborhoods.recall(10),
    ),
    Measure(
        "trustworthiness",
        "higher",
        "15 nearest in the map are near in X",
        lambda given: given.neighborhoods.trustworthiness(15),
    ),
    Measure(
        "continuity",
        "higher",
        "15 nearest in X are near in the map",
        lambda given: given.neighborhoods.continuity(15),
    ),
    Measure(
        "triplet_accuracy",
        "higher",
        "the nearer of two points stays the nearer; 0.5 is chance",
        lambda given: given.over_random("triplets", triplet_accuracy),
    ),
    Measure(
        "distance_correlation",
        "higher",
        "Spearman correlation of distances",
        lambda given: given.over_random("pairs", distance_correlation),
    ),
    Measure(
        "kl_divergence",
        "lower",
        "t-SNE's loss, a={given.a:.4g}, b={given.b:.4g}",
        lambda given: given.losses.kl_divergence(),
    ),
    Measure(
        "cross_entropy",
        "lower",
        "UMAP's loss over all pairs, a={given.a:.4g}, b={given.b:.4g}",
        lambda given: given.losses.cross_entropy(),
    ),
    Measure(
        "frobenius_loss",
        "lower",
        "squared difference of similarities, a={given.a:.4g}, b={given.b:.4g}",
        lambda given: given.losses.frobenius(normalized=False),
    ),
    Measure(
        "seed_disparity",
        "lower",
        "Procrustes disparity to maps of other seeds",
        lambda given: given.stability.disparity,
    ),
    Measure(
        "seed_jaccard",
        "higher",
        "15 nearest shared with maps of other seeds",
        lambda given: given.stability.jaccard,
    ),
)
