"""The compiled layout rejects settings, arrays and states that would lead it out of bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from actup._engine import engine
from actup.backends._cpu import layout_settings
from actup.graph._records import Graph
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from variations import graph_of, start_of

N = 50
SCHEDULED = ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor", "dilation")
RECIPES = {
    "mesh": preset("tsne").but(epochs=6, repulsion="mesh", perplexity=5.0),
    "tree": preset("tsne").but(epochs=6, repulsion="barnes_hut", perplexity=5.0),
    "in place": preset("sampled_umap").but(epochs=6, n_neighbors=5),
}
OTHER_METRIC = RECIPES["in place"].but(output_metric="haversine", horizon=None)


def arrays_of(recipe: Recipe) -> dict[str, np.ndarray]:
    graph = graph_of(N, recipe)
    return {
        "offsets": graph.offsets,
        "indices": graph.indices,
        "weights": graph.weights,
        "start": start_of(N, 2),
    }


def make(recipe: Recipe, settings=None, **changed):
    settings = settings or layout_settings(recipe, N, 0)
    arrays = arrays_of(recipe) | changed
    if recipe.output_metric == "haversine":
        return engine.make_metric_layout(
            **arrays, metric=engine.OutputMetric.haversine, parameter=2.0, settings=settings, threads=2
        )
    return engine.Layout(**arrays, settings=settings, threads=2)


def make_from_parts(recipe: Recipe, settings=None, start=None, **points):
    settings = settings or layout_settings(recipe, N, 0)
    graph = graph_of(N, recipe)
    parts = engine.LayoutParts(start_of(N, 2), settings, 2)
    for _ in range(3):
        parts.read(graph.offsets, graph.indices, graph.weights)
        parts.end_pass()
    return parts, parts.finish(start_of(N, 2) if start is None else start, **points)


def layouts():
    """Every way to make a layout, with a recipe of it."""
    yield make, RECIPES["mesh"]
    yield make, RECIPES["in place"]
    yield make, OTHER_METRIC
    yield make_from_parts, RECIPES["mesh"]


@pytest.mark.parametrize("change", [lambda values: values[:-1], lambda values: [], lambda values: values * 2])
@pytest.mark.parametrize("name", SCHEDULED)
def test_schedules_of_another_length_are_rejected(name, change):
    for made, recipe in layouts():
        settings = layout_settings(recipe, N, 0)
        setattr(settings.schedule, name, change(getattr(settings.schedule, name)))
        with pytest.raises(ValueError, match=rf"schedule has \d+ values of {name}.* one for each of the 6"):
            made(recipe, settings)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", SCHEDULED)
def test_schedules_that_are_not_finite_are_rejected(name, value):
    for made, recipe in layouts():
        settings = layout_settings(recipe, N, 0)
        setattr(settings.schedule, name, [*getattr(settings.schedule, name)[:-1], value])
        with pytest.raises(ValueError, match=f"schedule has a value of {name} that is infinite or NaN"):
            made(recipe, settings)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_epochs": -1}, "n_epochs"),
        ({"n_epochs": 7}, "one for each of the 7 epochs"),
        ({"negatives": 0}, "negatives"),
        ({"curve": engine.Curve(1.0, 1.0, 0.5), "normalized": False}, "dof"),
        ({"mesh_spacing": 0.0}, "mesh_spacing"),
        ({"mesh_spacing": 1e-40}, "mesh_spacing"),
        ({"mesh_spacing": math.nan}, "mesh_spacing"),
        ({"mesh_spacing": math.inf}, "mesh_spacing"),
    ],
)
def test_settings_that_no_layout_can_follow_are_rejected(changed, message):
    settings = layout_settings(RECIPES["mesh"], N, 0)
    for name, value in changed.items():
        setattr(settings, name, value)
    for made in (make, make_from_parts):
        with pytest.raises(ValueError, match=message):
            made(RECIPES["mesh"], settings)


def test_tails_in_place_are_rejected():
    settings = layout_settings(RECIPES["in place"], N, 0)
    settings.curve = engine.Curve(1.0, 1.0, 0.5)
    with pytest.raises(ValueError, match="dof"):
        make(RECIPES["in place"], settings)


@pytest.mark.parametrize(
    ("recipe", "dimensions"),
    [(RECIPES["mesh"], 3), (RECIPES["tree"], 4), (RECIPES["in place"], 0), (OTHER_METRIC, 3)],
    ids=["mesh", "tree", "in place", "output metric"],
)
def test_numbers_of_dimensions_that_no_layout_serves_are_rejected(recipe, dimensions):
    with pytest.raises(ValueError, match="dimension"):
        make(recipe, start=np.zeros((N, dimensions), np.float32))


GRAPHS = {
    "no offsets": (lambda graph: (graph.offsets[:0], graph.indices, graph.weights), "needs offsets"),
    "fewer weights": (lambda graph: (graph.offsets, graph.indices, graph.weights[1:]), "id for every weight"),
    "offsets descend": (lambda graph: (graph.offsets[::-1].copy(), graph.indices, graph.weights), "ascend"),
    "offsets from 1": (lambda graph: (graph.offsets + 1, graph.indices, graph.weights), "ascend from 0"),
    "too few edges": (lambda graph: (graph.offsets[:-1], graph.indices, graph.weights), "number of edges"),
    "ids too large": (lambda graph: (graph.offsets, graph.indices + N, graph.weights), "from 0 to n - 1"),
    "ids below 0": (lambda graph: (graph.offsets, graph.indices - N, graph.weights), "from 0 to n - 1"),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("recipe", [RECIPES["mesh"], RECIPES["in place"], OTHER_METRIC])
def test_graphs_that_lead_out_of_bounds_are_rejected(recipe, name):
    change, message = GRAPHS[name]
    offsets, indices, weights = change(graph_of(N, recipe))
    with pytest.raises(ValueError, match=message):
        make(recipe, offsets=offsets, indices=indices, weights=weights)


@pytest.mark.parametrize("shape", [(N - 1, 2), (N + 1, 2), (N, 1), (N, 3)])
def test_places_of_another_shape_are_rejected(shape):
    places = np.zeros(shape, np.float32)
    recipe = RECIPES["mesh"]
    if len(places) != N:
        for other in (recipe, RECIPES["in place"], OTHER_METRIC):
            with pytest.raises(ValueError, match="start must have 50 rows"):
                make(other, start=places)
    with pytest.raises(ValueError, match="start must have 50 rows and 2 columns"):
        make_from_parts(recipe, start=places)
    with pytest.raises(ValueError, match="places must have 50 rows and 2 columns"):
        make(recipe).replace_points(places)


@pytest.mark.parametrize("name", ["mobility", "log_radii"])
def test_numbers_of_other_points_are_rejected(name):
    for made in (make, make_from_parts):
        with pytest.raises(ValueError, match="one number for each point"):
            made(RECIPES["mesh"], **{name: np.ones(N - 1, np.float32)})


def test_parts_are_finished_once():
    parts, _ = make_from_parts(RECIPES["mesh"])
    with pytest.raises(ValueError, match="must have 0 rows"):
        parts.finish(start_of(N, 2))
    with pytest.raises(ValueError, match="three passes"):
        parts.finish(np.zeros((0, 2), np.float32))


def test_graphs_without_points_have_a_layout():
    settings = layout_settings(RECIPES["mesh"], N, 0)
    nothing = Graph([0], [], [])
    layout = engine.Layout(
        nothing.offsets, nothing.indices, nothing.weights, np.zeros((0, 2), np.float32), settings, 1
    )
    layout.run(6)
    assert layout.embedding().shape == (0, 2)


@pytest.mark.parametrize("recipe", [*RECIPES.values(), OTHER_METRIC])
def test_states_with_arrays_of_another_length_or_type_are_rejected(recipe):
    layout = make(recipe)
    layout.run(3)
    state = layout.state()
    before = layout.embedding()
    for name, array in state.items():
        for changed in (
            array[:-1],
            np.append(array, array[:1]),
            array[:0],
            array.astype(np.int8),
            array[None],
        ):
            with pytest.raises(ValueError, match=f"'{name}'"):
                layout.restore({**state, name: changed})
        with pytest.raises(ValueError, match=f"state has no '{name}'"):
            layout.restore({other: values for other, values in state.items() if other != name})
    assert np.array_equal(layout.embedding(), before)


@pytest.mark.parametrize("share", [0.84, 0.9, 0.99])
def test_mesh_goes_on_from_a_grid_of_any_spacing(share):
    """A state may hold a spacing that no mesh chooses, of which the largest mesh has too few lines."""
    recipe = RECIPES["mesh"]
    settings = layout_settings(recipe, N, 0)
    layout = make(recipe, settings)
    layout.run(2)
    state = layout.state()
    widest = settings.mesh_spacing * (1024 - 6.5)
    points = np.linspace(0, 1, 2 * N).reshape(N, 2) * widest
    state["points"] = points.ravel().astype(np.float32)
    for name in [name for name in state if name.endswith((".rows", ".columns"))]:
        state[name] = np.array([1024.0])
    for name in [name for name in state if name.endswith(".spacing")]:
        state[name] = np.array([share * settings.mesh_spacing])
    layout.restore(state)
    layout.run(4)
    assert np.isfinite(layout.embedding()).all()
