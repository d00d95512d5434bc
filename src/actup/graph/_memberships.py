"""Similarities row by row, not made symmetric: bandwidths, and how strongly neighbours belong to a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from actup._device import to_host
from actup._elementary import exp
from actup._engine import engine
from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup._values import as_float
from actup.graph._records import Neighbors

if TYPE_CHECKING:
    from actup.recipe._recipe import Recipe


def bandwidths(
    distances: ArrayLike,
    k: float,
    local_connectivity: float = 1.0,
    bandwidth: float = 1.0,
    n_iter: int = 64,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """sigma and rho of every row, as umap-learn's ``smooth_knn_dist`` defines them.

    A row's similarities are exp(-max(d - rho, 0)/sigma), with sigma such that those of all columns but the
    first sum to ``bandwidth * log2(k)``. sigma is at least a thousandth of the mean distance: of the row, or
    of all rows where rho is 0.

    Parameters
    ----------
    distances : array-like of shape (n, columns)
        The first column holds the distance of each row to itself. Infinite distances do not count.
    k : float
        Number of neighbours, the row itself included; greater than 1.
    local_connectivity : float, default=1.0
        rho is the distance of this number among the row's distances above 0; fractions interpolate.
    bandwidth : float, default=1.0
        Factor of the sum.
    n_iter : int, default=64
        Steps of the search for sigma, at most.
    threads : int or None, default=None
        None: one per core. It changes no bit.

    Returns
    -------
    sigmas, rhos : ndarray of shape (n,), float32
    """
    rows = np.ascontiguousarray(distances, np.float32)
    if rows.ndim != 2:
        raise ValueError(f"distances has shape {rows.shape}, but must have one row per point: (n, columns)")
    if not (rows >= 0).all():
        raise ValueError("distances must not be negative or NaN")
    if not k > 1:
        raise ValueError(f"k={k!r} must be greater than 1")
    if not local_connectivity >= 0:
        raise ValueError(f"local_connectivity={local_connectivity!r} must be at least 0")
    if (rows[:, 1:] < rows[:, :-1]).any():
        rows = np.sort(rows, axis=1)
    workers = count_threads(threads, "threads")
    return engine.umap_bandwidths(
        rows,
        as_float(k, "k"),
        as_float(bandwidth, "bandwidth"),
        as_float(local_connectivity, "local_connectivity"),
        int(n_iter),
        workers,
    )


def memberships(
    indices: ArrayLike,
    distances: ArrayLike,
    sigmas: ArrayLike,
    rhos: ArrayLike,
    bipartite: bool = False,
    return_dists: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Similarities of every listed neighbour, as umap-learn's ``compute_membership_strengths`` gives them.

    Parameters
    ----------
    indices : array-like of shape (n, k)
        Neighbours; -1 stands for none, whose entries are all 0.
    distances : array-like of shape (n, k)
    sigmas, rhos : array-like of shape (n,)
        As ``bandwidths`` gives them.
    bipartite : bool, default=False
        Whether neighbours are numbered independently of the rows. If not, a row's similarity to itself is 0.
    return_dists : bool, default=False
        Whether to return the distances too.

    Returns
    -------
    rows, columns : ndarray of shape (n * k,), int32
    values : ndarray of shape (n * k,), float32
    distances : ndarray of shape (n * k,), float32, or None
    """
    ids = np.asarray(indices)
    lists = np.asarray(distances, np.float32)
    if ids.ndim != 2 or ids.shape != lists.shape:
        raise ValueError(f"indices of shape {ids.shape} and distances of shape {lists.shape} must be equal")
    owners = np.broadcast_to(np.arange(len(ids), dtype=np.int32)[:, None], ids.shape)
    scale = np.asarray(sigmas, np.float64)[:, None]
    beyond = lists - np.asarray(rhos, np.float64)[:, None]
    with np.errstate(invalid="ignore"):
        exponent = beyond / np.where(scale == 0, 1.0, scale)
    exponent[(beyond <= 0) | (scale == 0)] = 0.0
    values = exp(-np.nan_to_num(exponent, nan=np.inf, posinf=np.inf))
    present = ids != -1
    values[~present | (~np.bool_(bipartite) & (ids == owners))] = 0.0
    given = np.where(present, lists, 0).ravel() if return_dists else None
    return (
        np.where(present, owners, 0).ravel(),
        np.where(present, ids, 0).astype(np.int32).ravel(),
        values.astype(np.float32).ravel(),
        given,
    )


def engine_affinity(recipe: Recipe) -> engine.Affinity:
    """The engine's affinity of a recipe; its "gaussian" takes any number of perplexities."""
    return engine.Affinity["gaussian" if recipe.affinity == "multiscale" else recipe.affinity.value]


def row_affinities(distances: np.ndarray, recipe: Recipe, threads: int) -> np.ndarray:
    """p(j|i) by the recipe's affinity: (n, k) float32, each row from its own ascending distances alone."""
    return engine.row_affinities(
        np.ascontiguousarray(distances, np.float32),
        engine_affinity(recipe),
        engine.Distance[recipe.distance.value],
        recipe.scales(),
        recipe.sigma or 1.0,
        recipe.subtracted_neighbor(),
        threads,
    )


def row_memberships(neighbors: Neighbors, recipe: Recipe, n: int, threads: int) -> CsrMatrix:
    """The similarities of new rows to the points of a graph, in one direction.

    Parameters
    ----------
    neighbors : Neighbors
        Of m new rows among n points. Neighbours of id -1 at an infinite distance are left out.
    recipe : Recipe
        Its affinity. These are the similarities by which new rows are placed on a map.
    n, threads : int

    Returns
    -------
    CSR matrix of shape (m, n), float32
        Ids ascend within a row; each row depends on its own neighbours alone.
    """
    ids, distances = to_host(neighbors.indices), to_host(neighbors.distances)
    return directed_matrix(ids, row_affinities(distances, recipe, threads), n)


def directed_matrix(indices: np.ndarray, weights: np.ndarray, n: int) -> CsrMatrix:
    """Lists of neighbours and their weights, both (m, k), as a CSR matrix (m, n) without weights of 0."""
    order = np.argsort(indices, axis=1, kind="stable")
    ids, values = (np.take_along_axis(each, order, axis=1) for each in (indices, weights))
    kept = values > 0
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return csr_matrix((values[kept], ids[kept], offsets), shape=(len(indices), n))
