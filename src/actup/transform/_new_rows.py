"""New rows on a finished map: find their neighbours among the training data, then a place for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from actup._csr import entry_rows
from actup._device import array_module, on_gpu, to_host
from actup._typing import Array, Rows
from actup._values import reject_mask
from actup.graph._records import Neighbors
from actup.neighbors._chunks import row_chunks
from actup.neighbors._comparison import reject_negative
from actup.neighbors._duplicates import RowLookup, equal_rows
from actup.neighbors._rows import as_sparse_or_dense
from actup.neighbors._search import Search, SearchOptions, check_k, make_search
from actup.recipe._recipe import Recipe
from actup.transform._placement import make_placement, neighbors_needed, row_recipe

if TYPE_CHECKING:
    from actup.backends._base import Backend

_CHUNK_VALUES = 2**20


def place_new_rows(
    training: TrainingRows,
    rows: Rows,
    embedding: Array,
    recipe: Recipe,
    seed: int,
    threads: int,
    backend: Backend,
) -> Array:
    """The places of new rows on the map of the training data.

    Parameters
    ----------
    training : TrainingRows
    rows : array or CSR matrix of shape (m, features)
        Checked, where the backend computes.
    embedding : array of shape (n, n_components)
        The map of the training data; the caller may have assigned it.
    recipe : Recipe
        The recipe of the map.
    seed, threads : int
    backend : Backend

    Returns
    -------
    array of shape (m, n_components), float32
        Where the backend computes.
    """
    training.check_searchable()
    for_rows, n = row_recipe(recipe), len(training)
    embedding = backend.load(check_map(embedding, n, recipe.n_components))
    found = backend.query_neighbors(training, rows, neighbors_needed(for_rows, n), threads)
    found = replace(found, indices=backend.load(found.indices), distances=backend.load(found.distances))
    places = embedding[_nearest_ids(training, rows, found)]
    new = array_module(places).flatnonzero(found.distances[:, 0] != 0)
    if len(new):
        lists = Neighbors(found.indices[new], _not_negative(found.distances[new]))
        placement = make_placement(recipe, n, seed)
        places[new] = backend.place_rows(lists, embedding, for_rows, placement, threads)
    return places


def _nearest_ids(training: TrainingRows, rows: Rows, found: Neighbors) -> Array:
    """The training row nearest to each row; of several at distance 0, the one that equals it."""
    nearest = found.indices[:, 0].copy()
    tied = array_module(nearest).flatnonzero((found.distances[:, :2] == 0).sum(axis=1) == 2)
    if not len(tied) or training.rows is None:
        return nearest
    equal = array_module(nearest).asarray(training.first_equal(rows[tied]), nearest.dtype)
    nearest[tied] = array_module(nearest).where(equal < 0, nearest[tied], equal)
    return nearest


def check_map(embedding: Any, n: int, dimensions: int) -> Array:
    """The map that an estimator has now, in float32: the caller may have assigned it, or changed it in place.

    Neighbours are ids of its rows, so that it needs one row per training row.
    """
    reject_mask(embedding, "embedding_")
    points = embedding if on_gpu(embedding) else np.asarray(embedding)
    if points.dtype.kind not in "biuf":
        raise TypeError(
            f"embedding_ holds {points.dtype}, but a map needs real numbers: convert them, or fit again"
        )
    if points.shape != (n, dimensions):
        raise ValueError(
            f"embedding_ has shape {tuple(points.shape)}, but the model was fitted to {n} rows in "
            f"{dimensions} dimensions: assign one place for each of them, or fit again"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        points = points.astype(np.float32, copy=False)
    finite = array_module(points).isfinite(points).all(axis=1)
    if not bool(finite.all()):
        raise ValueError(
            f"embedding_ has NaN or values too large for float32 in row {int(finite.argmin())}: assign "
            "finite coordinates, or fit again"
        )
    return points


def _not_negative(distances: Array) -> Array:
    """Shift rows of distances that begin below 0, as inner products of long new rows can, to begin at 0."""
    return distances - array_module(distances).minimum(distances[:, :1], 0)


def _has_zero_diagonal(distances: Rows, n: int) -> bool:
    """Whether a matrix is square, of n rows, and has a zero at every place of its diagonal."""
    if distances.shape != (n, n) or to_host(distances.diagonal()).any():
        return False
    if not issparse(distances):
        return True
    return int((entry_rows(distances.indptr) == distances.indices).sum()) == n


# What TrainingRows computes when it is first needed, as it is before.
_PREPARED_LATER = {"_search": None, "_lookup": None, "_counted": None}


class TrainingRows:
    """The data of a fit, kept to be searched for the neighbours of new rows.

    The search is prepared when it is first used, and is not part of a pickle.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, features), or (n, n) distances, or None
        Checked. Not copied: do not change them while new rows are to be placed. None: they are not known, as
        in a model that was saved without them.
    recipe : Recipe
        Its ``metric``, ``metric_kwds`` and ``recall``.
    count : int, default=None
        Number of rows, if ``rows`` is None.
    """

    def __init__(self, rows: Rows | None, recipe: Recipe, count: int | None = None):
        self._count = count if rows is None else rows.shape[0]
        self.metric = recipe.metric
        self.parameters = dict(recipe.metric_kwds)
        self._options = SearchOptions(recall=recipe.recall)
        self.rows = None if recipe.metric == "precomputed" else rows
        self._search: Search | None = None
        self._lookup: RowLookup | None = None
        self._counted: tuple[np.ndarray, TrainingRows] | None = None  # what new rows were last compared with

    def __len__(self) -> int:
        assert self._count is not None
        return int(self._count)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, **_PREPARED_LATER}

    def selected(self, chosen: np.ndarray) -> TrainingRows:
        """The same for some of the rows, by their numbers."""
        part = TrainingRows.__new__(TrainingRows)
        part.__dict__ = {**self.__dict__, **_PREPARED_LATER, "_count": len(chosen)}
        part.rows = None if self.rows is None else self.rows[chosen]
        return part

    def counted(self, chosen: np.ndarray) -> TrainingRows:
        """As ``selected``, and kept with its search for the next call with the same numbers."""
        if self._counted is None or not np.array_equal(self._counted[0], chosen):
            self._counted = (chosen, self.selected(chosen))
        return self._counted[1]

    def columns_of(self, new_rows: Rows, counted: np.ndarray | slice) -> Rows:
        """New rows as they are compared with counted ones: of given distances, the columns of those."""
        is_all = isinstance(counted, slice)
        return new_rows if is_all or self.metric != "precomputed" else new_rows[:, counted]

    def check_searchable(self) -> None:
        """Reject a search for new rows if the rows were not saved; of given distances none are needed."""
        if self.metric != "precomputed":
            self.check_has_rows("transform", "")

    def check_has_rows(self, method: str, instead: str) -> None:
        """Reject a method that needs the rows of the fit if they are not known.

        Parameters
        ----------
        method : str
        instead : str
            What to do if the model was fitted to distances, for the error.
        """
        if self.rows is not None:
            return
        if self.metric == "precomputed":
            raise ValueError(
                f"{method} needs rows, but the model was fitted to distances (metric='precomputed'): "
                f"{instead}"
            )
        raise ValueError(
            f"the model was saved without its training rows, which {method} needs: save it with data='full' "
            "or data='half', or fit it again"
        )

    def are(self, new_rows: Rows) -> bool:
        """Whether new rows are the training rows themselves, in their order.

        Given distances are those of the training rows if their diagonal holds zeros alone; of a sparse matrix
        these must be stored.
        """
        if self.rows is None:
            return self.metric == "precomputed" and _has_zero_diagonal(new_rows, len(self))
        if new_rows.shape != self.rows.shape:
            return False
        is_sparse = issparse(self.rows)
        return all(
            equal_rows(
                as_sparse_or_dense(to_host(new_rows[chunk]), is_sparse), to_host(self.rows[chunk])
            ).all()
            for chunk in row_chunks(self.rows, _CHUNK_VALUES)
        )

    def first_equal(self, new_rows: Rows) -> np.ndarray:
        """The number of the first training row that equals each new row; -1 where there is none."""
        rows = to_host(self.rows)
        if self._lookup is None:
            self._lookup = RowLookup(rows)
        return self._lookup.first_equal(as_sparse_or_dense(to_host(new_rows), issparse(rows)))

    def query_on_host(self, new_rows: Rows, k: int, threads: int) -> Neighbors:
        """The k training rows nearest to every new row, searched by the CPU."""
        self.check_searchable()
        k = check_k(k, len(self), excludes_self=False)
        if self.rows is None:  # new rows hold the distances to the training rows
            return make_search(new_rows, "precomputed", None, SearchOptions(), threads).query(new_rows, k)
        rows = to_host(self.rows)
        new_rows = as_sparse_or_dense(new_rows, issparse(rows))
        reject_negative(self.metric, new_rows, "X")
        if self._search is None:
            self._search = make_search(rows, self.metric, self.parameters, self._options, threads)
        return self._search.query(new_rows, k)
