"""What estimators are given, read and checked: parameters, seeds, and what ``fit`` takes besides X."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_random_state

from actup._errors import WrongType
from actup._labels import label_array
from actup._values import reject_mask
from actup.backends._memory._shape import Lean
from actup.graph._records import Graph, Neighbors, read_lists
from actup.graph._sample_weights import read_sample_weights
from actup.neighbors._metric_parameters import check_parameters
from actup.recipe._recipe import Recipe

Start = str | np.ndarray | None
RandomState = int | np.random.RandomState | np.random.Generator | None
Lists = tuple[Any, ...] | None  # (indices, distances), or umap-learn's (indices, distances, index)

_MAX_ASYMMETRY = 1e-6  # of the largest similarity: given ones that differ less do so by rounding


# Parameters that may be arrays; others are compared with names and numbers, which arrays cannot be.
_ARRAYS = {"init", "precomputed_knn", "perplexity", "perplexities", "n_epochs", "phases", "random_state"}
_ARRAYS |= {
    "target_metric_kwds",
    "metric_kwds",
    "metric_params",
    "output_metric_kwds",
    "hidden_layer_sizes",
    "callback",
    "callbacks",
}


def _entries(values: Any, kept: np.ndarray) -> Any:
    """Those of some samples; what has no entry for each stays whole, to be rejected by its own check."""
    array = np.asanyarray(values)  # a masked array stays one, and is rejected
    return array[kept] if array.ndim and len(array) > kept.max(initial=-1) else values


def reject_arrays(parameters: Mapping[str, Any]) -> None:
    """Reject an array as the value of a parameter that is one value."""
    for name, value in parameters.items():
        if name not in _ARRAYS and getattr(value, "ndim", 0) > 0:
            raise WrongType(f"{name}={reprlib.repr(value)} is an array, but must be a single value")


@dataclass(frozen=True)
class FitInputs:
    """What a fit is given besides X."""

    y: Any = None
    sample_weight: Any = None
    fixed: Any = None
    init: Any = None  # in place of the estimator's own
    affinities: Any = None  # similarities in place of those of X; only TSNE takes them
    finite: bool | str = True
    kept: np.ndarray | None = None  # the numbers of the samples that take part; None: all
    n_samples: int = 0  # of all samples, if only some take part
    lean: Lean = field(default_factory=Lean)  # where the run takes less memory

    def distinct(self, kept: np.ndarray, inverse: np.ndarray) -> FitInputs:
        """The inputs of distinct rows: those of the first sample of each; weights are added up."""
        selected = self.selected(kept)
        if self.sample_weight is None:
            return selected
        weights = np.bincount(inverse, read_sample_weights(self.sample_weight, len(inverse)), len(kept))
        return replace(selected, sample_weight=weights)

    def selected(self, kept: np.ndarray) -> FitInputs:
        """The inputs of some samples, by their numbers."""
        y = None if self.y is None else _entries(label_array(self.y), kept)
        weights, fixed = (
            None if part is None else _entries(part, kept) for part in (self.sample_weight, self.fixed)
        )
        init = self.init if self.init is None or isinstance(self.init, str) else _entries(self.init, kept)
        return replace(self, y=y, sample_weight=weights, fixed=fixed, init=init)

    def weighty_only(self, weighty: np.ndarray, n: int, init: Any) -> FitInputs:
        """The inputs of those of n samples whose weight is not 0; ``init`` is the estimator's own."""
        own = init if self.init is None and not isinstance(init, str) else self.init
        return replace(replace(self, init=own).selected(weighty), kept=weighty, n_samples=n)

    def weighty_samples(self, n: int) -> np.ndarray | None:
        """The numbers of the samples whose weight is not 0; None: there are no others."""
        if self.sample_weight is None:
            return None
        weighs = read_sample_weights(self.sample_weight, n) > 0
        return None if weighs.all() else np.flatnonzero(weighs)


