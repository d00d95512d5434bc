"""Backend and Layout: what a compute backend provides to the stages of a run.

A backend subclasses ``Backend``. Four methods are abstract; every other one has a default that works for
arrays in the host's memory, so that a backend overrides only what it does differently.

All arrays are in the caller's order. Every method is deterministic: the number of threads never changes a
bit of the result.
"""

from __future__ import annotations

import ctypes
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from actup._device import to_host
from actup._typing import Array, Rows
from actup.backends._memory._map import graph_moments, layout_moments, start_moments
from actup.backends._memory._search import read_moments, search_moments
from actup.backends._memory._shape import Lean, Moment, RunShape
from actup.graph._records import Graph, GraphParts, Neighbors
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import Parameters
from actup.neighbors._finite_values import Role, are_all_finite
from actup.neighbors._metrics import canonical_metric
from actup.neighbors._rows import Check, read_rows
from actup.neighbors._search import SearchOptions, make_search
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent
from actup.start import _coordinates, _landmarks
from actup.transform._placement import Placement

if TYPE_CHECKING:
    from actup._pipeline import Embedding
    from actup.transform._new_rows import TrainingRows


@dataclass(frozen=True)
class PointInputs:
    """Numbers of every point that a layout reads, in the caller's order.

    Attributes
    ----------
    mobility : array of shape (n,), float32, or None
        The factor of each point's moves, from 0 (pinned: the point keeps its place to the bit) to 1 (free);
        None: all points are free.
    log_radii : array of shape (n,), float32, or None
        The standardised log local radii of the data, which densMAP needs:
        ``standardize(local_radii(graph, edge_lengths(graph, neighbors)))`` of ``actup.graph._radii``.

    See Also
    --------
    Backend : ``make_layout`` takes them as ``points``.

    Examples
    --------
    >>> import numpy as np
    >>> from actup import Graph, preset
    >>> from actup.backends import PointInputs, load_backend
    >>> graph = Graph.from_scipy(np.ones((3, 3)))
    >>> start = np.array([[0, 0], [5, 0], [0, 5]], np.float32)
    >>> pinned = PointInputs(mobility=np.array([0, 1, 1], np.float32))
    >>> layout = load_backend("cpu").make_layout(graph, start, preset("umap"), 0, 1, pinned)
    >>> layout.run(10)
    >>> (layout.embedding() == start).all(axis=1).tolist()
    [True, False, False]
    """

    mobility: Array | None = None
    log_radii: Array | None = None

    def checked(self, n: int, recipe: Recipe) -> PointInputs:
        """The same numbers as contiguous float32 on the host; rejects what a layout cannot use."""
        if recipe.density_weight > 0 and self.log_radii is None:
            raise ValueError(
                f"density_weight={recipe.density_weight} needs the local radii of the data, which follow "
                "from neighbours: give X or neighbours, not a graph alone (log_radii of PointInputs)"
            )
        mobility = _point_numbers(self.mobility, n, "mobility")
        if mobility is not None and n and not (mobility.min() >= 0 and mobility.max() <= 1):
            raise ValueError(
                f"mobility has values from {mobility.min()} to {mobility.max()}: give numbers from 0 "
                "(pinned) to 1 (free)"
            )
        return PointInputs(mobility, _point_numbers(self.log_radii, n, "log_radii"))


def _point_numbers(values: Array | None, n: int, name: str) -> np.ndarray | None:
    """One finite float32 number per point, or None."""
    if values is None:
        return None
    numbers = np.ascontiguousarray(to_host(values), np.float32)
    if numbers.shape != (n,):
        raise ValueError(f"{name} has shape {numbers.shape}: give one number for each of the {n} points")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has NaN or infinite values: give finite numbers")
    return numbers


def check_places(Y: Array, n: int, dimensions: int) -> np.ndarray:
    """Places for ``Layout.replace_points`` as contiguous float32 on the host; rejects all that cannot be."""
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is rejected
        places = np.ascontiguousarray(to_host(Y), np.float32)
    if places.shape != (n, dimensions):
        raise ValueError(f"Y has shape {places.shape}: give a place for each point, ({n}, {dimensions})")
    if not np.isfinite(places).all():
        raise ValueError("Y has NaN or infinite coordinates, or coordinates too large for float32")
    return places


