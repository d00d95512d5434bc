"""The affinity graph: all backends against dense NumPy in float64, and the CPU backend in detail."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup.backends import backends, load_backend
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity

cpu = load_backend("cpu")

UMAP = Recipe()
PLAIN = UMAP.but(distance="plain")
GAUSSIAN = UMAP.but(affinity="gaussian", distance="plain", perplexity=10.0)
MULTISCALE = GAUSSIAN.but(affinity="multiscale", perplexities=(4.0, 10.0, 25.0))
FIXED_SIGMA = GAUSSIAN.but(affinity="fixed_sigma", sigma=11.0)
UNIFORM = UMAP.but(affinity="uniform")
ALL = (UMAP, PLAIN, GAUSSIAN, MULTISCALE, FIXED_SIGMA, UNIFORM)
RECIPES = [recipe.but(symmetrization=kind) for recipe in ALL for kind in ("umap", "tsne")]


@pytest.fixture(scope="module")
def digits():
    return nearest_neighbors(load_digits().data[:600], 30)


def umap_rows(distances, plain=False):
    """p(j|i) of affinity "umap": sigma by bisection to float64 precision, then umap-learn's floor."""
    distances = np.asarray(distances, np.float64)
    n, k = distances.shape
    positive = np.where(distances > 0, distances, np.inf).min(axis=1)
    rho = np.where(np.isfinite(positive), positive, 0)
    exponent = np.maximum(distances - (0 if plain else rho[:, None]), 0)
    low, high = np.full(n, 1e-12), np.full(n, 1e12)
    for _ in range(200):
        sigma = np.sqrt(low * high)
        small = np.exp(-exponent / sigma[:, None]).sum(axis=1) < np.log2(k + 1)
        low, high = np.where(small, sigma, low), np.where(small, high, sigma)
    mean = np.where(rho > 0, distances.sum(axis=1) / (k + 1), distances.sum() / (n * (k + 1)))
    return np.exp(-exponent / np.maximum(sigma, 1e-3 * mean)[:, None])


def gaussian_rows(distances, perplexity):
    """p(j|i) of affinity "gaussian": beta by bisection to float64 precision."""
    squares = np.asarray(distances, np.float64) ** 2
    squares -= squares.min(axis=1, keepdims=True)
    low, high = np.full(len(squares), 1e-12), np.full(len(squares), 1e12)
    for _ in range(200):
        beta = np.sqrt(low * high)
        wide = entropies(normalized(np.exp(-beta[:, None] * squares))) > np.log(perplexity)
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
    return normalized(np.exp(-beta[:, None] * squares))


def normalized(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def entropies(rows):
    return -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=1)


def expected_rows(distances, recipe):
    if recipe.affinity == "uniform":
        return np.ones_like(distances)
    if recipe.affinity == "fixed_sigma":
        return normalized(np.exp(-(np.float64(distances) ** 2) / (2 * recipe.sigma**2)))
    if recipe.scales():
        return np.mean([gaussian_rows(distances, perplexity) for perplexity in recipe.scales()], axis=0)
    return umap_rows(distances, plain=recipe.distance == "plain")


def dense(indices, rows):
    n = len(indices)
    matrix = np.zeros((n, n))
    np.put_along_axis(matrix, indices.astype(np.int64), rows, axis=1)
    return matrix


def directed(neighbors, recipe):
    """The rows p(j|i) as the engine computes them, read back one by one from graphs of 2k + 2 points.

    Point 0 has the distances of row i, to points 1 ... k; all other points have their neighbours among
    themselves, so that no edge of point 0 has a counterpart.
    """
    n, k = neighbors.indices.shape
    mean = recipe.but(symmetrization="tsne")
    rows = np.empty((n, k))
    for i in range(n):
        indices = np.empty((2 * k + 2, k), np.int32)
        indices[0] = np.arange(1, k + 1)
        for j in range(1, 2 * k + 2):
            indices[j] = [other for other in range(1, 2 * k + 2) if other != j][-k:]
        distances = np.ones((2 * k + 2, k), np.float32)
        distances[0] = neighbors.distances[i]
        graph = cpu.affinity_graph(Neighbors(indices, distances), mean, 1).to_scipy()
        rows[i] = 2 * graph[0, 1 : k + 1].toarray()[0]
    return rows


