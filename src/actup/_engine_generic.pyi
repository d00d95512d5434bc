"""Written by `make stubs`."""

import enum
from collections.abc import Sequence
from typing import Any, overload

import numpy
from numpy.typing import NDArray

def set_progress_hook(hook: object) -> None: ...
@overload
def all_finite(values: NDArray[numpy.float32], threads: int) -> bool: ...
@overload
def all_finite(values: NDArray[numpy.float64], threads: int) -> bool: ...
def elementary(name: str, x: NDArray[numpy.float64], y: float) -> NDArray[numpy.float64]: ...
def column_products(rows: NDArray[numpy.float64], threads: int) -> NDArray[numpy.float64]:
    """The sums over rows of the products of two columns."""

def cholesky_factor(matrix: NDArray[numpy.float64]) -> NDArray[numpy.float64] | None:
    """None if the symmetric matrix is not positive definite."""

def inverse_of_symmetric(matrix: NDArray[numpy.float64], threads: int) -> NDArray[numpy.float64] | None:
    """None if the symmetric matrix is not positive definite."""

def project_rows(
    rows: NDArray[numpy.float64], root: NDArray[numpy.float64], center: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float32]:
    """(rows - center) @ root in float32, root lower triangular."""

class Affinity(enum.Enum):
    umap = 0

    gaussian = 1

    fixed_sigma = 2

    uniform = 3

class Distance(enum.Enum):
    pseudo = 0

    plain = 1

class Symmetrization(enum.Enum):
    umap = 0

    tsne = 1

def affinity_graph(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    affinity: Affinity,
    distance: Distance,
    symmetrization: Symmetrization,
    perplexities: Sequence[float],
    sigma: float,
    local_connectivity: float,
    union_share: float,
    threads: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32]]: ...
def row_sums(
    distances: NDArray[numpy.float32], threads: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]:
    """The sum of each row's finite distances, and how many there are."""

def add_means(sums: NDArray[numpy.float64], count: int, before: float) -> float:
    """
    before, with sum / count of every row added one by one: the mean distance of all rows, in parts.
    """

def range_affinities(
    first_row: int,
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    n: int,
    affinity: Affinity,
    distance: Distance,
    perplexities: Sequence[float],
    sigma: float,
    local_connectivity: float,
    mean_of_all: float,
    threads: int,
) -> NDArray[numpy.float32]:
    """p(j|i) of consecutive rows of a graph of n points."""

def edges_by_range(
    first_row: int,
    ids: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    boundaries: NDArray[numpy.int64],
    threads: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float32]]:
    """
    Offsets, targets, sources and weights of directed edges, by the range that holds their target.
    """

def symmetric_rows(
    first_row: int,
    ids: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    targets: NDArray[numpy.int32],
    sources: NDArray[numpy.int32],
    incoming_weights: NDArray[numpy.float32],
    symmetrization: Symmetrization,
    union_share: float,
    threads: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32]]:
    """
    Consecutive rows of the symmetric graph, from their directed edges and all that end at them.
    """

def row_affinities(
    distances: NDArray[numpy.float32],
    affinity: Affinity,
    distance: Distance,
    perplexities: Sequence[float],
    sigma: float,
    local_connectivity: float,
    threads: int,
) -> NDArray[numpy.float32]:
    """p(j|i) of rows with ascending distances; infinite ones get 0."""

def umap_bandwidths(
    distances: NDArray[numpy.float32],
    neighbors: float,
    bandwidth: float,
    local_connectivity: float,
    max_steps: int,
    threads: int,
) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
    """
    sigma and rho of rows with ascending distances, the first of which is the row's own.
    """

def sharpened_rows(
    offsets: NDArray[numpy.int64],
    weights: NDArray[numpy.float32],
    neighbors: float,
    max_steps: int,
    threads: int,
) -> NDArray[numpy.float32]:
    """
    Weights raised to the power, one per row, at which the row's sum is log2(neighbors).
    """

class Metric(enum.Enum):
    euclidean = 0

    manhattan = 1

    chebyshev = 2

    cosine = 3

    correlation = 4

    hellinger = 5

    softmax_hellinger = 6

    inner_product = 7

    minkowski = 8

    canberra = 9

    hamming = 10

    braycurtis = 11

    jaccard = 12

    dice = 13

    matching = 14

    kulsinski = 15

    rogerstanimoto = 16

    russellrao = 17

    sokalmichener = 18

    sokalsneath = 19

    yule = 20

