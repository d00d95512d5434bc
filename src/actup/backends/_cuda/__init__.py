"""The CUDA backend: every stage on one GPU, with arrays that stay there between the stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from actup._device import on_gpu, to_host
from actup._typing import Array, Rows
from actup.backends._base import Backend, Layout, PointInputs
from actup.backends._cuda import (
    ahead,
    arrays,
    graph,
    landmarks,
    layout,
    memory,
    neighbors,
    start,
    transform,
)
from actup.backends._cuda.compile import cupy, gpu_is_available
from actup.backends._memory._shape import Lean, Moment, RunShape
from actup.graph._records import Graph, GraphParts, Neighbors, whole_graph
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import Parameters
from actup.neighbors._finite_values import Role
from actup.neighbors._metrics import compares_missing
from actup.neighbors._rows import ENGINE_TYPES, Check, read_rows
from actup.recipe._output_metrics import EUCLIDEAN
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent
from actup.transform._placement import Placement

if TYPE_CHECKING:
    from actup._pipeline import Embedding
    from actup.transform._new_rows import TrainingRows


class CudaBackend(Backend):
    """Every stage on one GPU; what it cannot search, the CPU does."""

    name = "cuda"

    def is_available(self) -> bool:
        """Whether CuPy is installed and finds a GPU."""
        return gpu_is_available()

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
        """Check X. Data on the GPU stays there; values are checked for being finite when they are loaded.

        Rows that may have missing values or text are compared by the CPU, and checked at once.
        """
        _reject_sparse(X)
        ahead.compile_common()
        types = list(ENGINE_TYPES)
        if callable(metric) or compares_missing(metric):
            dtype = "numeric" if metric == "gower" else types
            return read_rows(
                to_host(X), metric, check=check, dtype=dtype, finite=finite, role=role, threads=threads
            )
        if not on_gpu(X):
            return read_rows(X, metric, check=check, dtype=types, check_values=False)
        rows = arrays.to_device(X, None)
        if rows.dtype not in types:
            rows = arrays.to_device(rows)
        if rows.ndim != 2 or 0 in rows.shape:
            raise ValueError(f"X has shape {rows.shape}; give at least one row and one column")
        return rows

    def load_rows(self, rows: Rows, metric: str | Callable[..., float] = "euclidean") -> Rows:
        """Checked rows on the device, or mapped into its memory if they are too large for it.

        They keep a type of ``ENGINE_TYPES``, whose values kernels convert as they read them; others become
        float32.

        Rows with text or missing values, which only the CPU compares, stay where they are.
        """
        _reject_sparse(rows)
        has_gaps = (callable(metric) or compares_missing(metric)) and not np.isfinite(to_host(rows)).all()
        if metric == "gower" or has_gaps:
            return rows
        if not on_gpu(rows):
            with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is rejected
                dtype = rows.dtype if rows.dtype in ENGINE_TYPES else np.float32
                rows = arrays.copy_or_map(np.ascontiguousarray(rows, dtype))
        if not arrays.all_finite(rows):
            raise ValueError("Input X contains NaN, infinity or a value too large for dtype('float32').")
        return rows

    def memory_moments(self, shape: RunShape, lean: Lean) -> dict[str, list[Moment]]:
        """Of every stage, what is in the host's memory at the times at which much is."""
        return memory.host_moments(shape)

    def device_memory(self, shape: RunShape) -> dict[str, int]:
        """Bytes of the GPU's memory that each stage takes."""
        moments = memory.device_moments(shape)
        return {stage: int(max(sum(m.values()) for m in of_stage)) for stage, of_stage in moments.items()}

    def free_memory(self) -> None:
        """Give memory that no array uses back to the system."""
        super().free_memory()
        cupy().get_default_memory_pool().free_all_blocks()

    def load(self, array: Array) -> Array:
        """An array on the device."""
        return arrays.to_device(array, None)

    def as_callers_kind(self, array: Array, template: Any) -> Array:
        """Convert a result to the kind of array that the caller gave as ``template``."""
        return arrays.as_kind_of(array, template)

    def results_as_callers_kind(self, prepared: Embedding, template: Any) -> Embedding:
        """Convert all arrays of a prepared run to the kind of ``template``."""
        return arrays.results_as_kind_of(prepared, template)

    def has_valid_distances(self, distances: Array, threads: int = 1) -> bool:
        """Whether all distances are finite and at least 0."""
        if on_gpu(distances):
            return arrays.all_finite(arrays.to_device(distances), 0.0)
        return super().has_valid_distances(distances, threads)

    def compile_ahead(self, recipe: Recipe, n: int, columns: int) -> None:
        """Begin to compile the kernels that a run needs; reject a recipe that has none."""
        layout.reject_unsupported(recipe)
        _reject_output_metric(recipe)
        ahead.compile_ahead(recipe, n, columns)

    def synchronize(self) -> None:
        """Wait until the device has finished its work."""
        arrays.synchronize()

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
        """The k nearest other rows of every row; the CPU searches metrics that the GPU does not know."""
        if isinstance(metric, str) and metric in neighbors.GPU_METRICS and not parameters:
            return neighbors.nearest_neighbors(rows, k, metric, threads, recall)
        return super().nearest_neighbors(rows, k, metric, threads, parameters, recall, saves_memory)

    def query_neighbors(self, training: TrainingRows, rows: Rows, k: int, threads: int) -> Neighbors:
        """The k training rows nearest to every new row."""
        searchable = training.rows is not None and not issparse(training.rows)
        if searchable and not training.parameters and isinstance(training.metric, str):
            found = transform.query_neighbors(training.rows, rows, k, training.metric)
            if found is not None:
                return found
        return super().query_neighbors(training, rows, k, threads)

    def affinity_graph(self, neighbors: Neighbors, recipe: Recipe, threads: int) -> Graph:
        """The symmetric graph of similarities p(i,j)."""
        arrays.release_unused_memory()
        return graph.affinity_graph(neighbors, recipe, threads)

    def spectral_coordinates(self, graph: Graph, dimensions: int, seed: int, threads: int) -> Array:
        """The leading eigenvectors of D^-1/2 W D^-1/2 after the trivial one."""
        return start.spectral_coordinates(graph, dimensions, seed, threads)

    def random_start(self, n: int, dimensions: int, seed: int) -> Array:
        """Uniform places in the cube from -1 to 1."""
        return start.random_start(n, dimensions, seed)

    def pca_start(self, X: Rows, dimensions: int, seed: int, threads: int) -> Array:
        """The scores along the leading principal components of the rows."""
        return start.pca_start(X, dimensions, seed, threads)

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
        return start.spectral_start(graph, dimensions, seed, threads, X, gives_up)

    def given_start(self, init: Any, n: int, recipe: Recipe, seed: int) -> tuple[Array, str]:
        """The caller's places, checked, and what became of them."""
        return start.given_start(init, n, recipe, seed)

    def scale_start(self, Y: Array, extent: Extent, size: float, seed: int) -> Array:
        """A start scaled to its size, jittered so that no two points share a place."""
        return start.scale_start(Y, extent, size, seed)

    def find_landmarks(
        self, X: Rows, metric: str, wanted: int, seed: int, threads: int
    ) -> tuple[Array, Array]:
        """Landmarks, (wanted, columns), and the number of each row's landmark."""
        return landmarks.find_landmarks(X, metric, wanted, seed, threads)

    def scatter_around(self, places: Array, labels: Array, reach: float, seed: int, threads: int) -> Array:
        """A random place within ``reach`` of its landmark's, along each axis, for every row."""
        return landmarks.scatter_around(places, labels, reach, seed, threads)

    def make_layout(
        self,
        graph: Graph | GraphParts,
        start: Array,
        recipe: Recipe,
        seed: int,
        threads: int,
        points: PointInputs | None = None,
    ) -> Layout:
        """The recipe's descent on a graph; one in parts is joined."""
        arrays.release_unused_memory()
        return layout.CudaLayout(whole_graph(graph), start, recipe, seed, threads, points)

    def place_rows(
        self, neighbors: Neighbors, embedding: Array, recipe: Recipe, placement: Placement, threads: int
    ) -> Array:
        """The places of new rows on a finished map."""
        _reject_output_metric(recipe)
        return transform.place_rows(neighbors, embedding, recipe, placement, threads)


def _reject_output_metric(recipe: Recipe) -> None:
    if recipe.output_metric != EUCLIDEAN:
        raise ValueError(
            f"output_metric={recipe.output_metric!r} is not computed by backend='cuda': use backend='cpu'"
        )


def _reject_sparse(X: Any) -> None:
    if hasattr(X, "tocsr"):
        raise TypeError("X is sparse, which backend='cuda' does not take: use backend='cpu' or X.toarray()")