def assert_valid(graph, n):
    assert graph.offsets.dtype == np.int64 and graph.indices.dtype == np.int32
    assert graph.weights.dtype == np.float32
    assert len(graph.offsets) == n + 1 and graph.offsets[0] == 0
    assert graph.offsets[-1] == len(graph.indices) == len(graph.weights)
    owner = np.repeat(np.arange(n), np.diff(graph.offsets))
    assert (graph.indices != owner).all()
    assert (np.diff(owner * n + graph.indices.astype(np.int64)) > 0).all()  # ascending, no repetition
    assert (graph.weights > 0).all() and np.isfinite(graph.weights).all()
    matrix = graph.to_scipy()
    assert (matrix != matrix.T).nnz == 0  # symmetric to the bit


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.affinity}-{r.distance}-{r.symmetrization}")
@pytest.mark.parametrize("backend", backends())
def test_equals_dense_numpy(digits, recipe, backend):
    graph = load_backend(backend).affinity_graph(digits, recipe, 2)
    assert_valid(graph, len(digits))
    p = dense(digits.indices, expected_rows(digits.distances, recipe))
    expected = p + p.T - p * p.T if recipe.symmetrization == "umap" else (p + p.T) / 2
    np.testing.assert_allclose(graph.to_scipy().toarray(), expected, rtol=2e-4, atol=1e-7)
    np.testing.assert_array_equal(graph.to_scipy().toarray() > 0, expected > 1e-38)


@pytest.mark.parametrize("backend", [name for name in backends() if name != "reference"])
@pytest.mark.parametrize("affinity", list(Affinity))
def test_every_affinity_equals_the_oracle(digits, affinity, backend):
    recipe = UMAP.but(affinity=affinity, distance="plain", perplexity=10.0, perplexities=(4, 10), sigma=11.0)
    found, oracle = (load_backend(name).affinity_graph(digits, recipe, 2) for name in (backend, "reference"))
    np.testing.assert_array_equal(found.indices, oracle.indices)
    np.testing.assert_allclose(found.weights, oracle.weights, rtol=1e-4, atol=1e-7)


def test_umap_rows_sum_to_the_target(digits):
    few = Neighbors(digits.indices[:25], digits.distances[:25])
    for recipe in (UMAP, PLAIN):
        rows = directed(few, recipe)
        np.testing.assert_allclose(rows.sum(axis=1), np.log2(31), atol=3e-5)
        assert ((rows[:, 0] == 1) == (recipe is UMAP)).all()  # plain distances: 1 only at distance zero


def test_gaussian_rows_have_the_perplexity(digits):
    few = Neighbors(digits.indices[:25], digits.distances[:25])
    for perplexity in (2.0, 10.0, 29.0):
        rows = directed(few, GAUSSIAN.but(perplexity=perplexity))
        np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(np.exp(entropies(rows)), perplexity, rtol=1e-5)


@pytest.mark.parametrize("perplexity", [30.0, 100.0])
def test_unreachable_perplexity_gives_uniform_weights(digits, perplexity):
    few = Neighbors(digits.indices[:5], digits.distances[:5])
    rows = directed(few, GAUSSIAN.but(perplexity=perplexity))
    np.testing.assert_allclose(rows, 1 / 30, rtol=1e-6)


def test_equal_distances_give_uniform_weights():
    for distance in (0.0, 2.5):
        few = Neighbors(np.tile(np.arange(1, 31), (3, 1)), np.full((3, 30), distance))
        np.testing.assert_allclose(directed(few, GAUSSIAN), 1 / 30, rtol=1e-6)


def test_nearest_ties_beyond_the_perplexity_share_all_weight():
    distances = np.r_[np.full(20, 1.0), np.full(10, 2.0)][None]
    rows = directed(Neighbors(np.arange(1, 31)[None], distances), GAUSSIAN)
    np.testing.assert_allclose(rows, np.r_[np.full(20, 1 / 20), np.zeros(10)][None], rtol=1e-6)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.affinity}-{r.distance}-{r.symmetrization}")
def test_threads_change_no_bit(digits, recipe):
    one, two, three = (cpu.affinity_graph(digits, recipe, threads) for threads in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.offsets, other.offsets)
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.weights, other.weights)