def read_mobility(fixed: Any, init: Any, n: int) -> np.ndarray:
    """The mobility of points of which some are fixed: 1 minus ``fixed``, (n,) float32."""
    if init is None or isinstance(init, str):
        raise ValueError(
            "fixed needs places to keep points at: give init, an array of shape (n_samples, n_components) "
            "with rows of NaN for samples that have no place yet"
        )
    reject_mask(fixed, "fixed")
    shares = np.asarray(fixed)
    if shares.shape != (n,) or shares.dtype.kind not in "biuf":
        raise ValueError(
            f"fixed has shape {shares.shape} and holds {shares.dtype}: give one Boolean or number for each "
            f"of {n} samples"
        )
    shares = shares.astype(np.float64)
    wrong = np.flatnonzero(~((shares >= 0) & (shares <= 1)))
    if len(wrong):
        raise ValueError(
            f"fixed has {shares[wrong[0]]} (row {wrong[0]}): give numbers from 0 (moves freely) to 1 (stays)"
        )
    unplaced = _rows_without_place(init, n)
    if (unplaced & (shares > 0)).any():
        row = int(np.flatnonzero(unplaced & (shares > 0))[0])
        raise ValueError(
            f"fixed keeps sample {row} at its place, but its row of init is NaN: give it a place"
        )
    return (1 - shares).astype(np.float32)


def _rows_without_place(init: Any, n: int) -> np.ndarray:
    """Which rows of ``init`` are NaN; none if it is no (n, d) array of numbers, which the start rejects."""
    nowhere = np.zeros(n, bool)
    if issparse(init) or np.shape(init)[:1] != (n,) or np.ndim(init) != 2 or np.iscomplexobj(init):
        return nowhere
    try:
        return np.asarray(np.isnan(np.asarray(init, np.float64)).all(axis=1))
    except (TypeError, ValueError, OverflowError):
        return nowhere


def read_affinities(affinities: Any) -> Graph:
    """The graph of similarities: openTSNE's object, which has them as ``P``, or the matrix itself.

    Its weights add up to the number of points, as those of t-SNE's own graph do.
    """
    P = getattr(affinities, "P", affinities)
    shape: tuple[int, ...] = getattr(P, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1]:
        raise WrongType(
            f"affinities={reprlib.repr(affinities)} must be affinities of actup.compat.opentsne.affinity or "
            "openTSNE, or a square matrix of similarities"
        )
    P = csr_matrix(P, dtype=np.float64)
    asymmetry = abs(P - P.T).max()
    if asymmetry > _MAX_ASYMMETRY * abs(P).max():
        raise ValueError(f"affinities differ by {asymmetry:g} between i, j and j, i: give (P + P.T) / 2")
    if not P.sum() > 0 or P.data.min() < 0:
        raise ValueError("affinities must hold numbers of at least 0 that are not all 0")
    return Graph.from_scipy(P * (P.shape[0] / P.sum()))


def start_name(init: Start, otherwise: str) -> str | None:
    """The start that a recipe names; coordinates are handed to the layout instead."""
    return init if init is None or isinstance(init, str) else otherwise


def change(base: Recipe, names: dict[str, str], **changes: Any) -> Recipe:
    """``base.but(**changes)``, with errors that speak of the estimator's own parameter names."""
    for switch in ("metric_kwds", "output_metric_kwds"):  # recipes also take the tuples that they hold
        check_parameters(changes.get(switch), names.get(switch, switch))
    try:
        return base.but(**changes)
    except (TypeError, ValueError) as error:
        message = str(error)
        for switch, name in names.items():
            if message.startswith(f"{switch}="):
                message = message.replace(switch, name, 1)
        raise type(error)(message) from None


def read_given_neighbors(lists: Lists) -> Neighbors | None:
    """The neighbours that ``precomputed_knn`` holds; umap-learn's default is a tuple of None."""
    if lists is None or isinstance(lists, Neighbors):
        return lists
    if not isinstance(lists, tuple | list) or len(lists) not in (2, 3):
        raise WrongType(
            f"precomputed_knn={reprlib.repr(lists)} must be (indices, distances) or (indices, distances, "
            "index)"
        )
    if all(part is None for part in lists):
        return None
    return read_lists(lists[0], lists[1], ("precomputed_knn[0]", "precomputed_knn[1]"))


def given_part(lists: Lists, part: int) -> Any:
    """Indices (0), distances (1) or index (2) of ``precomputed_knn``; None if it is not given."""
    if isinstance(lists, Neighbors):
        return (lists.indices, lists.distances, None)[part]
    return lists[part] if isinstance(lists, tuple | list) and len(lists) > part else None


def draw_seed(random_state: RandomState) -> int:
    """The seed of a fit; an integer is the seed itself, so that it means the same in ``actup.embed``."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    try:
        source = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer from 0 to 2**32 - 1, or NumPy's "
            "RandomState or Generator"
        ) from None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(source.randint(2**31 - 1))
