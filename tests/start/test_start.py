"""Starts: spectral coordinates and PCA against NumPy and scikit-learn; graph components, scales, errors."""

from itertools import pairwise
from time import perf_counter

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph

import actup
from actup import preset
from actup._engine import engine
from actup.backends import load_backend
from actup.backends._reference import spectral
from actup.graph._records import Graph
from actup.quality import knn_accuracy
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Extent, Initialization
from actup.start._coordinates import pca_start, random_start, scale_start, spectral_start
from actup.start._start import make_start

cpu = load_backend("cpu")


def clouds(n, columns=10, centers=4, seed=0, distance=4.0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(centers, columns)) * distance
    return (means[rng.integers(centers, size=n)] + rng.normal(size=(n, columns))).astype(np.float32)


def neighbor_graph(X, k=10):
    A = kneighbors_graph(X, min(k, len(X) - 1), mode="distance")
    A.data = np.exp(-A.data / A.data.mean())
    return Graph.from_scipy(A.maximum(A.T))


def chain(n):
    return Graph.from_scipy(sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))


def star(n):
    A = sparse.lil_array((n, n))
    A[0, 1:] = 1
    A[1:, 0] = 1
    return Graph.from_scipy(A)


def side_by_side(*graphs):
    return Graph.from_scipy(sparse.block_diag([graph.to_scipy() for graph in graphs]))


def no_edges(n):
    return Graph(np.zeros(n + 1), np.zeros(0), np.zeros(0))


def solve(graph, dimensions, threads=2, seed=0):
    return engine.spectral_coordinates(graph.offsets, graph.indices, graph.weights, dimensions, seed, threads)


def oracle(graph):
    """All eigenvalues of D^-1/2 W D^-1/2, descending, and their vectors."""
    W = graph.to_scipy().toarray().astype(np.float64)
    root = np.sqrt(W.sum(axis=1))
    inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    values, vectors = np.linalg.eigh(inverse[:, None] * W * inverse)
    return values[::-1], vectors[:, ::-1]


# Spectral coordinates


@pytest.mark.parametrize("dimensions", [1, 2, 3, 10])
@pytest.mark.parametrize("n", [40, 150, 500])
def test_eigenvectors_match_numpy(n, dimensions):
    graph = neighbor_graph(clouds(n, centers=1))
    vectors, values = solve(graph, dimensions)
    exact, exact_vectors = oracle(graph)
    np.testing.assert_allclose(values, exact[1 : dimensions + 1], atol=1e-3)
    angles = subspace_angles(vectors, exact_vectors[:, 1 : dimensions + 1])
    gap = exact[dimensions] - exact[dimensions + 1]
    assert np.degrees(angles.max()) < max(1.0, 0.1 / gap)


def test_clustered_graph_matches_numpy():
    graph = neighbor_graph(clouds(500, centers=5, distance=1.2), k=15)
    vectors, values = solve(graph, 2)
    exact, exact_vectors = oracle(graph)
    np.testing.assert_allclose(values, exact[1:3], atol=1e-4)
    assert np.degrees(subspace_angles(vectors, exact_vectors[:, 1:3]).max()) < 1


@pytest.mark.parametrize("n", [50, 800])
def test_chain_is_unrolled(n):
    vectors, values = solve(chain(n), 1)
    steps = np.diff(vectors[1:-1, 0])  # the ends have half the degree
    assert (steps > 0).all() or (steps < 0).all()
    np.testing.assert_allclose(values[0], np.cos(np.pi / (n - 1)), atol=1e-6)


@pytest.mark.parametrize("n", [10, 500])
def test_star_is_finite_and_centered(n):
    vectors, values = solve(star(n), 2)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(values, 0, atol=1e-3)
    np.testing.assert_allclose(vectors[0], 0, atol=1e-3 * np.abs(vectors).max())
    assert np.linalg.matrix_rank(vectors) == 2