def test_many_rows_are_transposed_in_chunks():
    """Enough rows that the counting sort works in several chunks; a dense check would be too large."""
    rng = np.random.default_rng(0)
    n, k = 40_000, 5
    steps = np.sort(np.argsort(rng.random((n, 12)), axis=1)[:, :k] + 1, axis=1)
    neighbors = Neighbors((np.arange(n)[:, None] + steps) % n, np.sort(rng.random((n, k)), axis=1))
    one, two, three = (cpu.affinity_graph(neighbors, UMAP, threads) for threads in (1, 2, 3))
    assert_valid(one, n)
    assert one.offsets[-1] == 2 * n * k  # no edge has a counterpart
    for other in (two, three):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.weights, other.weights)
    p = umap_rows(neighbors.distances)
    rows = np.repeat(np.arange(n), k)
    np.testing.assert_allclose(
        np.asarray(one.to_scipy()[rows, neighbors.indices.ravel()]).ravel(), p.ravel(), rtol=2e-4, atol=1e-7
    )


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.affinity}-{r.distance}-{r.symmetrization}")
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_two_to_five_points(n, recipe):
    X = np.random.default_rng(n).normal(size=(n, 3))
    neighbors = nearest_neighbors(X, n - 1)
    graph = cpu.affinity_graph(neighbors, recipe, 2)
    assert_valid(graph, n)
    assert graph.offsets[-1] == n * (n - 1)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_no_neighbors_give_no_edges(n):
    graph = cpu.affinity_graph(Neighbors(np.empty((n, 0)), np.empty((n, 0))), UMAP, 2)
    np.testing.assert_array_equal(graph.offsets, np.zeros(n + 1))
    assert len(graph.indices) == len(graph.weights) == 0


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.affinity}-{r.distance}-{r.symmetrization}")
def test_duplicates_and_constant_data(recipe):
    rng = np.random.default_rng(1)
    for X in (np.ones((300, 4)), np.repeat(rng.normal(size=(4, 3)), 100, axis=0)):
        neighbors = nearest_neighbors(X, 15)
        graph = cpu.affinity_graph(neighbors, recipe, 2)
        assert_valid(graph, len(X))
        weight = 1 if recipe.affinity in ("umap", "uniform") else 1 / 15
        assert graph.weights.max() == pytest.approx(
            weight if recipe.symmetrization == "tsne" else 2 * weight - weight**2, rel=1e-6
        )


def test_narrow_sigma_keeps_only_the_nearest_neighbor_and_wide_sigma_is_uniform(digits):
    few = Neighbors(digits.indices[:5], digits.distances[:5])
    rows = directed(few, FIXED_SIGMA.but(sigma=1e-6))
    np.testing.assert_allclose(rows, np.eye(1, 30).repeat(5, axis=0), atol=1e-6)
    wide = directed(few, FIXED_SIGMA.but(sigma=1e9))
    np.testing.assert_allclose(wide, 1 / 30, rtol=1e-6)


def test_equal_perplexities_equal_a_single_one(digits):
    one = cpu.affinity_graph(digits, GAUSSIAN.but(perplexity=8), 2)
    several = cpu.affinity_graph(digits, MULTISCALE.but(perplexities=(8, 8)), 2)
    np.testing.assert_allclose(several.weights, one.weights, rtol=1e-6)


def test_uniform_weights_are_one_or_the_mean_of_both_directions(digits):
    assert set(cpu.affinity_graph(digits, UNIFORM, 2).weights) == {1}
    mean = cpu.affinity_graph(digits, UNIFORM.but(symmetrization="tsne"), 2)
    assert set(mean.weights) == {0.5, 1}


def test_rho_ignores_zero_distances():
    distances = np.array([[0, *range(10)]])  # zero twice
    rows = directed(Neighbors(np.arange(1, 12)[None], distances), UMAP)
    np.testing.assert_array_equal(rows[0, :3], 1)
    assert (np.diff(rows[0, 2:]) < 0).all() and rows[0, -1] > 0


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("recipe", [UMAP, PLAIN, GAUSSIAN], ids=lambda r: f"{r.affinity}-{r.distance}")
def test_scale_of_the_distances_does_not_matter(digits, recipe, scale):
    scaled = Neighbors(digits.indices, digits.distances * np.float32(scale))
    first, second = (cpu.affinity_graph(each, recipe, 2) for each in (digits, scaled))
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-3)


def test_given_neighbors_are_not_modified(digits):
    indices, distances = digits.indices.copy(), digits.distances.copy()
    indices.setflags(write=False)
    distances.setflags(write=False)
    cpu.affinity_graph(Neighbors(indices, distances), UMAP, 2)
    np.testing.assert_array_equal(indices, digits.indices)


@pytest.mark.parametrize(
    ("row", "distances", "message"),
    [
        ([1, 3], [0.1, 0.2], "from 0 to n - 1"),
        ([-1, 1], [0.1, 0.2], "from 0 to n - 1"),
        ([0, 1], [0.1, 0.2], "not the row's own"),
        ([1, 1], [0.1, 0.2], "differ within a row"),
        ([1, 2], [0.2, 0.1], "ascending"),
        ([1, 2], [0.1, np.nan], "finite"),
        ([1, 2], [0.1, np.inf], "finite"),
        ([1, 2], [-0.1, 0.2], "at least 0"),
    ],
)
def test_invalid_neighbors_are_rejected(row, distances, message):
    neighbors = Neighbors(np.array([row, [0, 2], [0, 1]]), np.array([distances, [0.1, 0.2], [0.1, 0.2]]))
    for threads in (1, 2):
        with pytest.raises(ValueError, match=message):
            cpu.affinity_graph(neighbors, UMAP, threads)
