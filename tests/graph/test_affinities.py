"""The affinity graph: all backends against dense NumPy in float64, and the CPU backend in detail."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup import embed
from actup.backends import backends, load_backend
from actup.graph._disconnection import disconnect
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe._presets import preset
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
SET_OPERATIONS = [
    UMAP.but(set_op_mix_ratio=ratio, local_connectivity=connectivity)
    for ratio, connectivity in [(0, 1), (0.3, 1), (1, 0), (1, 0.4), (1, 2), (1, 2.7), (1, 50), (0.5, 1.5)]
]


@pytest.fixture(scope="module")
def digits():
    return nearest_neighbors(load_digits().data[:600], 30)


def umap_rows(distances, plain=False, local_connectivity=1.0):
    """p(j|i) of affinity "umap": sigma by bisection to float64 precision, then umap-learn's floor."""
    distances = np.asarray(distances, np.float64)
    n, k = distances.shape
    rho = np.array([rho_of(row[row > 0], local_connectivity) for row in distances])
    exponent = np.maximum(distances - (0 if plain else rho[:, None]), 0)
    low, high = np.full(n, 1e-12), np.full(n, 1e12)
    for _ in range(200):
        sigma = np.sqrt(low * high)
        small = np.exp(-exponent / sigma[:, None]).sum(axis=1) < np.log2(k + 1)
        low, high = np.where(small, sigma, low), np.where(small, high, sigma)
    mean = np.where(rho > 0, distances.sum(axis=1) / (k + 1), distances.sum() / (n * (k + 1)))
    return np.exp(-exponent / np.maximum(sigma, 1e-3 * mean)[:, None])


def rho_of(positive, local_connectivity):
    """The distance that umap-learn subtracts, from a row's distances above 0."""
    if not len(positive):
        return 0
    if len(positive) < local_connectivity:
        return positive[-1]
    whole = int(local_connectivity)
    low = positive[whole - 1] if whole else 0
    share = local_connectivity - whole
    return low + share * (positive[whole] - low) if share else low


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
    return umap_rows(distances, recipe.distance == "plain", recipe.local_connectivity)


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
        indices[0] = np.where(np.isfinite(neighbors.distances[i]), np.arange(1, k + 1), -1)
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


@pytest.mark.parametrize(
    "recipe", SET_OPERATIONS, ids=lambda r: f"{r.set_op_mix_ratio}-{r.local_connectivity}"
)
@pytest.mark.parametrize("backend", backends())
def test_set_operations_and_local_connectivity(digits, recipe, backend):
    graph = load_backend(backend).affinity_graph(digits, recipe, 2)
    assert_valid(graph, len(digits))
    p = dense(digits.indices, expected_rows(digits.distances, recipe))
    share = recipe.set_op_mix_ratio
    expected = share * (p + p.T - p * p.T) + (1 - share) * p * p.T
    np.testing.assert_allclose(graph.to_scipy().toarray(), expected, rtol=2e-4, atol=1e-7)
    np.testing.assert_array_equal(graph.to_scipy().toarray() > 0, expected > 1e-38)


def test_switches_without_effect_change_nothing(digits):
    for recipe in (PLAIN, GAUSSIAN, UNIFORM):
        recipe = recipe.but(symmetrization="tsne")
        other = recipe.but(set_op_mix_ratio=0.2, local_connectivity=0)
        first, second = (cpu.affinity_graph(digits, each, 2) for each in (recipe, other))
        np.testing.assert_array_equal(first.weights, second.weights)


def test_intersection_keeps_mutual_neighbors_only():
    """Point 3 is nobody's neighbour: it stays in the graph, without an edge."""
    indices = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    graph = cpu.affinity_graph(
        Neighbors(indices, np.tile([1.0, 2.0], (4, 1))), UMAP.but(set_op_mix_ratio=0), 1
    )
    assert_valid(graph, 4)
    assert np.diff(graph.offsets).tolist() == [2, 2, 2, 0]


def disconnected(neighbors, farther_than):
    """Every third row keeps the neighbours below a distance, every sixth none."""
    cut = neighbors.distances > farther_than
    cut[np.arange(len(cut)) % 3 != 0] = False
    cut[::6] = True
    distances = np.where(cut, np.inf, neighbors.distances)
    return Neighbors(np.where(cut, -1, neighbors.indices), distances)


