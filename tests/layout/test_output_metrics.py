"""Output metrics: true distances and gradients, layouts equal to the oracle, the same at any thread count."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics.pairwise import haversine_distances

from actup._engine import engine
from actup._pipeline import embed
from actup.backends import load_backend
from actup.backends._metric_layout import output_distances
from actup.backends._reference.output_metrics import INTERNAL, REFERENCE_DISTANCES
from actup.estimators._gdr import GDR
from actup.quality import trustworthiness
from actup.recipe._output_metrics import OUTPUT_METRICS
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.transform._inverse import rows_of_places
from actup.transform._new_rows import TrainingRows, place_new_rows

METRICS = [name for name in OUTPUT_METRICS if name != "euclidean"]


def dimensions_of(metric: str) -> int:
    return OUTPUT_METRICS[metric].dimensions or 3


def recipe_for(metric: str, **changes) -> Recipe:
    kwds = {"p": 3.0} if metric == "minkowski" else {}
    return preset("sampled_umap").but(
        horizon=None,
        n_components=dimensions_of(metric),
        output_metric=metric,
        output_metric_kwds=kwds,
        **changes,
    )


def points(metric: str, n: int, seed: int = 0) -> np.ndarray:
    """Random points in internal coordinates."""
    Y = np.random.default_rng(seed).uniform(0.3, 2.5, (n, dimensions_of(metric))).astype(np.float32)
    return engine.output_coordinates(engine.OutputMetric[metric], Y)


def distances(metric: str, x: np.ndarray, y: np.ndarray, p: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    return engine.output_distances(engine.OutputMetric[metric], p, x, y)


def test_the_engine_has_the_metrics_of_the_table():
    assert [member.name for member in engine.OutputMetric] == METRICS


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_the_oracle(metric):
    x, y = points(metric, 200), points(metric, 200, seed=1)
    expected = [REFERENCE_DISTANCES[metric](u, v, 3.0) for u, v in zip(x, y, strict=True)]
    np.testing.assert_allclose(distances(metric, x, y)[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "metric", ["manhattan", "chebyshev", "cosine", "correlation", "canberra", "braycurtis"]
)
def test_distances_are_those_of_scipy(metric):
    name = {"manhattan": "cityblock"}.get(metric, metric)
    A, B = np.float32(points(metric, 30)), np.float32(points(metric, 40, seed=1))
    found = output_distances(A, B, recipe_for(metric))
    np.testing.assert_allclose(found, cdist(A, B, name), rtol=1e-6, atol=1e-9)


def test_haversine_columns_are_polar_angle_and_longitude():
    Y = np.random.default_rng(0).uniform(0.1, 3, (50, 2)).astype(np.float32)
    latitudes = np.column_stack([np.pi / 2 - Y[:, 0], Y[:, 1]])
    found = output_distances(Y, Y, recipe_for("haversine"))
    np.testing.assert_allclose(found, haversine_distances(latitudes), atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_gradients_are_those_of_finite_differences(metric):
    x, y = points(metric, 100), points(metric, 100, seed=1)
    _, gradients = distances(metric, x, y)
    step = 1e-6
    for c in range(x.shape[1]):
        shift = np.zeros(x.shape[1])
        shift[c] = step
        ahead, behind = (INTERNAL[metric](x + sign * shift) for sign in (1, -1))
        change = (distances(metric, ahead, y)[0] - distances(metric, behind, y)[0]) / (2 * step)
        np.testing.assert_allclose(gradients[:, c], change, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_a_point_exerts_no_force_on_itself(metric):
    x = points(metric, 20)
    found, gradients = distances(metric, x, x.copy())
    assert np.isfinite(found).all() and np.isfinite(gradients).all()


@cache
def digits_graph(n: int = 40):
    X = load_digits().data[:n]
    recipe = preset("sampled_umap")
    cpu = load_backend("cpu")
    return cpu.affinity_graph(cpu.nearest_neighbors(X.astype(np.float32), 14, "euclidean", 1), recipe, 1)


def run(backend: str, recipe: Recipe, epochs: int, threads: int = 1) -> np.ndarray:
    graph = digits_graph()
    start = np.random.default_rng(3).uniform(0.5, 2.5, (len(graph), recipe.n_components)).astype(np.float32)
    layout = load_backend(backend).make_layout(graph, start, recipe, 5, threads)
    layout.run(epochs)
    assert layout.epoch == epochs
    return layout.embedding()


@pytest.mark.parametrize("metric", METRICS)
def test_layout_equals_the_oracle(metric):
    recipe = recipe_for(metric, epochs=20, negatives=5, learning_rate=0.05)
    for epochs in (1, 3):
        found, expected = run("cpu", recipe, epochs), run("reference", recipe, epochs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
    assert np.abs(found - run("cpu", recipe, 0)).max() > 0.005


@pytest.mark.parametrize("sampling", ["exhaustive", "accelerated", "unbiased"])
def test_layout_equals_the_oracle_in_every_sampling(sampling):
    changes = {"sampling": sampling, "learning_rate": 0.05, "repulsion_mass": "degree"}
    recipe = recipe_for("hyperboloid", epochs=20, **changes)
    np.testing.assert_allclose(run("cpu", recipe, 4), run("reference", recipe, 4), rtol=0, atol=2e-4)


@pytest.mark.parametrize("metric", ["haversine", "gaussian_energy", "cosine"])
def test_threads_and_interruptions_change_no_bit(metric):
    recipe = recipe_for(metric, epochs=15)
    expected = run("cpu", recipe, 15)
    np.testing.assert_array_equal(run("cpu", recipe, 15, threads=3), expected)
    layout = load_backend("cpu").make_layout(digits_graph(), run("cpu", recipe, 0), recipe, 5, 2)
    for until in (4, 9, 15):
        layout.run(until)
    if metric != "haversine":  # whose start is rounded once more
        np.testing.assert_array_equal(layout.embedding(), expected)


@pytest.mark.parametrize("metric", METRICS)
def test_maps_are_finite_and_lower_the_loss(metric):
    X = load_iris().data
    result = embed(X, recipe_for(metric, epochs=60), seed=1, threads=2)
    assert result.embedding.shape == (150, dimensions_of(metric))
    assert np.isfinite(result.embedding).all()
    first = embed(X, recipe_for(metric, epochs=0), seed=1).layout.loss()
    last = result.layout.loss()
    assert np.isfinite(last) and last < first


def test_a_map_on_the_sphere_keeps_neighbours():
    X = load_digits().data[:600]
    Y = embed(X, recipe_for("haversine", epochs=100), seed=1, threads=2).embedding
    assert (Y[:, 0] >= 0).all() and (Y[:, 0] <= np.float32(np.pi)).all()
    assert np.abs(Y[:, 1]).max() <= np.float32(np.pi)
    polar, longitude = Y.T.astype(np.float64)
    sphere = np.column_stack(
        [np.sin(polar) * np.cos(longitude), np.sin(polar) * np.sin(longitude), np.cos(polar)]
    )
    assert trustworthiness(X, sphere, 10) > 0.95
    assert np.linalg.norm(sphere.mean(axis=0)) < 0.5  # all around


def test_new_rows_land_among_their_class_and_alone_as_in_a_batch():
    X, y = load_digits(return_X_y=True)
    recipe = recipe_for("haversine", epochs=100)
    map_ = embed(X[:600], recipe, seed=0).embedding
    training, cpu = TrainingRows(X[:600], recipe), load_backend("cpu")

    def place(rows, threads=2):
        return place_new_rows(training, rows, map_, recipe, 0, threads, cpu)

    places = place(X[600:800])
    nearest = output_distances(places, map_, recipe).argmin(axis=1)
    assert (y[nearest] == y[600:800]).mean() > 0.85
    np.testing.assert_array_equal(place(X[605:606])[0], places[5])
    np.testing.assert_array_equal(place(X[600:800], threads=1), places)
    np.testing.assert_array_equal(place(X[:5]), map_[:5])


@pytest.mark.parametrize("metric", METRICS)
def test_new_rows_and_rows_of_places_are_finite_under_every_metric(metric):
    X = load_iris().data
    recipe = recipe_for(metric, epochs=20)
    map_ = embed(X[:120], recipe, seed=1).embedding
    training = TrainingRows(X[:120], recipe)
    places = place_new_rows(training, X[120:], map_, recipe, 0, 1, load_backend("cpu"))
    assert places.shape == (30, dimensions_of(metric)) and np.isfinite(places).all()
    rows = rows_of_places(training, places, map_, recipe, 1)
    assert rows.shape == (30, 4) and np.isfinite(rows).all()


def test_rows_of_places_do_not_change_by_a_turn_around_the_sphere():
    X = load_digits().data[:300]
    recipe = recipe_for("haversine", epochs=30)
    map_ = embed(X, recipe, seed=1).embedding
    training, places = TrainingRows(X, recipe), map_[:40] + np.float32([0, 0.01])
    found = rows_of_places(training, places, map_, recipe, 1)
    turned = rows_of_places(training, places + np.float32([0, 2 * np.pi]), map_, recipe, 1)
    np.testing.assert_allclose(turned, found, atol=1e-2)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"output_metric": "haversin"}, ValueError, "'haversin' is not known: did you mean 'haversine'"),
        ({"output_metric": 7}, TypeError, "output_metric=7 must be one of .*, or a function"),
        ({"output_metric": "haversine", "n_components": 3}, ValueError, "needs n_components=2, not 3"),
        ({"output_metric": "gaussian_energy"}, ValueError, "needs n_components=5, not 2"),
        ({"output_metric": "correlation"}, ValueError, "n_components of at least 3, not 2"),
        ({"output_metric": "cosine", "horizon": 2.0}, ValueError, "set horizon=None"),
        ({"output_metric": "cosine", "non_edge_weight": "mean"}, ValueError, "non_edge_weight='one'"),
        ({"output_metric": "cosine", "loss": "frobenius"}, ValueError, "loss='kl'"),
        ({"output_metric": "cosine", "update": "batch"}, ValueError, r"preset\('paper_umap'\)"),
        ({"output_metric": "cosine", "output_metric_kwds": {"p": 2}}, ValueError, "has no parameters"),
        ({"output_metric": "minkowski", "output_metric_kwds": {"p": 0.5}}, ValueError, "at least 1"),
        ({"output_metric": "minkowski", "output_metric_kwds": {"p": "2"}}, TypeError, "must be a number"),
        ({"output_metric_kwds": 3}, TypeError, "output_metric_kwds=3 must be a dict"),
    ],
)
def test_rejects_what_cannot_be_laid_out(changes, error, message):
    with pytest.raises(error, match=message):
        preset("sampled_umap").but(**({"horizon": None} | changes))


def test_aliases():
    base = preset("sampled_umap").but(horizon=None)
    assert base.but(output_metric="l1").output_metric == "manhattan"
    assert base.but(output_metric="l2") == base


def test_gdr_takes_an_output_metric():
    X = load_iris().data
    model = GDR(preset="paper_umap", output_metric="haversine", epochs=20, random_state=0).fit(X)
    assert model.recipe_.output_metric == "haversine"
    assert model.transform(X[:3]).shape == (3, 2)
    assert model.inverse_transform(model.embedding_[:3]).shape == (3, 4)
