"""memory_estimate(): how much memory a run takes, before it is made. What max_memory allows.

The model is in ``backends/_memory/``, that of the GPU in ``backends/_cuda/memory.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from traceback import clear_frames
from typing import Any

import numpy as np
from scipy import sparse

from actup._bytes import format_bytes, read_bytes
from actup._csr import check_sparse
from actup._device import to_host
from actup._engine import engine
from actup._given import Given
from actup._threads import count_threads
from actup._values import reject_mask
from actup.backends import Backend, Layout, choose_backend, load_backend
from actup.backends._memory._byte_codes import have_byte_codes
from actup.backends._memory._data import Values, is_whole
from actup.backends._memory._search import CODED_AS_GIVEN
from actup.backends._memory._shape import BASE_BYTES, Lean, Moment, RunShape
from actup.neighbors._rows import reject_duplicate_names
from actup.neighbors._tables import column_names
from actup.recipe._output_metrics import EUCLIDEAN
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Update

_SHOWN_ARRAYS = 6
_MAX_SIZE = 2**31 - 1  # rows or columns: ids are int32
_REMEDIES = {
    "read": "X as a C-contiguous NumPy array of float32 or float16",
    "neighbors": "fewer neighbours, or fewer columns, such as the leading principal components",
}
_FEWER_DIMENSIONS = "fewer dimensions (n_components)"
_FEWER_NEIGHBORS = "fewer neighbours (n_neighbors or perplexity)"


@dataclass(frozen=True)
class MemoryEstimate:
    """How much memory a run takes at its peak, and what takes it.

    Attributes
    ----------
    rows, columns, neighbors : int
        ``neighbors`` is how many are searched for each row.
    backend : str
        Name of the compute backend.
    stages : dict of str to int
        Bytes of the host's memory at the peak of every stage: "read", "neighbors", "graph", "start" and
        "layout".
    stage : str
        The stage that takes most.
    bytes : int
        What it takes: the peak of the run. X itself is counted, unless it is a memory-mapped file; Python and
        the libraries are not.
    arrays : dict of str to int
        What is in memory at the peak: bytes of named arrays, the largest first.
    device_stages : dict of str to int
        Bytes of the GPU's memory at the peak of every stage; empty on the CPU.

    See Also
    --------
    memory_estimate : Makes it.

    Examples
    --------
    >>> import actup
    >>> estimate = actup.memory_estimate((1_000_000, 50), "umap")
    >>> estimate.stage, 500e6 < estimate.bytes < 800e6
    ('layout', True)
    """

    rows: int
    columns: int
    neighbors: int
    backend: str
    stages: dict[str, int]
    arrays: dict[str, int] = field(repr=False)
    device_stages: dict[str, int] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        return max(self.stages, key=lambda name: self.stages[name])

    @property
    def bytes(self) -> int:
        return max(self.stages.values())

    @property
    def device_bytes(self) -> int:
        """The peak of the GPU's memory; 0 on the CPU."""
        return max(self.device_stages.values(), default=0)

    @property
    def limited_bytes(self) -> int:
        """What ``max_memory`` limits: the memory of where the run computes."""
        return self.device_bytes or self.bytes

    @property
    def limited_stage(self) -> str:
        """The stage that takes most of what ``max_memory`` limits."""
        stages = self.device_stages or self.stages
        return max(stages, key=lambda name: stages[name])

    def describe(self) -> str:
        """Return the estimate as a table: every stage, then what is in memory at the peak.

        Returns
        -------
        str

        Examples
        --------
        >>> import actup
        >>> print(actup.memory_estimate((10_000, 784), "umap").describe())  # doctest: +ELLIPSIS
        10,000 rows x 784 columns, 14 neighbours per row, backend cpu
        read ...
        """
        lines = [
            f"{self.rows:,} rows x {self.columns:,} columns, {self.neighbors} neighbours per row, backend "
            f"{self.backend}",
            *(f"{stage:<10} {format_bytes(size):>10}" for stage, size in self.stages.items()),
            f"{'peak':<10} {format_bytes(self.bytes):>10}  in stage {self.stage}:",
        ]
        largest = list(self.arrays.items())[:_SHOWN_ARRAYS]
        lines += [f"{format_bytes(size):>21}  {name}" for name, size in largest]
        rest = sum(self.arrays.values()) - sum(size for _, size in largest)
        if rest >= 10**6:
            lines.append(f"{format_bytes(rest):>21}  other arrays")
        for stage, size in self.device_stages.items():
            lines.append(f"{stage:<10} {format_bytes(size):>10}  on the GPU")
        lines.append(f"Python and the libraries take about {format_bytes(BASE_BYTES)} besides")
        return "\n".join(lines)