class RowMetric:
    def __init__(
        self,
        metric: Metric,
        p: float,
        largest_squared_norm: float,
        factors: NDArray[numpy.float64],
        root: NDArray[numpy.float64],
    ) -> None: ...

def presence_neighbors(
    points: NDArray[numpy.uint64],
    queries: NDArray[numpy.uint64] | None,
    columns: int,
    k: int,
    metric: Metric,
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
def candidate_neighbors(
    points: NDArray[Any],
    queries: NDArray[Any],
    self_ids: NDArray[numpy.int32] | None,
    candidates: NDArray[numpy.int32] | None,
    k: int,
    row_metric: RowMetric,
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
def merge_neighbors(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    more_ids: NDArray[numpy.int32],
    more_distances: NDArray[numpy.float32],
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...

MAX_FOLLOWED: int = 16

def second_neighbors(
    ids: NDArray[numpy.int32],
    first_id: int,
    followed_ids: NDArray[numpy.int32],
    followed_lists: NDArray[numpy.int32],
    begin: int,
    end: int,
    threads: int,
) -> NDArray[numpy.int32]: ...

class CodeIndex:
    @property
    def columns(self) -> int: ...
    @property
    def clusters(self) -> int: ...
    def order(self) -> NDArray[numpy.int32]: ...

SKETCH_COLUMNS: int = 512

class SparsePoints:
    def __init__(
        self,
        rows: tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32]],
        columns: int,
        width: int,
        row_metric: RowMetric,
        threads: int,
    ) -> None: ...
    def neighbors(
        self,
        queries: tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32]] | None,
        self_ids: NDArray[numpy.int32] | None,
        candidates: NDArray[numpy.int32] | None,
        k: int,
        threads: int,
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
    def index(self, columns: int, save_memory: bool, seed: int, threads: int) -> CodeIndex: ...
    def candidates(
        self,
        index: CodeIndex,
        rows: tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32]],
        count: int,
        probes: int,
        threads: int,
    ) -> NDArray[numpy.int32]: ...

def exact_neighbors(
    points: NDArray[Any],
    queries: NDArray[Any] | None,
    k: int,
    row_metric: RowMetric,
    threads: int,
    column_order: NDArray[numpy.int64] | None = None,
    limits: NDArray[numpy.float32] | None = None,
    by_codes: bool = True,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
def coded_search_bytes(rows: int, width: int, k: int) -> int: ...
def coded_neighbors(
    points: NDArray[Any],
    k: int,
    row_metric: RowMetric,
    threads: int,
    column_order: NDArray[numpy.int64] | None = None,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]] | None: ...

COLUMN_ORDER_ROWS: int = 1024

def column_order(points: NDArray[Any], row_metric: RowMetric) -> NDArray[numpy.int64]: ...

CENTER_LEVELS: int = 64

DEFAULT_MAX_COLUMNS: int = 128