def test_coordinates_are_orthogonal_to_the_trivial_vector():
    graph = neighbor_graph(clouds(2000))
    vectors, _ = solve(graph, 3)
    terms = vectors * np.sqrt(np.asarray(graph.to_scipy().sum(axis=1)))
    np.testing.assert_allclose(terms.sum(axis=0) / np.abs(terms).sum(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize("dimensions", [2, 10])
@pytest.mark.parametrize("n", [60, 6000])
def test_threads_change_no_bit_of_the_spectral_coordinates(n, dimensions):
    graph = neighbor_graph(clouds(n))
    one, values = solve(graph, dimensions, threads=1)
    for threads in (2, 3):
        other, other_values = solve(graph, dimensions, threads=threads)
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(values, other_values)


def test_signs_are_fixed():
    vectors, _ = solve(neighbor_graph(clouds(900, centers=1)), 3)
    assert (vectors.max(axis=0) >= -vectors.min(axis=0)).all()


def test_isolated_points_get_zero_spectral_coordinates():
    graph = side_by_side(neighbor_graph(clouds(500, centers=1)), no_edges(20))
    vectors, values = solve(graph, 2)
    assert np.isfinite(vectors).all() and np.isfinite(values).all()
    np.testing.assert_array_equal(vectors[500:], 0)
    assert np.ptp(vectors[:500], axis=0).min() > 0


@pytest.mark.parametrize(("n", "dimensions"), [(1, 2), (3, 4), (60, 2), (300, 3)])
def test_cpu_agrees_with_the_reference(n, dimensions):
    graph = neighbor_graph(clouds(n, columns=3, centers=1)) if n > 1 else no_edges(1)
    found = cpu.spectral_coordinates(graph, dimensions, 0, 2)
    expected = spectral.spectral_coordinates(graph, dimensions)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=0.01)


# Whole starts


@pytest.mark.parametrize("dimensions", [1, 2, 3, 10])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("make", [chain, star, no_edges])
def test_graphs_of_one_to_five_points(make, n, dimensions):
    graph = make(n) if n > 1 else no_edges(1)
    Y, used = make_start(None, graph, Recipe(n_components=dimensions), None, 0, 2, cpu)
    assert Y.shape == (n, dimensions) and Y.dtype == np.float32
    assert np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) == n
    assert used == ("spectral" if len(graph.indices) else "random (the graph has no edges)")


def components_are_disjoint(Y, labels):
    """Whether the enclosing balls of the graph components, around their midpoints, are disjoint."""
    parts = [Y[labels == component] for component in np.unique(labels)]
    midpoints = np.array([(part.min(axis=0) + part.max(axis=0)) / 2 for part in parts])
    radii = np.array([np.linalg.norm(p - m, axis=1).max() for p, m in zip(parts, midpoints, strict=True)])
    distances = np.linalg.norm(midpoints[:, None] - midpoints, axis=2)
    np.fill_diagonal(distances, np.inf)
    return (distances >= (radii[:, None] + radii) * (1 - 1e-4)).all()


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("with_data", [True, False])
def test_graph_components_do_not_overlap(with_data, dimensions):
    sizes = [400, 150, 60, 30, 12, 12, 9]
    parts = [clouds(size, centers=1, seed=size) + 40 * i for i, size in enumerate(sizes)]
    graph = side_by_side(*[neighbor_graph(part, k=8) for part in parts])
    X = np.vstack(parts) if with_data else None
    labels = sparse.csgraph.connected_components(graph.to_scipy())[1]
    Y = spectral_start(graph, dimensions, 0, 2, cpu.spectral_coordinates, X)
    assert Y.shape == (sum(sizes), dimensions)
    assert components_are_disjoint(Y, labels)


def test_graph_components_are_ordered_like_their_data():
    sizes = np.repeat(100, 6)
    parts = [clouds(size, centers=1, seed=i) * 0.1 + 10 * i for i, size in enumerate(sizes)]
    graph = side_by_side(*[neighbor_graph(part) for part in parts])
    Y = spectral_start(graph, 2, 0, 2, cpu.spectral_coordinates, np.vstack(parts))
    along = [Y[100 * i : 100 * (i + 1), 0].mean() for i in range(6)]
    steps = [after - before for before, after in pairwise(along)]
    assert min(steps) > 0 or max(steps) < 0


def test_graph_component_keeps_its_spectral_shape():
    components = [chain(200), chain(50)]
    Y = spectral_start(side_by_side(*components), 1, 0, 2, cpu.spectral_coordinates)
    assert len(set(np.sign(np.diff(Y[:200, 0])))) == 1
    assert len(set(np.sign(np.diff(Y[200:, 0])))) == 1