def memory_estimate(
    X: Any,
    recipe: Recipe | str = "umap",
    *,
    dtype: Any = None,
    stored_values: int | None = None,
    threads: int | None = None,
    backend: str = "cpu",
) -> MemoryEstimate:
    """Estimate how much memory a run takes, stage by stage, without running it.

    Parameters
    ----------
    X : array-like, sparse matrix, or tuple of two int
        The rows that would be run, or only their shape: (rows, columns).
    recipe : Recipe or str, default="umap"
        What would be run, or the name of a preset; an estimator has ``memory_estimate(X)`` of its own.
    dtype : dtype, default=None
        Type of the values, if X is a shape; None: float32.
    stored_values : int, default=None
        How many values a sparse matrix of this shape stores, if X is a shape; None: rows are dense.
    threads : int, default=None
        How many threads would work; None and -1: one per core.
    backend : str, default="cpu"
        Compute backend.

    Returns
    -------
    MemoryEstimate
        Bytes of every stage. They are those of ``fit`` of an estimator, within 20 % for metrics that the
        engine computes; ``actup.embed`` takes 8 bytes per row and neighbour more, because it returns the
        neighbours. How many edges a graph has and how wide a map becomes depends on the data.

    See Also
    --------
    actup.distributed.make_plan : The same for runs over files.

    Examples
    --------
    >>> import actup
    >>> estimate = actup.memory_estimate((70_000, 784), "tsne", dtype="uint8")
    >>> estimate.bytes < 500e6, estimate.stage
    (True, 'graph')
    """
    recipe = preset(recipe) if isinstance(recipe, str) else recipe
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe={recipe!r} must be a Recipe or the name of a preset")
    return estimate_run(X, recipe, Given(keep_neighbors=False), threads, backend, dtype, stored_values)


def estimate_run(
    X: Any,
    recipe: Recipe,
    given: Given,
    threads: int | None,
    backend: str,
    dtype: Any = None,
    stored_values: int | None = None,
) -> MemoryEstimate:
    """The estimate of a run of a recipe with what it is given besides X."""
    reject_unreadable(X)
    shape = shape_of(X, recipe, given, count_threads(threads, "threads"), dtype, stored_values)
    if X is None and given.neighbors is None and given.graph is None:
        raise ValueError("X is None: give rows or a shape, such as (70_000, 784)")
    if shape.rows < 1 or (X is not None and shape.columns < 1):
        raise ValueError(f"X has {shape.rows} rows and {shape.columns} columns: give at least one of each")
    return estimate_shape(shape, load_backend(choose_backend(backend, X, shape.rows)), given.lean)


def estimate_shape(shape: RunShape, backend: Backend, lean: Lean) -> MemoryEstimate:
    """The estimate of a run of a shape on a backend."""
    moments = backend.memory_moments(shape, lean)
    peaks = {stage: max(of_stage, key=_size) for stage, of_stage in moments.items()}
    stages = {stage: int(_size(peak)) for stage, peak in peaks.items()}
    largest = peaks[max(stages, key=lambda name: stages[name])]
    arrays = {name: int(size) for name, size in sorted(largest.items(), key=lambda item: -item[1]) if size}
    device = backend.device_memory(shape)
    rows = shape.rows + shape.left_out
    return MemoryEstimate(rows, shape.columns, shape.k, backend.name, stages, arrays, device)