class ClusterIndex:
    def __init__(
        self,
        points: NDArray[Any],
        row_metric: RowMetric,
        columns: int,
        save_memory: bool,
        seed: int,
        threads: int,
    ) -> None: ...
    @property
    def columns(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def clusters(self) -> int: ...
    def order(self) -> NDArray[numpy.int32]: ...
    def calibrate(
        self, k: int, sample_size: int, seed: int, threads: int
    ) -> tuple[
        NDArray[numpy.int64],
        NDArray[numpy.float32],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
    ]: ...
    def neighbors(
        self, k: int, probes: int, candidates: int, threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
    def refine(
        self, ids: NDArray[numpy.int32], threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...
    def query(
        self, rows: NDArray[Any], k: int, probes: int, candidates: int, threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...

class CellIndex:
    def __init__(self, points: NDArray[Any], row_metric: RowMetric, seed: int, threads: int) -> None: ...
    @property
    def cells(self) -> int: ...
    def points_before(
        self, rows: NDArray[numpy.int64], ids: NDArray[numpy.int32], threads: int
    ) -> NDArray[numpy.int64]: ...
    def neighbors(
        self, k: int, looked_at: int, threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]: ...

class CenterIndex:
    def __init__(self, centers: NDArray[Any], row_metric: RowMetric, seed: int, threads: int) -> None: ...
    def nearest(
        self, rows: NDArray[Any], wanted: int, threads: int
    ) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint8]]: ...

def is_connected(offsets: NDArray[numpy.int64], indices: NDArray[numpy.int32]) -> bool:
    """Whether a path joins any two points of a symmetric graph."""

def degrees(
    offsets: NDArray[numpy.int64], indices: NDArray[numpy.int32], weights: NDArray[numpy.float32]
) -> NDArray[numpy.float64]:
    """
    The sum of the weights of every point, as differences of one running sum.
    """

def spectral_coordinates(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    dimensions: int,
    seed: int,
    threads: int,
) -> tuple[Any, ...]: ...
def principal_scores(
    x: NDArray[Any], shift: NDArray[numpy.float32], dimensions: int, seed: int, threads: int
) -> tuple[Any, ...]: ...
def sparse_principal_scores(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    values: NDArray[numpy.float32],
    columns: int,
    dimensions: int,
    seed: int,
    threads: int,
) -> tuple[Any, ...]: ...
def find_landmarks(
    x: NDArray[Any], metric: Metric, wanted: int, seed: int, threads: int
) -> tuple[Any, ...]: ...
def scatter_around(
    places: NDArray[numpy.float32], labels: NDArray[numpy.int32], reach: float, seed: int, threads: int
) -> NDArray[numpy.float32]: ...

class Loss(enum.Enum):
    kl = 0

    frobenius = 1

class Sampling(enum.Enum):
    exhaustive = 0

    scalar = 1

    accelerated = 2

    unbiased = 3

class RepulsionMass(enum.Enum):
    per_edge = 0

    degree = 1

    strength = 2

class Repulsion(enum.Enum):
    sampled = 0

    exact = 1

    mesh = 2

    barnes_hut = 3

class Optimizer(enum.Enum):
    step = 0

    gains = 1

    stiffness = 2

class Shape(enum.Enum):
    unit = 0

    powered = 1

    tailed = 2

class Schedule:
    def __init__(self) -> None: ...
    @property
    def learning_rate(self) -> list[float]: ...
    @learning_rate.setter
    def learning_rate(self, arg: Sequence[float], /) -> None: ...
    @property
    def momentum(self) -> list[float]: ...
    @momentum.setter
    def momentum(self, arg: Sequence[float], /) -> None: ...
    @property
    def exaggeration(self) -> list[float]: ...
    @exaggeration.setter
    def exaggeration(self, arg: Sequence[float], /) -> None: ...
    @property
    def step_cap(self) -> list[float]: ...
    @step_cap.setter
    def step_cap(self, arg: Sequence[float], /) -> None: ...
    @property
    def stiffness_floor(self) -> list[float]: ...
    @stiffness_floor.setter
    def stiffness_floor(self, arg: Sequence[float], /) -> None: ...
    @property
    def dilation(self) -> list[float]: ...
    @dilation.setter
    def dilation(self, arg: Sequence[float], /) -> None: ...
    @property
    def expansion_begin(self) -> int: ...
    @expansion_begin.setter
    def expansion_begin(self, arg: int, /) -> None: ...
    @property
    def expansion_end(self) -> int: ...
    @expansion_end.setter
    def expansion_end(self, arg: int, /) -> None: ...
    @property
    def momentum_after_stop(self) -> float: ...
    @momentum_after_stop.setter
    def momentum_after_stop(self, arg: float, /) -> None: ...

class Curve:
    def __init__(self, a: float, b: float, dof: float = 1.0) -> None: ...
    @property
    def shape(self) -> Shape: ...

class Settings:
    def __init__(self) -> None: ...
    @property
    def n_epochs(self) -> int: ...
    @n_epochs.setter
    def n_epochs(self, arg: int, /) -> None: ...
    @property
    def curve(self) -> Curve: ...
    @curve.setter
    def curve(self, arg: Curve, /) -> None: ...
    @property
    def normalized(self) -> bool: ...
    @normalized.setter
    def normalized(self, arg: bool, /) -> None: ...
    @property
    def rate_in_points(self) -> bool: ...
    @rate_in_points.setter
    def rate_in_points(self, arg: bool, /) -> None: ...
    @property
    def partition(self) -> float: ...
    @partition.setter
    def partition(self, arg: float, /) -> None: ...
    @property
    def loss(self) -> Loss: ...
    @loss.setter
    def loss(self, arg: Loss, /) -> None: ...
    @property
    def symmetric_attraction(self) -> bool: ...
    @symmetric_attraction.setter
    def symmetric_attraction(self, arg: bool, /) -> None: ...
    @property
    def sampling(self) -> Sampling: ...
    @sampling.setter
    def sampling(self, arg: Sampling, /) -> None: ...
    @property
    def repulsion(self) -> Repulsion: ...
    @repulsion.setter
    def repulsion(self, arg: Repulsion, /) -> None: ...
    @property
    def negatives(self) -> int: ...
    @negatives.setter
    def negatives(self, arg: int, /) -> None: ...
    @property
    def repulsion_mass(self) -> RepulsionMass: ...
    @repulsion_mass.setter
    def repulsion_mass(self, arg: RepulsionMass, /) -> None: ...
    @property
    def repulsion_rate(self) -> float: ...
    @repulsion_rate.setter
    def repulsion_rate(self, arg: float, /) -> None: ...
    @property
    def mean_non_edge_weight(self) -> bool: ...
    @mean_non_edge_weight.setter
    def mean_non_edge_weight(self, arg: bool, /) -> None: ...
    @property
    def repulsion_epsilon(self) -> float: ...
    @repulsion_epsilon.setter
    def repulsion_epsilon(self, arg: float, /) -> None: ...
    @property
    def mesh_spacing(self) -> float: ...
    @mesh_spacing.setter
    def mesh_spacing(self, arg: float, /) -> None: ...
    @property
    def theta(self) -> float: ...
    @theta.setter
    def theta(self, arg: float, /) -> None: ...
    @property
    def horizon(self) -> float: ...
    @horizon.setter
    def horizon(self, arg: float, /) -> None: ...
    @property
    def in_place(self) -> bool: ...
    @in_place.setter
    def in_place(self, arg: bool, /) -> None: ...
    @property
    def optimizer(self) -> Optimizer: ...
    @optimizer.setter
    def optimizer(self, arg: Optimizer, /) -> None: ...
    @property
    def prune(self) -> bool: ...
    @prune.setter
    def prune(self, arg: bool, /) -> None: ...
    @property
    def force_scale(self) -> float: ...
    @force_scale.setter
    def force_scale(self, arg: float, /) -> None: ...
    @property
    def gradient_clip(self) -> float: ...
    @gradient_clip.setter
    def gradient_clip(self, arg: float, /) -> None: ...
    @property
    def density_weight(self) -> float: ...
    @density_weight.setter
    def density_weight(self, arg: float, /) -> None: ...
    @property
    def density_shift(self) -> float: ...
    @density_shift.setter
    def density_shift(self, arg: float, /) -> None: ...
    @property
    def density_begin(self) -> int: ...
    @density_begin.setter
    def density_begin(self, arg: int, /) -> None: ...
    @property
    def seed(self) -> int: ...
    @seed.setter
    def seed(self, arg: int, /) -> None: ...
    @property
    def schedule(self) -> Schedule: ...
    @schedule.setter
    def schedule(self, arg: Schedule, /) -> None: ...

class Layout:
    def __init__(
        self,
        offsets: NDArray[numpy.int64],
        indices: NDArray[numpy.int32],
        weights: NDArray[numpy.float32],
        start: NDArray[numpy.float32],
        settings: Settings,
        threads: int,
        mobility: NDArray[numpy.float32] | None = None,
        log_radii: NDArray[numpy.float32] | None = None,
    ) -> None: ...
    @property
    def epoch(self) -> int: ...
    def run(self, until: int) -> None: ...
    def steer(self, exaggeration: float, repulsion: float) -> None: ...
    def replace_points(self, places: NDArray[numpy.float32]) -> None: ...
    def embedding(self) -> NDArray[numpy.float32]: ...
    def state(self) -> dict[str, NDArray[Any]]:
        """What later epochs depend on, besides graph and settings."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None: ...

class LayoutParts:
    def __init__(self, start: NDArray[numpy.float32], settings: Settings, threads: int) -> None: ...
    def read(
        self, offsets: NDArray[numpy.int64], indices: NDArray[numpy.int32], weights: NDArray[numpy.float32]
    ) -> None:
        """Reads the next rows of the graph."""

    def end_pass(self) -> None:
        """All rows have been read; a layout needs three passes."""

    def finish(
        self,
        start: NDArray[numpy.float32],
        mobility: NDArray[numpy.float32] | None = None,
        log_radii: NDArray[numpy.float32] | None = None,
    ) -> Layout: ...

class OutputMetric(enum.Enum):
    haversine = 0

    hyperboloid = 1

    spherical_gaussian_energy = 2

    diagonal_gaussian_energy = 3

    gaussian_energy = 4

    manhattan = 5

    chebyshev = 6

    minkowski = 7

    cosine = 8

    correlation = 9

    canberra = 10

    braycurtis = 11

class MetricLayout:
    @property
    def epoch(self) -> int: ...
    def run(self, until: int) -> None: ...
    def steer(self, exaggeration: float, repulsion: float) -> None: ...
    def embedding(self) -> NDArray[numpy.float32]: ...
    def state(self) -> dict[str, NDArray[Any]]:
        """What later epochs depend on, besides graph and settings."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None: ...

def make_metric_layout(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    start: NDArray[numpy.float32],
    metric: OutputMetric,
    parameter: float,
    settings: Settings,
    threads: int,
) -> MetricLayout: ...
def place_rows_under(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    map: NDArray[numpy.float32],
    affinity: Affinity,
    distance: Distance,
    perplexities: Sequence[float],
    sigma: float,
    local_connectivity: float,
    placement: Placement,
    metric: OutputMetric,
    parameter: float,
    threads: int,
) -> NDArray[numpy.float32]: ...
def output_coordinates(metric: OutputMetric, map: NDArray[numpy.float32]) -> NDArray[numpy.float64]: ...
def output_distances(
    metric: OutputMetric, parameter: float, x: NDArray[numpy.float64], y: NDArray[numpy.float64]
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...

class PotentialKind(enum.Enum):
    kernel = 0

    kernel_squared = 1

    umap = 2

def potential_kinds(loss: Loss, normalized: bool) -> list[PotentialKind]: ...

class Mesh:
    def __init__(
        self, kind: PotentialKind, curve: Curve, epsilon: float, spacing: float, largest: int
    ) -> None: ...
    @staticmethod
    def usual_largest(n: int, dimensions: int) -> int: ...
    @property
    def spacing(self) -> float: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def repel(
        self, Y: NDArray[numpy.float32], threads: int
    ) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32], float]: ...

def tree_repulsion(
    Y: NDArray[numpy.float32], kind: PotentialKind, curve: Curve, epsilon: float, theta: float, threads: int
) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32], float]: ...
def convolve(
    grid: NDArray[numpy.float32], kernel: NDArray[numpy.float32], threads: int
) -> NDArray[numpy.float32]: ...
def smooth_size(wanted: int) -> int: ...
def attraction_to_reference(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    weights: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    reference: NDArray[numpy.float64],
    dof: float,
    measure: bool,
    threads: int,
) -> tuple[Any, ...]:
    """Forces (m, d), and the sum of w log(w/q) if measure is true"""

