"""Layouts restored from a saved state go on with the same bits; states of other layouts are rejected."""

from __future__ import annotations

import io

import numpy as np
import pytest

from actup.backends import PointInputs, backends, cuda_is_available, load_backend
from actup.estimators._convergence import WatchedLayout
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Repulsion
from variations import (
    FAST_BACKENDS,
    force_combinations,
    graph_of,
    short_presets,
    single_switch_variations,
    start_of,
    tails_and_partitions,
)

N = 101  # not a multiple of the 16 points of a block
PRESETS = short_presets()
RECIPES = PRESETS | single_switch_variations() | force_combinations() | tails_and_partitions()
METRICS = ("chebyshev", "haversine", "gaussian_energy")


def make(backend: str, recipe: Recipe, n=N, seed=7, points=None, start=None, threads=2):
    start = start_of(n, recipe.n_components) if start is None else start
    return load_backend(backend).make_layout(graph_of(n, recipe), start, recipe, seed, threads, points)


def through_file(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The state as it comes back from a file."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def assert_goes_on(backend: str, recipe: Recipe, at: int, until: int, **inputs) -> None:
    """A new layout with the state at an epoch ends where one ends that was never saved."""
    whole = make(backend, recipe, **inputs)
    whole.run(until)
    first = make(backend, recipe, **inputs)
    first.run(at)
    state = through_file(first.state())
    second = make(backend, recipe, **{**inputs, "threads": 1})
    second.restore(state)
    assert second.epoch == min(at, second.n_epochs)
    np.testing.assert_array_equal(second.embedding(), first.embedding())
    first.run(until)  # saving changes nothing
    second.run(until)
    for layout in (first, second):
        np.testing.assert_array_equal(layout.embedding().view(np.uint32), whole.embedding().view(np.uint32))
    assert whole.epoch > at


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", RECIPES)
def test_goes_on_with_the_same_bits(backend, name):
    assert_goes_on(backend, RECIPES[name], 4, 9)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("at", [0, 1, 7, 11])
@pytest.mark.parametrize("name", PRESETS)
def test_at_any_epoch_with_many_points(backend, name, at):
    recipe = PRESETS[name].but(n_neighbors=15, perplexity=min(PRESETS[name].perplexity, 8.0))
    assert_goes_on(backend, recipe, at, 12, n=3001)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("epoch", [3, 14, 30])
def test_mesh_that_grows_with_the_map(backend, dimensions, epoch):
    """The grid is kept from epoch to epoch while it suits the points, so that it depends on earlier maps."""
    recipe = PRESETS["tsne"].but(repulsion="mesh", epochs=60, n_components=dimensions, perplexity=8.0)
    start = 1e-3 * start_of(600, dimensions)
    assert_goes_on(backend, recipe, epoch, 60, n=600, start=start)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_mesh_that_was_replaced_by_the_tree(backend):
    """Outliers make the mesh too coarse; the state says so."""
    recipe = PRESETS["umap"].but(repulsion="mesh", mesh_spacing=0.01)
    start = start_of(N, 2).copy()
    start[0] = 1e4
    assert_goes_on(backend, recipe, 4, 9, start=start)


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")
def test_points_that_were_reordered_on_the_gpu():
    recipe = PRESETS["tsne"].but(epochs=70, perplexity=8.0)
    for epoch in (15, 16, 20, 50):
        assert_goes_on("cuda", recipe, epoch, 70, n=21_000)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", ["umap", "sampled_umap"])
def test_horizon_and_pinned_points(backend, name):
    mobility = np.tile(np.float32([0, 0.5, 1]), N)[:N]
    recipe = PRESETS[name]
    recipe = recipe.but(horizon=1.0) if recipe.horizon is not None else recipe
    assert_goes_on(backend, recipe, 4, 9, points=PointInputs(mobility=mobility))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_density(backend):
    recipe = PRESETS["umap"].but(density_weight=2.0, density_share=1.0)
    radii = PointInputs(log_radii=np.random.default_rng(0).normal(size=N).astype(np.float32))
    assert_goes_on(backend, recipe, 4, 9, points=radii)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("metric", METRICS)
def test_output_metrics(backend, metric):
    dimensions = 5 if metric == "gaussian_energy" else 2
    recipe = PRESETS["sampled_umap"].but(output_metric=metric, n_components=dimensions, horizon=None)
    assert_goes_on(backend, recipe, 2, 5, n=40)


def euclidean(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    distance = float(np.sqrt(((x - y) ** 2).sum()))
    return distance, (x - y) / (1e-6 + distance)


def test_functions_as_output_metric():
    recipe = PRESETS["sampled_umap"].but(output_metric=euclidean, horizon=None)
    assert_goes_on("cpu", recipe, 2, 5, n=40)


@pytest.mark.parametrize("backend", backends())
def test_steering_is_part_of_the_state(backend):
    recipe = PRESETS["umap"]
    first, second = make(backend, recipe), make(backend, recipe)
    first.run(3)
    first.steer(1.5, 0.5)
    second.restore(first.state())
    for layout in (first, second):
        layout.run(8)
    np.testing.assert_array_equal(second.embedding(), first.embedding())


def test_what_a_watched_descent_has_measured_is_part_of_the_state():
    recipe = PRESETS["tsne"].but(epochs=40, perplexity=8.0)

    def watched():
        return WatchedLayout(
            make("cpu", recipe),
            graph_of(N, recipe),
            recipe,
            min_gradient_norm=0,
            patience=3,
            every=2,
            log=False,
            threads=2,
        )

    first, second, whole = watched(), watched(), watched()
    whole.run(40)
    first.run(16)
    second.restore(through_file(first.state()))
    second.run(40)
    assert second.epoch == whole.epoch
    np.testing.assert_array_equal(second.embedding(), whole.embedding())
    with pytest.raises(ValueError, match="'convergence'"):
        second.restore(make("cpu", recipe).state())


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("change", ["recipe", "seed", "points"])
def test_states_of_other_layouts_are_rejected(backend, change):
    recipe = PRESETS["umap"]
    other = {
        "recipe": make(backend, recipe.but(learning_rate=0.5)),
        "seed": make(backend, recipe, seed=8),
        "points": make(backend, recipe, n=N + 1),
    }[change]
    layout = make(backend, recipe)
    layout.run(2)
    before = layout.embedding()
    named = {"recipe": "learning_rate=0.5", "seed": "seed=8", "points": f"points={N + 1}"}[change]
    with pytest.raises(
        ValueError, match=f"state is of a layout with {named}, this one has .*restore it into"
    ):
        layout.restore(other.state())
    np.testing.assert_array_equal(layout.embedding(), before)


def test_states_of_other_backends_are_rejected():
    recipe = PRESETS["umap"]
    with pytest.raises(ValueError, match="kind=reference, this one has kind=cpu"):
        make("cpu", recipe).restore(make("reference", recipe).state())


def test_states_of_other_graphs_are_rejected():
    recipe = PRESETS["umap"].but(repulsion="exact")
    graph = graph_of(N, recipe)
    other = load_backend("cpu").make_layout(graph, start_of(N, 2)[::-1].copy(), recipe, 7, 1)
    with pytest.raises(ValueError, match="another graph or start"):
        make("cpu", recipe).restore(other.state())


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", ["layout", "epoch", "points"])
def test_incomplete_states_are_rejected(backend, name):
    layout = make(backend, PRESETS["tsne"])
    state = layout.state()
    del state[name]
    with pytest.raises(ValueError, match=f"state has no (entry )?'{name}'"):
        layout.restore(state)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("epoch", [-1.0, 2.5, 13.0, np.nan])
def test_damaged_states_are_rejected(backend, epoch):
    layout = make(backend, PRESETS["tsne"])
    state = layout.state()
    with pytest.raises(ValueError, match=r"state .*epoch"):
        layout.restore({**state, "epoch": np.array([epoch])})
    with pytest.raises(ValueError, match=r"state has .*points"):
        layout.restore({**state, "points": state["points"].ravel()[:-1]})


def test_damaged_meshes_are_rejected():
    layout = make("cpu", PRESETS["tsne"].but(repulsion="mesh"))
    layout.run(2)
    state = layout.state()
    rows = next(name for name in state if name.endswith(".rows"))
    for lines in (67.0, 1e9, -4.0):
        with pytest.raises(ValueError, match="it was damaged"):
            layout.restore({**state, rows: np.array([lines])})


def test_every_repulsion_is_covered():
    assert {recipe.repulsion_for(N) for recipe in RECIPES.values()} == set(Repulsion) - {Repulsion.AUTO}
