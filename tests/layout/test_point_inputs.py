"""Pinned points and replaced points: equal to the oracle, exact to the bit, independent of threads."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import backends, load_backend
from actup.backends._base import PointInputs
from actup.recipe._presets import presets
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer, Repulsion
from variations import FAST_BACKENDS, graph_of, limit_travel, short_presets, start_of

N = 101  # not a multiple of the 16 points of a block
PRESETS = short_presets()
WITH_MESH = PRESETS | {"mesh": PRESETS["umap"].but(repulsion="mesh")}


def mobility_of(n: int) -> np.ndarray:
    """A third of the points pinned, a third free, the others between: (n,) float32."""
    return np.float32(np.clip(np.random.default_rng(n).uniform(-1, 2, n), 0, 1))


def map_of(backend, graph, start, recipe, mobility, epochs=12, threads=1) -> np.ndarray:
    points = PointInputs(mobility=mobility)
    layout = load_backend(backend).make_layout(graph, start, recipe, 7, threads, points)
    layout.run(epochs)
    return layout.embedding()


def assert_equal_to_oracle(found: np.ndarray, wanted: np.ndarray, recipe: Recipe):
    tolerance = 1e-4 if recipe.optimizer is Optimizer.GAINS else 2e-5
    if recipe.repulsion_for(len(wanted)) in (Repulsion.MESH, Repulsion.BARNES_HUT):
        tolerance = 1e-3
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.ptp(wanted, axis=0).max())


def bits(Y: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(Y).view(np.uint32)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [2, 5])
@pytest.mark.parametrize("name", WITH_MESH)
def test_mobility_equals_the_oracle(backend, name, dimensions):
    if WITH_MESH[name].repulsion is Repulsion.MESH and dimensions > 2:
        pytest.skip("there is no mesh in more than two dimensions")
    recipe = limit_travel(WITH_MESH[name].but(n_components=dimensions), N)
    graph, start, mobility = graph_of(N, recipe), start_of(N, dimensions), mobility_of(N)
    wanted = map_of("reference", graph, start, recipe, mobility, 10)
    assert_equal_to_oracle(map_of(backend, graph, start, recipe, mobility, 10), wanted, recipe)
    assert np.abs(wanted - map_of("reference", graph, start, recipe, None, 10)).max() > 1e-3


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize("name", presets())
def test_pinned_points_keep_their_bits_over_a_whole_run(backend, name, dimensions):
    recipe = PRESETS.get(name, PRESETS["umap"]).but(n_components=dimensions, epochs=30)
    n = 513  # enough for the mesh of unnormalised maps
    graph, start, mobility = graph_of(n, recipe), start_of(n, dimensions), mobility_of(n)
    start[mobility == 0] += np.float32(5)  # far from the mean of the map, so that centring would show
    start[np.flatnonzero(mobility == 0)[:3]] = -0.0
    Y = map_of(backend, graph, start, recipe, mobility, 30, threads=2)
    pinned = mobility == 0
    np.testing.assert_array_equal(bits(Y[pinned]), bits(start[pinned]))
    assert np.isfinite(Y).all()
    assert (np.abs(Y - start)[mobility > 0].max(axis=1) > 0).all()
    np.testing.assert_array_equal(Y, map_of(backend, graph, start, recipe, mobility, 30, threads=1))


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", ["sampled_umap", "accelerated_umap"])
def test_pinned_ends_of_overflowing_edges_keep_their_bits(backend, name):
    n, recipe = 301, PRESETS[name]
    W = np.zeros((n, n))
    W[0, 1:] = W[1:, 0] = np.linspace(0.3, 1, n - 1)  # a hub of more edges than there are colours
    graph, start = type(graph_of(n, recipe)).from_scipy(W), start_of(n, 2)
    for pinned in (0, slice(1, n, 2)):
        mobility = np.ones(n, np.float32)
        mobility[pinned] = 0
        Y = map_of(backend, graph, start, recipe, mobility)
        np.testing.assert_array_equal(bits(Y[pinned]), bits(start[pinned]))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_mobility_of_one_changes_no_bit(backend, name):
    recipe = PRESETS[name]
    graph, start = graph_of(N, recipe), start_of(N, 2)
    everywhere = map_of(backend, graph, start, recipe, np.ones(N, np.float32))
    np.testing.assert_array_equal(everywhere, map_of(backend, graph, start, recipe, None))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", ["umap", "sampled_umap"])
def test_all_points_pinned_stay(backend, name):
    recipe = PRESETS[name]
    start = start_of(N, 2)
    Y = map_of(backend, graph_of(N, recipe), start, recipe, np.zeros(N, np.float32))
    np.testing.assert_array_equal(bits(Y), bits(start))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(
    ("points", "message"),
    [
        (PointInputs(mobility=np.ones(3)), "mobility has shape"),
        (PointInputs(mobility=np.full(N, 1.5)), "from 0 .pinned. to 1"),
        (PointInputs(mobility=np.full(N, -0.1)), "from 0 .pinned. to 1"),
        (PointInputs(mobility=np.full(N, np.nan)), "mobility has NaN"),
        (PointInputs(log_radii=np.ones((N, 1))), "log_radii has shape"),
        (PointInputs(log_radii=np.full(N, np.inf)), "log_radii has NaN"),
    ],
)
def test_unusable_inputs_are_rejected(backend, points, message):
    recipe = PRESETS["umap"]
    with pytest.raises(ValueError, match=message):
        load_backend(backend).make_layout(graph_of(N, recipe), start_of(N, 2), recipe, 0, 1, points)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", PRESETS)
def test_replacing_points_by_themselves_changes_no_bit(backend, name):
    recipe = PRESETS[name]
    if backend == "reference":  # its points are float64, of which an embedding keeps float32
        recipe = recipe.but(learning_rate=2.0**-30 * recipe.learning_rate)
    graph, start = graph_of(N, recipe), start_of(N, 2)
    once, replaced = (load_backend(backend).make_layout(graph, start, recipe, 7, 1) for _ in range(2))
    once.run(8)
    replaced.run(4)
    replaced.replace_points(replaced.embedding())
    assert replaced.epoch == 4
    replaced.run(8)
    if backend == "reference":
        np.testing.assert_allclose(replaced.embedding(), once.embedding(), atol=1e-5)
    else:
        np.testing.assert_array_equal(replaced.embedding(), once.embedding())


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("name", WITH_MESH)
def test_a_run_goes_on_from_replaced_points_as_the_oracle_does(backend, name):
    recipe = limit_travel(WITH_MESH[name], N)
    graph, start = graph_of(N, recipe), start_of(N, 2)
    elsewhere = 2 * np.roll(start, 1, axis=1) + np.float32(3)  # the map is wider, and the mesh has to grow
    maps = []
    for computed_by in (backend, "reference", backend):
        layout = load_backend(computed_by).make_layout(graph, start, recipe, 7, 1)
        layout.run(4)
        layout.replace_points(elsewhere)
        np.testing.assert_array_equal(layout.embedding(), elsewhere)
        layout.run(10)
        assert layout.epoch == 10
        maps.append(layout.embedding())
    found, wanted, again = maps
    assert_equal_to_oracle(found, wanted, recipe)
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("backend", backends())
def test_unusable_places_are_rejected_and_the_callers_array_stays(backend):
    recipe = PRESETS["umap"]
    start = start_of(N, 2)
    layout = load_backend(backend).make_layout(graph_of(N, recipe), start, recipe, 7, 1)
    layout.run(1)
    before = layout.embedding()
    for places, message in ((start[:-1], "Y has shape"), (start[:, :1], "Y has shape")):
        with pytest.raises(ValueError, match=message):
            layout.replace_points(places)
    with pytest.raises(ValueError, match="NaN or infinite"):
        layout.replace_points(np.full_like(start, np.nan))
    np.testing.assert_array_equal(layout.embedding(), before)
    places = start.astype(np.float64)
    layout.replace_points(places)
    layout.run(3)
    np.testing.assert_array_equal(places, start)