@pytest.mark.parametrize("with_data", [True, False])
def test_many_small_components_and_isolated_points(with_data):
    small = sparse.block_diag([sparse.csr_matrix(np.ones((4, 4)) - np.eye(4))] * 3000)
    giant = neighbor_graph(clouds(3000, centers=1)).to_scipy()
    graph = Graph.from_scipy(sparse.block_diag([giant, small, sparse.csr_matrix((2000, 2000))]))
    X = clouds(len(graph)) if with_data else None
    begin = perf_counter()
    Y = spectral_start(graph, 2, 0, 2, cpu.spectral_coordinates, X)
    assert perf_counter() - begin < 10
    assert np.isfinite(Y).all()
    midpoint = (Y[:3000].min(axis=0) + Y[:3000].max(axis=0)) / 2
    radius = np.linalg.norm(Y[:3000] - midpoint, axis=1).max()
    assert np.linalg.norm(Y[15000:] - midpoint, axis=1).min() > radius
    np.testing.assert_array_equal(Y, spectral_start(graph, 2, 0, 3, cpu.spectral_coordinates, X))


def test_few_outliers_do_not_flatten_the_rest():
    graph = neighbor_graph(clouds(3000, centers=1)).to_scipy().tolil()
    clique = sparse.lil_matrix(np.ones((8, 8)))
    A = sparse.block_diag([graph, clique]).tolil()
    A[0, 3000] = A[3000, 0] = 1e-4
    Y = spectral_start(Graph.from_scipy(A), 2, 0, 2, cpu.spectral_coordinates)
    assert Y[:3000].std(axis=0).min() > 0.02 * np.ptp(Y, axis=0).max()


# Principal components


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("n", "columns"), [(300, 5), (50, 30), (800, 150), (100, 400)])
def test_pca_matches_sklearn(n, columns, kind):
    rng = np.random.default_rng(1)
    X = clouds(n, columns) * np.linspace(3, 0.1, columns, dtype=np.float32)
    if kind == "sparse":
        X = np.where(rng.uniform(size=X.shape) < 0.7, 0, X)
    Y = pca_start(sparse.csr_matrix(X) if kind == "sparse" else X, 2, 0, 2)
    expected = PCA(2, svd_solver="full").fit_transform(X.astype(np.float64))
    sign = np.sign((Y * expected).sum(axis=0))
    np.testing.assert_allclose(Y * sign, expected, atol=2e-2 * expected.std())


def test_pca_survives_a_large_offset_and_any_scale():
    X = clouds(500, 100)
    Y = pca_start(X, 2, 0, 2)
    np.testing.assert_allclose(pca_start(X + 1000, 2, 0, 2), Y, atol=1e-2 * Y.std())
    for scale in (np.float32(1e-18), np.float32(1e15)):
        np.testing.assert_allclose(pca_start(X * scale, 2, 0, 2) / scale, Y, atol=1e-3 * Y.std())


@pytest.mark.parametrize("columns", [20, 300])
def test_threads_change_no_bit_of_the_principal_components(columns):
    X = clouds(3001, columns)
    for data in (X, sparse.csr_matrix(np.maximum(X, 0))):
        one = pca_start(data, 3, 0, 1)
        for threads in (2, 3):
            np.testing.assert_array_equal(one, pca_start(data, 3, 0, threads))


def test_pca_fills_missing_dimensions_with_small_noise():
    X = clouds(100, columns=2)
    Y = pca_start(X, 5, 0, 2)
    assert Y.shape == (100, 5)
    assert (Y[:, 2:].std(axis=0) > 0).all()
    assert Y[:, 2:].std() < 0.05 * Y[:, 0].std()


def test_pca_of_equal_rows_is_zero():
    np.testing.assert_array_equal(pca_start(np.ones((10, 100), np.float32), 2, 0, 2), 0)


def test_inputs_are_not_modified():
    X, graph = clouds(200), neighbor_graph(clouds(200))
    before, weights = X.copy(), graph.weights.copy()
    make_start(X, graph, Recipe(), None, 0, 2, cpu)
    pca_start(X, 2, 0, 2)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(graph.weights, weights)


# Scales, choice of the start, errors