def check_steering(exaggeration: float, repulsion: float) -> None:
    """Reject factors that ``Layout.steer`` cannot use."""
    for name, value, least in (
        ("exaggeration", exaggeration, "above 0"),
        ("repulsion", repulsion, "at least 0"),
    ):
        if not math.isfinite(value) or value < 0 or (value == 0 and name == "exaggeration"):
            raise ValueError(f"{name}={value!r} must be a finite number {least}; 1 is what the recipe says")


class Layout(Protocol):
    """A descent that can be run in steps: run(5) then run(10) equals run(10).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import actup
    >>> made = actup.embed(load_digits().data[:200], actup.preset("gdr_umap").but(epochs=10))
    >>> made.layout.epoch, made.layout.n_epochs, made.layout.embedding().shape
    (10, 10, (200, 2))
    """

    n_epochs: int

    @property
    def epoch(self) -> int:
        """The number of epochs that have been run."""

    def run(self, until: int) -> None:
        """Advance to epoch ``until``; does nothing if it is already there."""

    def replace_points(self, Y: Array) -> None:
        """Continue from the places Y, (n, n_components); momentum and epoch are kept."""

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """From the next epoch on, multiply all attractions and all repulsions by these factors.

        They are factors of what the recipe says: 1 and 1 give the unsteered descent again, to the bit.
        """

    def embedding(self) -> np.ndarray:
        """A copy of the points now: (n, n_components) float32."""

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs: arrays by name, for ``np.savez``."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs, recipe, seed and backend, with the same bits.

        A state of another layout is rejected, and changes nothing.
        """

    def loss(self) -> float:
        """The recipe's loss at the points now, over all pairs."""