def repulsion_from_reference(
    Y: NDArray[numpy.float64], reference: NDArray[numpy.float64], dof: float, threads: int
) -> tuple[Any, ...]:
    """
    Forces (m, d), and the sum of the kernel over all reference points (m, 1)
    """

@overload
def nearest_in_rows(distances: NDArray[numpy.float32], k: int, threads: int) -> NDArray[numpy.int32]: ...
@overload
def nearest_in_rows(distances: NDArray[numpy.float64], k: int, threads: int) -> NDArray[numpy.int32]: ...
@overload
def ranks_in_rows(
    distances: NDArray[numpy.float32], ids: NDArray[numpy.int32], threads: int
) -> NDArray[numpy.int32]: ...
@overload
def ranks_in_rows(
    distances: NDArray[numpy.float64], ids: NDArray[numpy.int32], threads: int
) -> NDArray[numpy.int32]: ...
def pair_sums(Y: NDArray[numpy.float32], curve: Curve, threads: int) -> tuple[Any, ...]: ...
def edge_sums(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    Y: NDArray[numpy.float32],
    curve: Curve,
    threads: int,
) -> tuple[Any, ...]: ...
def reachability_tree(Y: NDArray[numpy.float64], min_samples: int, threads: int) -> tuple[Any, ...]: ...
def graph_tree(
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    weights: NDArray[numpy.float32],
    min_samples: int,
    threads: int,
) -> tuple[Any, ...]: ...