@pytest.mark.parametrize("size", [1e-4, 10.0])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_scale_start_gives_the_requested_extent(dimensions, size):
    raw = random_start(500, dimensions, 3) * 7 + 5
    box = scale_start(raw, Extent.BOX, size)
    np.testing.assert_allclose(box.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(box.max(), size, rtol=1e-5)
    deviation = scale_start(raw, Extent.DEVIATION, size)
    np.testing.assert_allclose(deviation.mean(axis=0), 0, atol=1e-5 * size)
    np.testing.assert_allclose(deviation.std(axis=0).max(), size, rtol=1e-5)
    assert box.dtype == deviation.dtype == np.float32


@pytest.mark.parametrize("extent", list(Extent))
def test_scale_start_separates_duplicates(extent):
    raw = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    Y = scale_start(raw, extent, 10.0)
    assert len(np.unique(Y, axis=0)) == 60
    assert Y[:20].std(axis=0).max() < 0.01
    equal = scale_start(np.ones((50, 2)), extent, 10.0)
    assert len(np.unique(equal, axis=0)) == 50
    assert np.isfinite(scale_start(np.zeros((1, 2)), extent, 10.0)).all()


def test_duplicate_rows_start_apart():
    X = np.repeat(clouds(40), 5, axis=0)
    for kind in Initialization:
        recipe = Recipe(initialization=kind)
        Y, used = make_start(X, neighbor_graph(X, k=12), recipe, None, 0, 2, cpu)
        assert used == str(kind)
        assert len(np.unique(Y, axis=0)) == len(X)


@pytest.mark.parametrize("kind", list(Initialization))
def test_start_depends_on_the_seed_but_not_on_threads(kind):
    X = clouds(400)
    graph, recipe = neighbor_graph(X), Recipe(initialization=kind)
    first, _ = make_start(X, graph, recipe, None, 1, 1, cpu)
    np.testing.assert_array_equal(first, make_start(X, graph, recipe, None, 1, 3, cpu)[0])
    assert not np.array_equal(first, make_start(X, graph, recipe, None, 2, 1, cpu)[0])


def test_fallbacks_give_their_reason():
    X = clouds(30)
    assert make_start(X, no_edges(30), Recipe(), None, 0, 1, cpu)[1] == "pca (the graph has no edges)"
    recipe = Recipe(initialization="pca")
    used = make_start(None, chain(30), recipe, None, 0, 1, cpu)[1]
    assert used == "spectral (there are no rows to take principal components of)"
    used = make_start(None, no_edges(30), recipe, None, 0, 1, cpu)[1]
    assert used == "random (the graph has no edges)"


def test_given_places_are_used_as_given():
    given = np.random.default_rng(0).normal(size=(30, 2)) * 5
    Y, used = make_start(None, chain(30), Recipe(), given, 0, 1, cpu)
    assert used == "array"
    np.testing.assert_array_equal(Y, given.astype(np.float32))
    given[7] = given[3]
    Y, _ = make_start(None, chain(30), Recipe(), given.tolist(), 0, 1, cpu)
    assert len(np.unique(Y, axis=0)) == 30
    np.testing.assert_allclose(Y, given, atol=0.05)


@pytest.mark.parametrize("center", [1.0, -1e6, [1e6, -3e30], [0, 1e9]])
def test_equal_places_start_the_same_wherever_they_are(center):
    """Float32 could not tell points apart that are moved by a ten-thousandth far from 0."""
    at_zero, used = make_start(None, chain(30), Recipe(), np.zeros((30, 2)), 0, 1, cpu)
    assert used == "array" and len(np.unique(at_zero, axis=0)) == 30
    far, used = make_start(None, chain(30), Recipe(), np.tile(center, (30, 1))[:, -2:] + [0, 0], 0, 1, cpu)
    assert used.startswith("array (moved to 0: ")
    np.testing.assert_array_equal(far, at_zero)


def test_places_far_from_zero_keep_their_shape():
    given = np.random.default_rng(0).normal(size=(30, 2))
    far, used = make_start(None, chain(30), Recipe(), given + np.array([1e7, -2e7]), 0, 1, cpu)
    assert used.startswith("array (moved to 0: its centre was 2.24e+07 away")
    np.testing.assert_allclose(far - far.mean(axis=0), given - given.mean(axis=0), atol=1e-6)
    near, used = make_start(None, chain(30), Recipe(), given + 100, 0, 1, cpu)
    assert used == "array"
    np.testing.assert_array_equal(near, (given + 100).astype(np.float32))
    wide, used = make_start(None, chain(30), Recipe(), 1e4 * given + 1e9, 0, 1, cpu)
    assert "moved to 0" in used and "scaled down" in used
    assert np.corrcoef(wide[:, 0], given[:, 0])[0, 1] > 0.9999


@pytest.mark.parametrize("kind", [actup.UMAP, actup.TSNE, actup.GDR])
def test_equal_places_far_from_zero_give_a_map(kind):
    X, y = load_digits(return_X_y=True)
    model = kind(init=np.full((600, 2), 1e6), random_state=0).fit(X[:600])
    assert knn_accuracy(model.embedding_, y[:600]) > 0.85


@pytest.mark.parametrize(("name", "size"), [("umap", 10.0), ("tsne", 0.1), ("gdr_umap", 10.0)])
def test_too_wide_given_places_are_scaled_down(name, size):
    recipe = preset(name)
    given = np.random.default_rng(0).normal(size=(30, 2)) * [1000, 400] + 5000
    Y, used = make_start(None, chain(30), recipe, given, 0, 1, cpu)
    assert used.startswith("array (scaled down: its radius of ")
    width = np.ptp if recipe.start_extent == "box" else np.std
    assert width(Y, axis=0).max() == pytest.approx(size, rel=1e-4)
    correlations = [np.corrcoef(Y[:, axis], given[:, axis])[0, 1] for axis in (0, 1)]
    assert min(correlations) > 0.9999
    assert width(Y, axis=0)[1] / width(Y, axis=0)[0] == pytest.approx(
        width(given, axis=0)[1] / width(given, axis=0)[0], rel=1e-3
    )


@pytest.mark.parametrize("kind", [actup.UMAP, actup.TSNE, actup.GDR])
def test_raw_principal_components_are_scaled_down_and_finished_maps_are_not(kind):
    X, y = load_digits(return_X_y=True)
    principal_components = 30 * PCA(2, random_state=0).fit_transform(X)
    model = kind(init=principal_components, random_state=0).fit(X)
    assert knn_accuracy(model.embedding_, y) > 0.93
    assert "scaled down" in model.init_used_
    assert kind(init=model.embedding_, random_state=0).fit(X).init_used_ == "array"


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        (np.zeros((29, 2)), ValueError, r"init has shape \(29, 2\).*\(30, 2\)"),
        (np.zeros((30, 3)), ValueError, r"init has shape \(30, 3\)"),
        (np.full((30, 2), np.nan), ValueError, "init contains NaN"),
        (np.full((30, 2), 1e300), ValueError, "init contains NaN or values too large"),
        ("circle", TypeError, "init='circle' must be an array"),
        ([["a", "b"]] * 30, TypeError, r"^init=.{,100} must be an array of numbers"),
        (np.ma.masked_array(np.zeros((30, 2)), np.eye(30, 2)), TypeError, "init is a masked array.* fill it"),
        (np.zeros((30, 2)) + 1j, TypeError, "init holds complex numbers.* real"),
        ([[1j, 2]] * 30, TypeError, "init holds complex numbers"),
    ],
)
def test_errors_name_init(init, error, message):
    with pytest.raises(error, match=message):
        make_start(None, chain(30), Recipe(), init, 0, 1, cpu)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8])