def _size(moment: Moment) -> float:
    return sum(moment.values())


def shape_of(
    X: Any,
    recipe: Recipe,
    given: Given,
    threads: int,
    dtype: Any = None,
    stored_values: int | None = None,
) -> RunShape:
    """The numbers of a run that decide how much memory it takes."""
    graph = given.graph
    if _is_shape(X):
        rows, columns = int(X[0]), int(X[1])
        if not (1 <= rows <= _MAX_SIZE and 1 <= columns <= _MAX_SIZE):
            raise ValueError(f"X={X!r} must be two numbers from 1 to {_MAX_SIZE:,}: rows and columns")
        values = Values.of_shape(rows * columns, dtype, stored_values)
    elif dtype is not None or stored_values is not None:
        name, value = ("stored_values", stored_values) if dtype is None else ("dtype", dtype)
        raise ValueError(
            f"{name}={value!r} goes with a shape in place of X, such as (70_000, 784): leave it out, or give "
            "X.shape"
        )
    elif X is None:
        known = given.neighbors if graph is None else graph
        rows, columns, values = (0 if known is None else len(known)), 0, Values.of_shape(0)
    else:
        rows, columns, values = Values.of_data(X)
    left_out = max(0, min(given.left_out or 0, rows - 1)) if given.copies_rows else 0
    taking_part = rows - left_out
    values = replace(values, stored=values.stored * taking_part // max(1, rows))
    return RunShape(
        taking_part,
        columns,
        recipe=recipe,
        threads=threads,
        searches=given.neighbors is None and graph is None,
        has_graph=graph is not None,
        keeps_neighbors=given.keep_neighbors and graph is None,
        has_start=given.init is not None,
        has_fixed=given.mobility is not None,
        extents=() if given.mobility is None else _extents(given.init),
        left_out=left_out,
        copies_rows=given.copies_rows and given.left_out != 0,
        has_byte_codes=_have_byte_codes(X, rows, columns, values, recipe),
        keeps_radii=given.keep_radii or recipe.density_weight > 0,
        changes=given.graph_changes,
        **vars(values),
    )


def _have_byte_codes(X: Any, rows: int, columns: int, values: Values, recipe: Recipe) -> bool:
    """Whether codes of 8 bits hold X exactly, where that matters; of a shape, by its type."""
    if values.sparse or recipe.metric not in CODED_AS_GIVEN:
        return False
    if X is None or not engine.coded_search_bytes(rows, columns, recipe.neighbors_searched(rows)):
        return False
    return values.dtype.itemsize == 1 if _is_shape(X) else have_byte_codes(X, rows, columns)


def _extents(places: Any) -> tuple[float, ...]:
    """The ranges of the places of fixed points; empty if there are none, which the run rejects."""
    try:
        values = np.asarray(to_host(places), np.float64)
    except (TypeError, ValueError):
        return ()
    known = values[np.isfinite(values).all(axis=1)] if values.ndim == 2 else np.empty((0, 1))
    return tuple(np.ptp(known, axis=0).tolist()) if known.size else ()


def reject_unreadable(X: Any) -> None:
    """Reject what reading rejects, before its arrays are measured."""
    reject_mask(X, "X")
    reject_duplicate_names(column_names(X), "X")
    if sparse.issparse(X):
        check_sparse(X, "X")


def _is_shape(X: Any) -> bool:
    """Whether X is rows and columns rather than the rows themselves."""
    return isinstance(X, tuple) and len(X) == 2 and all(is_whole(x) or _is_whole_float(x) for x in X)


def _is_whole_float(size: Any) -> bool:
    return isinstance(size, float) and size.is_integer()  # such as 1e6


# --- max_memory ---


def lean_enough(
    max_memory: int | str | None,
    X: Any,
    recipe: Recipe,
    given: Given,
    threads: int,
    backend: Backend,
    held: float = 0.0,
) -> Lean:
    """Where a run must take less memory than usual to stay within ``max_memory``.

    ``held`` is how many bytes the results of earlier runs take.

    Raises
    ------
    MemoryError
        If it cannot stay within it.
    """
    if max_memory is None:
        return Lean()
    limit = read_bytes(max_memory, "max_memory") - held
    reject_unreadable(X)
    shape = shape_of(X, recipe, given, threads)
    if shape.rows < 1 or (X is not None and shape.columns < 1):
        return Lean()  # which the run rejects
    best: MemoryEstimate | None = None
    for lean in _leaner_and_leaner(given, recipe, backend):
        estimate = estimate_shape(shape, backend, lean)
        if estimate.limited_bytes <= limit:
            return lean
        if best is None or estimate.limited_bytes < best.limited_bytes:
            best = estimate
    assert best is not None
    included = "X and the maps before" if held else "X"
    raise MemoryError(
        f"max_memory={max_memory!r} is too little: stage {best.limited_stage!r} of {shape.rows:,} rows needs "
        f"about {format_bytes(int(best.limited_bytes + held))}, {included} included: "
        f"{_remedies(best, recipe)}"
    )


def _leaner_and_leaner(given: Given, recipe: Recipe, backend: Backend) -> list[Lean]:
    """The ways to run, from the usual one to the one that takes least memory and most time."""
    if backend.name != "cpu":
        return [Lean(gives_back=True)]
    # A graph that is changed, or whose distances are needed, is made as a whole, and so is one for in-place
    # epochs.
    makes_ranges = (
        given.graph is None
        and given.reshape_graph is None
        and not given.keep_radii
        and not recipe.density_weight
        and recipe.update is not Update.IN_PLACE
        and recipe.output_metric == EUCLIDEAN
    )
    ways = product((False, True), (False, True) if makes_ranges else (False,))
    return [Lean(*chosen, gives_back=True) for chosen in ways]


def _remedies(estimate: MemoryEstimate, recipe: Recipe) -> str:
    # A point's places take more than its edges if it has more dimensions than neighbours.
    has_many_dimensions = recipe.n_components > max(2, estimate.neighbors)
    remedy = _FEWER_DIMENSIONS if has_many_dimensions else _FEWER_NEIGHBORS
    remedy = _REMEDIES.get(estimate.limited_stage, remedy)
    return f"give that much, {remedy}, a sample of the rows, or use fit_files or actup.distributed.embed"


# --- running out of memory ---


class StageMemoryError(MemoryError):
    """A MemoryError that already says in which stage of a run memory was short."""


@contextmanager
def explained(stage: str, shape: Callable[[], RunShape], backend: Backend) -> Iterator[None]:
    """Raise a MemoryError anew with the stage in which it happened and what the run needs."""
    try:
        yield
    except StageMemoryError:
        raise
    except MemoryError as error:
        clear_frames(error.__traceback__)  # frees their arrays
        backend.free_memory()
        run = shape()
        estimate = estimate_shape(run, backend, Lean())
        place = "the GPU's memory" if estimate.device_stages else "memory"
        stages = estimate.device_stages or estimate.stages
        raise StageMemoryError(
            f"{place} ran out in stage {stage!r} of {estimate.rows:,} rows{_reason(error)}: the stage needs "
            f"about {format_bytes(stages.get(stage, 0))}, X included, and the run "
            f"{format_bytes(estimate.limited_bytes)}: "
            f"{_remedies(estimate, run.recipe).replace('give that much', 'free memory')}"
        ) from error


@contextmanager
def explained_in_layout(layout: Layout) -> Iterator[None]:
    """Raise a MemoryError of a running layout anew with what it happened in."""
    try:
        yield
    except StageMemoryError:
        raise
    except MemoryError as error:
        raise StageMemoryError(
            f"memory ran out in stage 'layout', in epoch {layout.epoch} of {layout.n_epochs}"
            f"{_reason(error)}: free memory; actup.memory_estimate says how much a run needs"
        ) from error


def _reason(error: MemoryError) -> str:
    return f" ({error})" if str(error) and str(error) != "std::bad_alloc" else ""