class Backend(ABC):
    """Computes neighbours, graph, start, layout and new rows.

    See Also
    --------
    actup.backends.load_backend : Gives the backend of a name.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.backends import load_backend
    >>> cpu = load_backend("cpu")
    >>> cpu.nearest_neighbors(np.array([[0.0], [1.0], [3.0]], np.float32), 1, "euclidean", 1).indices.tolist()
    [[1], [0], [1]]
    """

    name: str

    def is_available(self) -> bool:
        """Whether the backend can run on this machine."""
        return True

    # --- memory ---

    def memory_moments(self, shape: RunShape, lean: Lean) -> dict[str, list[Moment]]:
        """Of every stage, what is in the host's memory at the times at which much is."""
        return {
            "read": read_moments(shape),
            "neighbors": search_moments(shape, lean),
            "graph": graph_moments(shape, lean),
            "start": start_moments(shape, lean),
            "layout": layout_moments(shape, lean),
        }

    def device_memory(self, shape: RunShape) -> dict[str, int]:
        """Bytes of the GPU's memory that each stage takes; empty without a GPU."""
        return {}

    def free_memory(self) -> None:
        """Give memory that no array uses back to the system."""
        if sys.platform == "linux":
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
            if trim is not None:
                trim(0)

    # --- rows and arrays ---

    def read_rows(
        self,
        X: Any,
        metric: str | Callable[..., float],
        *,
        check: Check | None = None,
        finite: bool | str = True,
        role: Role = Role.DATA,
        threads: int = 1,
    ) -> Rows:
        """Check X as ``actup.neighbors._rows.read_rows`` does; data on a GPU is copied to the host first."""
        return read_rows(to_host(X), metric, check=check, finite=finite, role=role, threads=threads)

    def load_rows(self, rows: Rows, metric: str | Callable[..., float] = "euclidean") -> Rows:
        """Checked rows where the backend compares them in a metric."""
        return rows

    def load(self, array: Array) -> Array:
        """An array where the backend computes."""
        return to_host(array)

    def as_callers_kind(self, array: Array, template: Any) -> Array:
        """Convert a result to the kind of array that the caller gave as ``template``."""
        return array

    def results_as_callers_kind(self, prepared: Embedding, template: Any) -> Embedding:
        """Convert all arrays of a prepared run to the kind of ``template``."""
        return prepared

    def has_valid_distances(self, distances: Array, threads: int = 1) -> bool:
        """Whether all distances are finite and at least 0."""
        return are_all_finite(distances, threads) and not distances.min() < 0

    def compile_ahead(self, recipe: Recipe, n: int, columns: int) -> None:
        """Begin to compile what a run needs; ``columns=0`` if neighbours are given."""
        return

    def synchronize(self) -> None:
        """Wait until everything that was started has finished."""
        return

    # --- neighbours and graph ---

    def nearest_neighbors(
        self,
        rows: Rows,
        k: int,
        metric: str | Callable[..., float],
        threads: int,
        parameters: Parameters | None = None,
        recall: float = DEFAULT_RECALL,
        saves_memory: bool = False,
    ) -> Neighbors:
        """The k nearest other rows of every row; k from 0 to n - 1, rows where the backend computes.

        ``saves_memory`` takes less memory and more time where there is a choice, for the same bits.
        """
        name = canonical_metric(metric)
        options = SearchOptions(recall=recall, saves_memory=saves_memory)
        return make_search(to_host(rows), name, parameters, options, threads).neighbors(k)

    def query_neighbors(self, training: TrainingRows, rows: Rows, k: int, threads: int) -> Neighbors:
        """The k training rows nearest to every new row, nearest first."""
        return training.query_on_host(to_host(rows), k, threads)

    @abstractmethod
    def affinity_graph(self, neighbors: Neighbors, recipe: Recipe, threads: int) -> Graph:
        """The symmetric graph of similarities p(i,j).

        A neighbour of id -1 at an infinite distance is disconnected: it has no edge. A point without edges is
        isolated, and stays a point of the graph.
        """

    # --- start ---

    @abstractmethod
    def spectral_coordinates(self, graph: Graph, dimensions: int, seed: int, threads: int) -> Array:
        """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one; columns beyond n - 1 are 0."""

    def random_start(self, n: int, dimensions: int, seed: int) -> Array:
        """Uniform places in the cube from -1 to 1."""
        return _coordinates.random_start(n, dimensions, seed)

    def pca_start(self, X: Rows, dimensions: int, seed: int, threads: int) -> Array:
        """The scores along the leading principal components of the rows."""
        return _coordinates.pca_start(X, dimensions, seed, threads)

    def spectral_start(
        self,
        graph: Graph,
        dimensions: int,
        seed: int,
        threads: int,
        X: Rows | None = None,
        gives_up: bool = False,
    ) -> Array:
        """The leading eigenvectors of the random walk on the graph, component by component."""
        solve = self.spectral_coordinates
        return _coordinates.spectral_start(graph, dimensions, seed, threads, solve, X, gives_up)

    def given_start(self, init: Any, n: int, recipe: Recipe, seed: int) -> tuple[Array, str]:
        """The caller's places, checked, and what became of them."""
        return _coordinates.given_start(init, n, recipe, seed)

    def scale_start(self, Y: Array, extent: Extent, size: float, seed: int) -> Array:
        """A start scaled to its size, jittered so that no two points share a place."""
        return _coordinates.scale_start(Y, extent, size, seed)

    def find_landmarks(
        self, X: Rows, metric: str, wanted: int, seed: int, threads: int
    ) -> tuple[Array, Array]:
        """About ``wanted`` landmarks, (count, columns), and the number of each row's landmark, (n,)."""
        return _landmarks.find_landmarks(X, metric, wanted, seed, threads)

    def scatter_around(self, places: Array, labels: Array, reach: float, seed: int, threads: int) -> Array:
        """A random place within ``reach`` of its landmark's, along each axis, for every row."""
        return _landmarks.scatter_around(places, labels, reach, seed, threads)

    # --- layout and new rows ---

    @abstractmethod
    def make_layout(
        self,
        graph: Graph | GraphParts,
        start: Array,
        recipe: Recipe,
        seed: int,
        threads: int,
        points: PointInputs | None = None,
    ) -> Layout:
        """The recipe's descent on a graph, from a start (n, n_components) float32.

        A graph in parts is joined, unless the backend can read it part by part.
        """

    @abstractmethod
    def place_rows(
        self, neighbors: Neighbors, embedding: Array, recipe: Recipe, placement: Placement, threads: int
    ) -> Array:
        """The places of new rows on a finished map, from their neighbours among its points.

        No neighbour is at distance 0. Each row's place depends on that row alone. A backend checks the ids
        (``actup.transform._placement.check_ids``) before it reads the places of these points.
        """