class Hierarchy:
    def __init__(
        self, a: NDArray[numpy.int32], b: NDArray[numpy.int32], lengths: NDArray[numpy.float64]
    ) -> None: ...
    def order(self) -> NDArray[numpy.int32]: ...
    def clusters(self, min_cluster_size: int, division: float) -> tuple[Any, ...]: ...
    def distinct_clusters(self, min_cluster_size: int, persistence: float) -> tuple[Any, ...]: ...
    def spread(self, codes: NDArray[numpy.int32]) -> NDArray[numpy.int32]: ...

def representatives(
    Y: NDArray[numpy.float64],
    offsets: NDArray[numpy.int64],
    members: NDArray[numpy.int32],
    wanted: int,
    threads: int,
) -> NDArray[numpy.int32]: ...

class Placement:
    def __init__(self) -> None: ...
    @property
    def seed(self) -> int: ...
    @seed.setter
    def seed(self, arg: int, /) -> None: ...
    @property
    def curve(self) -> Curve: ...
    @curve.setter
    def curve(self, arg: Curve, /) -> None: ...
    @property
    def epochs(self) -> int: ...
    @epochs.setter
    def epochs(self, arg: int, /) -> None: ...
    @property
    def samples(self) -> int: ...
    @samples.setter
    def samples(self, arg: int, /) -> None: ...
    @property
    def attraction(self) -> float: ...
    @attraction.setter
    def attraction(self, arg: float, /) -> None: ...
    @property
    def repulsion(self) -> float: ...
    @repulsion.setter
    def repulsion(self, arg: float, /) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @epsilon.setter
    def epsilon(self, arg: float, /) -> None: ...
    @property
    def partition(self) -> float: ...
    @partition.setter
    def partition(self, arg: float, /) -> None: ...
    @property
    def learning_rate(self) -> float: ...
    @learning_rate.setter
    def learning_rate(self, arg: float, /) -> None: ...
    @property
    def step_cap(self) -> float: ...
    @step_cap.setter
    def step_cap(self, arg: float, /) -> None: ...
    @property
    def stiffness_floor(self) -> float: ...
    @stiffness_floor.setter
    def stiffness_floor(self, arg: float, /) -> None: ...
    @property
    def mass_is_degree(self) -> int: ...
    @mass_is_degree.setter
    def mass_is_degree(self, arg: int, /) -> None: ...
    @property
    def mean_non_edge_weight(self) -> int: ...
    @mean_non_edge_weight.setter
    def mean_non_edge_weight(self, arg: int, /) -> None: ...

def place_rows(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    map: NDArray[numpy.float32],
    affinity: Affinity,
    distance: Distance,
    perplexities: Sequence[float],
    sigma: float,
    local_connectivity: float,
    placement: Placement,
    loss: Loss,
    normalized: bool,
    threads: int,
) -> NDArray[numpy.float32]: ...
def rows_of_places(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    map: NDArray[numpy.float32],
    places: NDArray[numpy.float32],
    rows: NDArray[Any],
    threads: int,
) -> NDArray[numpy.float32]: ...
def sparse_rows_of_places(
    ids: NDArray[numpy.int32],
    distances: NDArray[numpy.float32],
    map: NDArray[numpy.float32],
    places: NDArray[numpy.float32],
    offsets: NDArray[numpy.int64],
    indices: NDArray[numpy.int32],
    values: NDArray[numpy.float32],
    columns: int,
    threads: int,
) -> NDArray[numpy.float32]: ...
