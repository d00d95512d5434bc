"""How long a map takes and how much memory it needs, roughly and before it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scipy import sparse

from actup._bytes import format_available, format_bytes, read_bytes
from actup._given import Given
from actup._memory import MemoryEstimate, estimate_run
from actup.backends._memory._shape import BASE_BYTES, EDGES_PER_NEIGHBOR, Lean
from actup.neighbors._cluster_search import search_nanoseconds
from actup.neighbors._metrics import record_of
from actup.neighbors._tables import available_memory
from actup.recipe import Initialization, Recipe, Repulsion

# Nanoseconds of one core, measured as the processor time of maps of 1,000 to 60,000 rows of images, words and
# cells on one x86-64 machine; other machines and data differ by a factor of two or three.
# benchmarks/estimates.py compares estimates with what is measured.
_SEARCH_FACTOR = 2.0  # planning, calibration and refinement, besides the search itself
_OTHER_PAIR_NS = 30.0  # comparing two rows in a metric without a fast search, per pair
_GIVEN_PAIR_NS = 1.0  # choosing among given distances, per pair
_GRAPH_NS = 160.0  # per row and neighbour
_SPECTRAL_NS, _PCA_COLUMN_NS = 15_000.0, 20.0  # start: per row, and per row and column
_POINT_NS, _EDGE_NS, _EXACT_PAIR_NS = 80.0, 2.5, 0.25  # layout: per epoch and point, edge, pair
_TREE_NS, _NEGATIVE_NS = 2_000.0, 2.0  # repulsion: per epoch and point, and per negative

_LEANER_WAYS = {"search": "a search that takes more time", "graph_on_disc": "a graph in a temporary file"}

OF_FIT = Given(keep_neighbors=False)  # what an estimator's run is given
LONG_SECONDS = 10.0  # a run that takes longer is announced


@dataclass(frozen=True)
class Estimate:
    """What a run will take, roughly.

    Attributes
    ----------
    rows, columns, neighbors, epochs : int
    seconds : dict of str to float
        Of every stage.
    memory : MemoryEstimate
    lean : Lean
        Where the run takes less memory than usual.
    """

    rows: int
    columns: int
    neighbors: int
    epochs: int
    seconds: dict[str, float]
    memory: MemoryEstimate
    lean: Lean = field(default_factory=Lean)

    @property
    def bytes(self) -> int:
        """The peak of memory of the whole program."""
        return BASE_BYTES + self.memory.bytes

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    def describe(self, limit: str | None = None) -> str:
        """The estimate as a table, with the limit of the map's memory if there is one."""
        allowed = "" if limit is None else f" (limit {format_bytes(read_bytes(limit, 'max_memory'))})"
        lines = [
            f"rows       {self.rows:>12,}",
            f"columns    {self.columns:>12,}",
            f"neighbours {self.neighbors:>12,}  per row",
            f"epochs     {self.epochs:>12,}",
            *(f"{stage:<10} {_time(seconds):>12}" for stage, seconds in self.seconds.items()),
            f"{'time':<10} {_time(self.total_seconds):>12}  within a factor of three",
            f"{'memory':<10} {format_bytes(self.memory.bytes):>12}  of the map and its rows"
            f"{'' if self.memory.device_stages else allowed}, in stage {self.memory.stage}",
            f"{'in all':<10} {format_bytes(self.bytes):>12}  with Python and its libraries{_available()}",
        ]
        if self.memory.device_stages:
            stage = self.memory.limited_stage
            lines.append(
                f"{'on the GPU':<10} {format_bytes(self.memory.device_bytes):>12}{allowed}, in stage {stage}"
            )
        ways = [words for name, words in _LEANER_WAYS.items() if getattr(self.lean, name)]
        if ways:
            lines.append(f"{'leaner by':<10} {' and '.join(ways)}, to stay within --max-memory")
        return "\n".join(lines)

    def announcement(self) -> str | None:
        """A line for a run that will take long or may not fit into memory; None for others."""
        available = available_memory()
        if available is not None and self.bytes > available:
            return (
                f"this may need {format_bytes(self.bytes)} of memory, {format_available(available)} are "
                "available: --sample or --pca need less"
            )
        if self.total_seconds < LONG_SECONDS:
            return None
        return f"this takes about {_time(self.total_seconds)} and {format_bytes(self.bytes)} of memory"


def estimate_map(
    X: Any, recipe: Recipe, threads: int, maps: int = 1, backend: str = "cpu", given: Given = OF_FIT
) -> Estimate:
    """Estimate a run of a recipe: its memory on a backend, its time on the CPU.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, columns)
    recipe : Recipe
    threads : int
    maps : int, default=1
        How many maps share the neighbours.
    backend : str, default="cpu"
    given : Given, default=OF_FIT
        What of the run decides about its memory besides rows and recipe.
    """
    n, columns = X.shape
    k = recipe.neighbors_searched(n)
    edges = n * k * EDGES_PER_NEIGHBOR
    epochs = recipe.n_epochs(n)
    values = X.nnz / n if sparse.issparse(X) else columns
    search = _search_ns(recipe, n, round(values), k)
    is_pca = recipe.initialization is Initialization.PCA
    start = n * (_PCA_COLUMN_NS * values if is_pca else _SPECTRAL_NS)
    layout = maps * epochs * (n * (_POINT_NS + _repulsion_ns(recipe, n)) + edges * _EDGE_NS)
    stages = {"neighbors": search, "graph": n * k * _GRAPH_NS, "start": start, "layout": layout}
    memory = estimate_run(X, recipe, given, threads, backend)
    seconds = {name: ns / threads * 1e-9 for name, ns in stages.items()}
    return Estimate(n, columns, k, epochs, seconds, memory, given.lean)


def _search_ns(recipe: Recipe, n: int, columns: int, k: int) -> float:
    """The time of the search for neighbours: of all pairs, unless the engine knows the metric."""
    if recipe.metric == "precomputed":
        return _GIVEN_PAIR_NS * float(n) ** 2
    record = record_of(recipe.metric)
    if record is not None and (record.is_compiled or record.name == "gower"):
        return _SEARCH_FACTOR * search_nanoseconds(n, columns, k)
    return _OTHER_PAIR_NS * float(n) ** 2


def _repulsion_ns(recipe: Recipe, n: int) -> float:
    """The time per epoch and point of the repulsion, beyond that of the mesh."""
    match recipe.repulsion_for(n):
        case Repulsion.EXACT:
            return _EXACT_PAIR_NS * n
        case Repulsion.BARNES_HUT:
            return _TREE_NS
        case Repulsion.SAMPLED:
            return _NEGATIVE_NS * recipe.negatives
    return 0.0


def _time(seconds: float) -> str:
    if seconds < 1:
        return "< 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _available() -> str:
    available = available_memory()
    return "" if available is None else f", {format_available(available)} are available"
