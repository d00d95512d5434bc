"""New rows on a finished map: equal to the oracle, placed independently, exact for training rows."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from actup.backends import backends, load_backend
from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.neighbors import NeighborIndex
from actup.neighbors._metrics import METRICS
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.transform._placement import make_placement, neighbors_needed, row_recipe
from variations import (
    FAST_BACKENDS,
    clustered_points,
    force_combinations,
    short_presets,
    start_of,
    tails_and_partitions,
)

# The contract of the backends

N, NEW = 150, 40
RECIPES = short_presets() | force_combinations() | tails_and_partitions()


@cache
def new_neighbors(n: int, k: int):
    points = clustered_points(n + NEW)
    return NeighborIndex(points[:n]).query(points[n:], k)


def place(backend: str, recipe: Recipe, n: int, threads: int = 1, **changes) -> np.ndarray:
    rows = row_recipe(recipe)
    # shorter steps than those of transform, so that rounding errors do not grow
    placement = replace(make_placement(recipe, n, 7), samples=70, learning_rate=0.05)
    placement = replace(placement, **changes)
    neighbors = new_neighbors(n, neighbors_needed(rows, n))
    map_ = start_of(n, recipe.n_components)
    return load_backend(backend).place_rows(neighbors, map_, rows, placement, threads)


def assert_equals_oracle(backend: str, recipe: Recipe, n: int, **changes) -> None:
    for epochs in (1, 10):
        expected = place("reference", recipe, n, epochs=epochs, **changes)
        found = place(backend, recipe, n, epochs=epochs, **changes)
        assert found.dtype == np.float32 and found.shape == (NEW, recipe.n_components)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", RECIPES)
def test_equals_the_oracle(backend, name):
    recipe = RECIPES[name]
    moved = place("reference", recipe, N, epochs=10) - place("reference", recipe, N, epochs=0)
    assert np.abs(moved).max() > 0.02  # the rows move, so there is something to compare
    assert_equals_oracle(backend, recipe, N)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [1, 3, 5])
@pytest.mark.parametrize("name", ["umap", "tsne", "gdr_umap", "gdr_tsne", "sampled_umap"])
def test_equals_the_oracle_in_any_dimension(backend, name, dimensions):
    recipe = preset(name).but(n_components=dimensions)
    assert_equals_oracle(backend, recipe, N)
    assert_equals_oracle(backend, recipe.but(loss="frobenius"), N)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("name", ["umap", "tsne", "gdr_tsne"])
def test_equals_the_oracle_on_few_points(backend, name, n):
    assert_equals_oracle(backend, preset(name), n)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize(
    "changes",
    [
        {"affinity": "uniform"},
        {"affinity": "umap", "distance": "plain"},
        {"local_connectivity": 2.5},
        {"affinity": "fixed_sigma", "distance": "plain", "sigma": 2.0},
        {"affinity": "multiscale", "distance": "plain", "perplexities": (5, 20)},
        {"n_neighbors": 60},
        {"late_exaggeration": 3.0},
        {"non_edge_weight": "mean", "repulsion_mass": "degree"},
    ],
)
def test_every_affinity_and_mass_equals_the_oracle(backend, changes):
    assert_equals_oracle(backend, preset("sampled_gdr_umap").but(**changes), N)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_row_with_one_neighbor_lands_on_it_without_repulsion(backend):
    recipe = preset("gdr_umap").but(n_neighbors=2)
    map_, nearest = start_of(N, 2), new_neighbors(N, 1).indices[:, 0]
    np.testing.assert_allclose(place(backend, recipe, N, repulsion=0.0), map_[nearest], atol=1e-5)


@pytest.mark.parametrize("backend", backends())
def test_placement_depends_on_the_seed(backend):
    one, same, other = (place(backend, preset("umap"), N, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


# The estimators

ESTIMATORS = {
    "umap": lambda **more: UMAP(random_state=0, **more),
    "tsne": lambda **more: TSNE(random_state=0, **more),
    "gdr_umap": lambda **more: GDR(random_state=0, **more),
    "gdr_tsne": lambda **more: GDR(True, random_state=0, **more),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[::2], X[1::2], y[::2], y[1::2]


@cache
def fitted(kind: str):
    return ESTIMATORS[kind]().fit(load_digits().data[::2])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_place_depends_on_its_own_row_only(kind, digits):
    _, X, _, _ = digits
    model = fitted(kind)
    whole = model.transform(X)
    assert whole.shape == (len(X), 2) and whole.dtype == np.float32
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.transform(X[order]), whole[order])
    np.testing.assert_array_equal(np.concatenate([model.transform(X[:7]), model.transform(X[7:])]), whole)
    for row in (0, 1, 500):
        np.testing.assert_array_equal(model.transform(X[row : row + 1])[0], whole[row])
    for jobs in (1, 2, 3):
        np.testing.assert_array_equal(copy_fitted(model, n_jobs=jobs).transform(X), whole)


def copy_fitted(model, **parameters):
    """A copy of a fitted model with changed parameters."""
    return pickle.loads(pickle.dumps(model)).set_params(**parameters)


@pytest.mark.parametrize("kind", ["umap", "tsne"])
def test_place_depends_on_its_own_row_only_after_an_approximate_search(kind):
    random = np.random.default_rng(0)
    centres = 5 * random.standard_normal((30, 40))
    X = (centres[random.integers(30, size=25_000)] + random.standard_normal((25_000, 40))).astype(np.float32)
    short = {"n_epochs": 5} if kind == "umap" else {"max_iter": 5}
    model = ESTIMATORS[kind](**short).fit(X[:24_000])
    whole = model.transform(X[24_000:])
    searched = model._training._search.query(X[:1], 3)
    assert searched.method == "cluster"  # the search that this test is about
    for jobs in (1, 3):
        model.set_params(n_jobs=jobs)
        np.testing.assert_array_equal(model.transform(X[24_000:24_300]), whole[:300])
    np.testing.assert_array_equal(model.transform(X[24_123:24_124])[0], whole[123])
    np.testing.assert_array_equal(model.transform(X[:2000]), model.embedding_[:2000])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_training_rows_get_their_places_and_the_map_is_not_modified(kind, digits):
    X, new, _, _ = digits
    model = fitted(kind)
    before = model.embedding_.copy()
    np.testing.assert_array_equal(model.transform(X), before)
    mixed = model.transform(np.concatenate([new[:5], X[:5], new[5:9]]))
    np.testing.assert_array_equal(mixed[5:10], before[:5])
    np.testing.assert_array_equal(model.embedding_, before)
    moved = model.transform(X[:3])
    moved[:] = 7  # must not write into the map
    np.testing.assert_array_equal(model.embedding_, before)


def test_duplicates_in_the_training_data_get_the_place_of_the_first(digits):
    X, _, _, _ = digits
    model = ESTIMATORS["umap"](n_epochs=20).fit(np.concatenate([X[:200], X[:10]]))
    assert not np.array_equal(model.embedding_[200:], model.embedding_[:10])
    np.testing.assert_array_equal(model.transform(X[:10]), model.embedding_[:10])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_new_rows_land_among_points_of_their_class(kind, digits):
    _, new, y, new_y = digits
    model = fitted(kind)
    near = KNeighborsClassifier(10).fit(model.embedding_, y)
    others = near.kneighbors(return_distance=False)  # excludes the point itself
    trained = np.mean([np.bincount(y[row]).argmax() for row in others] == y)
    placed = model.transform(new)
    assert near.score(placed, new_y) > trained - 0.015
    # about as far from the nearest training point as training points are from each other
    assert near.kneighbors(placed, 1)[0].mean() < 2 * near.kneighbors()[0][:, 0].mean()


def test_places_are_near_those_of_the_training(digits):
    """A training row that is not among its own neighbours lands near its place on the map."""
    X, _, _, _ = digits
    for kind in ESTIMATORS:
        model = fitted(kind)
        rows = row_recipe(model.recipe_)
        k = neighbors_needed(rows, len(X))
        found = NeighborIndex(X).query(X, k + 1)
        lists = replace(found, indices=found.indices[:, 1:], distances=found.distances[:, 1:])
        placed = load_backend("cpu").place_rows(
            lists, model.embedding_, rows, make_placement(model.recipe_, len(X), 42), 1
        )
        distances = np.sqrt(((placed - model.embedding_) ** 2).sum(axis=1))
        assert np.median(distances) < 0.05 * np.ptp(model.embedding_, axis=0).max()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_outliers_land_on_the_map(kind):
    model = fitted(kind)
    low, high = model.embedding_.min(axis=0), model.embedding_.max(axis=0)
    margin = 0.1 * (high - low)
    for outliers in (1e6 * np.ones((1, 64)), -1e6 * np.ones((1, 64)), 50 * np.eye(64)):
        placed = model.transform(outliers)
        assert np.isfinite(placed).all()
        assert (placed >= low - margin).all() and (placed <= high + margin).all()


# Metrics and input types

SKLEARN_METRICS = ("nan_euclidean",)
METRIC_NAMES = [*METRICS, *SKLEARN_METRICS]
NUMPY_METRICS = {name for name in METRICS if not METRICS[name].is_compiled}


def minkowski_1_5(x, y):
    return (np.abs(x - y) ** 1.5).sum() ** (1 / 1.5)


def rows_for(metric: str) -> np.ndarray:
    random = np.random.default_rng(1)
    columns = 2 if metric == "haversine" else 8
    rows = (
        random.gamma(1.5, size=(90, columns)) + 3 * (np.arange(90) % 3 == np.arange(columns)[:, None] % 3).T
    )
    if metric in ("haversine", "poincare"):
        return rows / 40
    if metric in ("hamming", "ll_dirichlet", "bit_hamming", "bit_jaccard"):
        return np.rint(2 * rows)
    if metric in METRICS and METRICS[metric].presence:
        return rows * (random.random(rows.shape) < 0.6)
    return rows


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_every_metric_places_new_and_training_rows(metric):
    X = rows_for(metric)
    model = UMAP(6, metric=metric, n_epochs=20, random_state=0).fit(X[:70])
    placed = model.transform(X[70:])
    assert np.isfinite(placed).all()
    np.testing.assert_array_equal(model.transform(X[75:76])[0], placed[5])
    if metric != "inner_product":  # under which the nearest row need not be the row itself
        _, first = np.unique(X[:70], axis=0, return_index=True)
        found = model.transform(X[:70])
        distance_to_map = KNeighborsClassifier(1).fit(model.embedding_, np.zeros(70)).kneighbors(found, 1)[0]
        assert (distance_to_map == 0).all()  # the place of a row at distance 0, equal or not
        telling = NUMPY_METRICS - {"spearmanr"}  # different rows may have the same ranks
        if metric in ("euclidean", "manhattan", "mahalanobis", *telling, *SKLEARN_METRICS):
            np.testing.assert_array_equal(found[first], model.embedding_[first])


def test_inner_product_with_new_rows_longer_than_all_training_rows():
    X = rows_for("inner_product")
    model = UMAP(6, metric="inner_product", n_epochs=20, random_state=0).fit(X[:70])
    assert np.isfinite(model.transform(100 * X[70:])).all()


def test_callable_metric_equals_named_metric_with_parameters():
    X = rows_for("euclidean")
    given = UMAP(6, metric=minkowski_1_5, n_epochs=20, random_state=0).fit(X[:70])
    named = UMAP(6, metric="minkowski", metric_kwds={"p": 1.5}, n_epochs=20, random_state=0).fit(X[:70])
    named.embedding_ = given.embedding_
    np.testing.assert_allclose(given.transform(X[70:]), named.transform(X[70:]), atol=1e-3)
    np.testing.assert_array_equal(given.transform(X[:9]), given.embedding_[:9])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
def test_every_dtype_of_rows(dtype):
    X = np.rint(9 * rows_for("euclidean")).astype(dtype)
    model = ESTIMATORS["gdr_umap"](n_neighbors=6, epochs=20).fit(X[:70])
    placed = model.transform(X[70:])
    np.testing.assert_array_equal(model.transform(X[70:].astype(np.float32)), placed)
    np.testing.assert_array_equal(model.transform(X[:70]), model.embedding_)


def test_sparse_new_rows():
    X = sparse.csr_matrix(rows_for("jaccard")).astype(np.float32)
    for metric in ("euclidean", "cosine", "jaccard"):
        model = UMAP(6, metric=metric, n_epochs=20, random_state=0).fit(X[:70])
        placed = model.transform(X[70:])
        np.testing.assert_array_equal(model.transform(X[72:73])[0], placed[2])
        np.testing.assert_array_equal(model.transform(X[70:].toarray()), placed)  # dense rows are converted


def test_precomputed_distances_from_new_rows_to_training_rows():
    X = rows_for("euclidean")
    D = pairwise_distances(X)
    model = UMAP(6, metric="precomputed", init="random", n_epochs=20, random_state=0).fit(D[:70, :70])
    placed = model.transform(D[70:, :70])
    from_rows = UMAP(6, n_epochs=20, random_state=0).fit(X[:70])
    from_rows.embedding_ = model.embedding_
    np.testing.assert_allclose(placed, from_rows.transform(X[70:]), atol=1e-3)
    np.testing.assert_array_equal(model.transform(D[:70, :70]), model.embedding_)
    nearest = np.where(np.sort(D[70:, :70])[:, [9]] >= D[70:, :70], D[70:, :70], 0)
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(nearest)), placed)
    with pytest.raises(ValueError, match="only 2 entries, but 5 are needed: store more"):
        model.transform(sparse.csr_matrix(np.where(np.arange(70) < 2, D[70:, :70], 0)))
    with pytest.raises(ValueError, match="at least 0"):
        model.transform(-D[70:, :70])


def test_transform_searches_the_training_rows_after_precomputed_knn():
    X = rows_for("euclidean")
    found = NeighborIndex(X[:70]).query(X[:70], 6)
    given = UMAP(6, precomputed_knn=(found.indices, found.distances), n_epochs=20, random_state=0).fit(X[:70])
    np.testing.assert_array_equal(given.transform(X[:70]), given.embedding_)
    assert np.isfinite(given.transform(X[70:])).all()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_placement_on_the_reference_and_cpu_backends(backend):
    X = rows_for("euclidean")
    model = ESTIMATORS["gdr_umap"](n_neighbors=6, epochs=10, backend=backend).fit(X[:70])
    placed = model.transform(X[70:])
    np.testing.assert_array_equal(model.transform(X[74:75])[0], placed[4])
    np.testing.assert_array_equal(model.transform(X[:70]), model.embedding_)


# Errors and scikit-learn conventions


@pytest.mark.parametrize("backend", ["reference", *FAST_BACKENDS])
@pytest.mark.parametrize("wrong", [-1, 30, 2**31 - 1])
def test_ids_beyond_the_map_are_rejected(backend, wrong):
    neighbors, recipe = new_neighbors(30, 5), preset("umap")
    indices = neighbors.indices.copy()
    indices[3, 2] = wrong
    with pytest.raises(ValueError, match=r"neighbors has ids .* but the map has points 0 to 29"):
        load_backend(backend).place_rows(
            replace(neighbors, indices=indices), start_of(30, 2), recipe, make_placement(recipe, 30, 0), 1
        )


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_unfitted_models_and_invalid_rows_are_rejected(kind, digits):
    _, new, _, _ = digits
    with pytest.raises(NotFittedError):
        ESTIMATORS[kind]().transform(new)
    model = fitted(kind)
    with pytest.raises(ValueError, match=r"X has 63 features, but .* is expecting 64"):
        model.transform(new[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        model.transform(np.where(new > 15, np.nan, new))
    with pytest.raises(ValueError, match="one dimension"):
        model.transform(new[0])


@pytest.mark.parametrize("seed", [-1, 1.5, None, True, "42"])
def test_invalid_transform_seed_is_rejected(seed, digits):
    model = copy_fitted(fitted("umap"), transform_seed=seed)
    with pytest.raises(ValueError, match=r"^transform_seed="):
        model.transform(digits[1])


def test_transform_seed_has_the_default_of_umap_learn_and_matters(digits):
    assert inspect.signature(UMAP).parameters["transform_seed"].default == 42
    model, new = fitted("umap"), digits[1]
    other = copy_fitted(model, transform_seed=1).transform(new)
    assert np.abs(other - model.transform(new)).max() > 0


def test_pickling_pipelines_data_frames_and_clones(digits):
    pandas = pytest.importorskip("pandas")
    X, new, _, _ = digits
    model = make_pipeline(StandardScaler(), ESTIMATORS["tsne"](max_iter=20)).fit(X)
    placed = model.transform(new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), placed)
    assert pickle.loads(pickle.dumps(model[-1]))._training._search is None
    frame = model[-1].set_output(transform="pandas").transform(model[0].transform(new))
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["tsne0", "tsne1"]
    np.testing.assert_array_equal(frame.to_numpy(), placed)
    with pytest.raises(NotFittedError):
        clone(model).transform(new)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_new_rows_on_a_map_of_one_point(kind):
    model = ESTIMATORS[kind]().fit(np.ones((1, 3)))
    placed = model.transform(np.arange(6.0).reshape(2, 3))
    np.testing.assert_allclose(placed, np.zeros((2, 2)), atol=1e-5)


def test_fit_neither_copies_the_rows_nor_builds_an_index(digits):
    X = np.ascontiguousarray(digits[0], np.float32)
    model = ESTIMATORS["gdr_umap"](epochs=2).fit(X)
    assert np.shares_memory(model._training.rows, X) and model._training._search is None
    model.fit(X[:100])
    assert len(model._training) == 100


# The training data themselves


def rows_that_tie(kind: str) -> tuple[object, dict[str, object]]:
    """Rows of which several are at distance 0 from each other, and the metric."""
    X = load_digits().data[:200]
    match kind:
        case "duplicates":
            return np.concatenate([X, X]), {}
        case "sparse":
            return sparse.csr_matrix(np.concatenate([X, X])), {}
        case "cosine":
            return np.concatenate([X, 2 * X]), {"metric": "cosine"}
        case "jaccard":
            return X > 8, {"metric": "jaccard"}
        case "gower":
            rng = np.random.default_rng(0)
            gaps = rng.random((200, 4)) < [0, 0.4, 0.4, 0.4]
            return np.where(gaps, np.nan, X[:, 20:24] > 8), {"metric": "gower"}
        case "precomputed":
            return pairwise_distances(np.concatenate([X, X])), {"metric": "precomputed"}
    raise AssertionError(kind)


TIES = ("duplicates", "sparse", "cosine", "jaccard", "gower", "precomputed")


@pytest.mark.filterwarnings("ignore:A few of your vertices")
@pytest.mark.filterwarnings("ignore:A large number of your vertices")
@pytest.mark.parametrize("kind", TIES)
def test_training_data_get_the_map_although_rows_tie(kind):
    X, parameters = rows_that_tie(kind)
    model = UMAP(random_state=0, n_epochs=20, **parameters).fit(X)
    places = model.transform(X)
    np.testing.assert_array_equal(places, model.embedding_)
    assert not np.shares_memory(places, model.embedding_)


@pytest.mark.filterwarnings("ignore:A few of your vertices")
@pytest.mark.filterwarnings("ignore:A large number of your vertices")
@pytest.mark.parametrize("kind", TIES[:-1])
def test_rows_of_the_training_data_lie_on_their_own_points(kind):
    """Alone too; of equal rows, on the point of the first one."""
    X, parameters = rows_that_tie(kind)
    model = UMAP(random_state=0, n_epochs=20, **parameters).fit(X)
    dense = np.nan_to_num(np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64), nan=-1)
    _, first, inverse = np.unique(dense, axis=0, return_index=True, return_inverse=True)
    own = first[inverse.ravel()]
    np.testing.assert_array_equal(model.transform(X[5:]), model.embedding_[own[5:]])
    np.testing.assert_array_equal(model.transform(X[7:8]), model.embedding_[own[7:8]])


def test_training_distances_without_a_diagonal_are_new_rows():
    X = load_digits().data[:100]
    distances = NeighborIndex(X).query(X, 30)
    offsets = np.arange(0, 100 * 30 + 1, 30)
    graph = sparse.csr_matrix((distances.distances.ravel(), distances.indices.ravel(), offsets), (100, 100))
    model = UMAP(random_state=0, n_epochs=20, metric="precomputed").fit(graph)
    np.testing.assert_array_equal(model.transform(graph), model.embedding_)
    without = graph - sparse.diags(graph.diagonal())
    without.eliminate_zeros()
    assert not np.array_equal(model.transform(without.tocsr()), model.embedding_)