def test_pca_of_small_dtypes_gives_the_bits_of_float32(dtype):
    X = np.random.default_rng(0).integers(0, 100, (1003, 37)).astype(dtype)
    expected = pca_start(X.astype(np.float32), 2, 0, 2)
    np.testing.assert_array_equal(pca_start(X, 2, 0, 1), expected)


@pytest.mark.parametrize("extent", Extent)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_scale_start_does_not_modify_its_argument(extent, dimensions):
    Y = np.asfortranarray(np.random.default_rng(0).normal(size=(50, dimensions)))
    before = Y.copy()
    scale_start(Y, extent, 10.0)
    np.testing.assert_array_equal(Y, before)


def test_edge_stored_from_one_side_only_gives_a_finite_start():
    """The last row of the graph is empty, but the first row has an edge to it."""
    W = np.zeros((40, 40), np.float32)
    W[np.arange(38), np.arange(1, 39)] = W[np.arange(1, 39), np.arange(38)] = 1
    W[0, 39] = 1e-8
    offsets = np.concatenate([[0], np.cumsum((W > 0).sum(axis=1))])
    rows, columns = np.nonzero(W)
    graph = Graph(offsets, columns, W[rows, columns])
    Y = spectral_start(graph, 2, 0, 2, cpu.spectral_coordinates)
    assert np.isfinite(Y).all()