@pytest.mark.parametrize("backend", [name for name in backends() if name != "reference"])
@pytest.mark.parametrize("affinity", list(Affinity))
def test_disconnected_neighbors_have_no_edge(digits, affinity, backend):
    recipe = UMAP.but(affinity=affinity, distance="plain", perplexity=10.0, perplexities=(4, 10), sigma=11.0)
    recipe = recipe.but(distance="pseudo") if affinity == "umap" else recipe
    lists = disconnected(digits, np.median(digits.distances))
    graph, oracle = (load_backend(name).affinity_graph(lists, recipe, 2) for name in (backend, "reference"))
    assert_valid(graph, len(digits))
    np.testing.assert_array_equal(graph.indices, oracle.indices)
    np.testing.assert_allclose(graph.weights, oracle.weights, rtol=1e-4, atol=1e-7)
    listed = np.zeros((len(digits), len(digits)), bool)
    for row, ids in enumerate(lists.indices):
        listed[row, ids[ids >= 0]] = True
    assert not (graph.to_scipy().toarray() > 0)[~(listed | listed.T)].any()


def test_rows_ignore_what_is_disconnected():
    """A row with disconnected neighbours has the sum of all others, as far as its neighbours allow."""
    distances = np.array([[1, 2, 3, 4, 5, 6, np.inf, np.inf], [1, 2, np.inf, *[np.inf] * 5], [np.inf] * 8])
    ids = np.where(np.isinf(distances), -1, np.arange(1, 9))
    rows = directed(Neighbors(ids, distances), UMAP)
    assert rows[0].sum() == pytest.approx(np.log2(9), abs=3e-5)
    np.testing.assert_allclose(rows[1], [1, 1, 0, 0, 0, 0, 0, 0])
    assert not rows[2].any()


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


@pytest.mark.parametrize("spread", ["one outlier", "two scales", "nearly equal"])
def test_gaussian_rows_of_uneven_distances_have_the_perplexity(spread):
    random = np.random.default_rng(0)
    distances = {
        "one outlier": np.r_[random.uniform(1, 2, 29), 1e12],
        "two scales": np.r_[random.uniform(1e-3, 2e-3, 15), random.uniform(1e3, 2e3, 15)],
        "nearly equal": 1e3 + random.uniform(0, 0.1, 30),
    }[spread]
    rows = directed(Neighbors(np.arange(1, 31)[None], np.sort(distances)[None]), GAUSSIAN)
    np.testing.assert_allclose(np.exp(entropies(rows)), 10.0, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 3, 16, 17, 90, 600])
def test_ids_of_a_row_may_have_any_order(k):
    random = np.random.default_rng(k)
    n = 700
    ids = np.stack([random.permutation(np.delete(np.arange(n), row))[:k] for row in range(n)])
    neighbors = Neighbors(ids, np.sort(random.gamma(5, size=(n, k)), axis=1))
    graph = cpu.affinity_graph(neighbors, UMAP.but(affinity="uniform"), 2)
    expected = np.zeros((n, n))
    np.put_along_axis(expected, ids, 1.0, axis=1)
    for row in range(n):
        kept = slice(graph.offsets[row], graph.offsets[row + 1])
        np.testing.assert_array_equal(graph.indices[kept], np.flatnonzero(expected[row] + expected[:, row]))


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
    ("preset_name", "n_components"), [("umap", 2), ("umap", 3), ("gdr_umap", 1), ("sampled_umap", 2)]
)
def test_isolated_points_get_places(digits, preset_name, n_components):
    """The spectral start and the layout place points without edges; no place is NaN or far away."""
    recipe = preset(preset_name).but(epochs=20, n_components=n_components)
    nearest = np.quantile(digits.distances[:, 0], 0.9)  # a tenth of the points have no neighbour nearer
    for graph in (
        cpu.affinity_graph(disconnected(digits, 0), recipe.but(set_op_mix_ratio=0), 2),
        cpu.affinity_graph(disconnect(digits, float(nearest))[0], recipe, 2),
    ):
        assert (np.diff(graph.offsets) == 0).sum() > 20
        made = embed(load_digits().data[:600], recipe, graph=graph, seed=1, threads=2)
        assert np.isfinite(made.embedding).all()
        assert np.abs(made.embedding).max() < 1000


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
        ([1, -1], [0.1, 0.2], "from 0 to n - 1"),
        ([-1, 1], [np.inf, 0.2], "ascending"),
    ],
)
def test_invalid_neighbors_are_rejected(row, distances, message):
    neighbors = Neighbors(np.array([row, [0, 2], [0, 1]]), np.array([distances, [0.1, 0.2], [0.1, 0.2]]))
    for threads in (1, 2):
        with pytest.raises(ValueError, match=message):
            cpu.affinity_graph(neighbors, UMAP, threads)
