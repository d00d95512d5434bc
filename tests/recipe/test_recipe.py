"""Recipe: what it accepts, what it rejects, and that every field is checked."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from actup.recipe._kernel import fit_kernel
from actup.recipe._presets import preset, presets
from actup.recipe._recipe import Recipe, switches
from actup.recipe._schedule import Phase, Role
from actup.recipe._switches import Sampling
from variations import ENUMS, TYPES

SEQUENCES = {"phases", "perplexities"}
METRIC = {"metric", "metric_kwds", "output_metric", "output_metric_kwds"}
NUMBERS = [
    name for name in switches() if name not in {*ENUMS, *SEQUENCES, *METRIC} and TYPES[name] is not bool
]
BOOLEANS = [name for name in switches() if TYPES[name] is bool]
INTEGERS = [name for name in NUMBERS if TYPES[name] in (int, int | None)]
# Other switches that a switch needs.
COMPANIONS = {
    "a": {"b": 1.0},
    "b": {"a": 1.0},
    "dof": {"normalized": True},
    "partition": {"normalized": True},
    "horizon": {"update": "in_place", "momentum": 0},
}


def with_value(name, value) -> Recipe:
    return Recipe(**{name: value}, **COMPANIONS.get(name, {}))


def test_every_field_is_a_choice_a_boolean_or_a_number():
    assert all(TYPES[name] in (int, float, int | None, float | None) for name in NUMBERS)


@pytest.mark.parametrize("value", [None, 3, "fast", [1, 2], (Phase(Role.SETTLE, 5, 0.5), None)])
def test_phases_are_phases(value):
    with pytest.raises(TypeError, match=r"^phases=.* must be a sequence of Phase"):
        Recipe(phases=value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, TypeError, "perplexities=None must be a sequence"),
        (30, TypeError, "perplexities=30 must be a sequence"),
        (["5"], TypeError, "perplexities='5' must be a number"),
        ([np.nan], ValueError, "must be finite"),
        ([5, 0.5], ValueError, "must each be at least 1"),
    ],
)
def test_perplexities_are_numbers_from_1(value, error, message):
    with pytest.raises(error, match=message):
        Recipe(perplexities=value)


@pytest.mark.parametrize("value", [[5, 10], (5.0, 10.0), np.array([5, 10])])
def test_perplexities_become_a_value(value):
    recipe = preset("tsne").but(affinity="multiscale", perplexities=value)
    assert recipe.perplexities == recipe.scales() == (5.0, 10.0)
    assert recipe.neighbors_searched(1000) == 30
    assert hash(recipe)
    assert preset("tsne").but(perplexities=value).scales() == (30.0,)


def test_phases_in_a_list_become_a_value():
    phase = Phase(Role.SETTLE, 5, 0.5)
    assert hash(Recipe(phases=[phase])) == hash(Recipe(phases=(phase,)))
    with pytest.raises(ValueError, match="optimizer='stiffness' needs phases"):
        Recipe(optimizer="stiffness")


@pytest.mark.parametrize("name", ENUMS)
def test_strings_become_choices(name):
    for member in ENUMS[name]:
        for value in (member, str(member)):
            try:
                recipe = Recipe(**{name: value})
            except ValueError as caught:  # a contradiction with the defaults, which names this switch
                assert name in str(caught)
                continue
            assert getattr(recipe, name) is member


@pytest.mark.parametrize("name", ENUMS)
@pytest.mark.parametrize("value", ["nonsense", "", None, 3, [], True])
def test_unknown_choices_are_rejected_with_the_known_ones(name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} is not one of")) as caught:
        Recipe(**{name: value})
    assert all(repr(str(member)) in str(caught.value) for member in ENUMS[name])


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["5", [], True, False, np.True_, 1j, np.ones(2), np.array(1)])
def test_values_that_are_not_numbers_are_rejected(name, value):
    with pytest.raises(TypeError, match=re.escape(f"{name}={value!r} must be")):
        with_value(name, value)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float32("nan")])
def test_infinite_and_missing_numbers_are_rejected(name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} must be finite")):
        with_value(name, value)


@pytest.mark.parametrize("name", NUMBERS)
def test_negative_numbers_are_rejected_with_the_bound(name):
    with pytest.raises(ValueError, match=rf"{name}=-1 must be (at least|greater than) \d"):
        with_value(name, -1)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_whole_and_fit_the_compiled_code(name):
    with pytest.raises(TypeError, match=rf"{name}=7\.5 must be an integer"):
        Recipe(**{name: 7.5})
    with pytest.raises(ValueError, match=rf"{name}={10**12} must be at most"):
        Recipe(**{name: 10**12})


SHARES = ("decay_start", "momentum", "exaggeration_share", "set_op_mix_ratio", "density_share", "recall")


@pytest.mark.parametrize("name", SHARES)
def test_shares_are_at_most_one(name):
    assert getattr(Recipe(**{name: 1}), name) == 1.0
    with pytest.raises(ValueError, match=rf"{name}=1\.5 must be at most 1"):
        Recipe(**{name: 1.5})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64, float])
def test_numpy_numbers_become_python_numbers(name, kind):
    value = 1 if name in (*SHARES, "min_dist") else 3
    found = getattr(with_value(name, kind(value)), name)
    assert found == value
    assert type(found) is (int if name in INTEGERS else float)
    assert with_value(name, kind(value)) == with_value(name, value)


@pytest.mark.parametrize("name", BOOLEANS)
def test_booleans(name):
    for value in (True, False, np.True_, np.False_):
        assert getattr(Recipe(**{name: value}), name) is bool(value)
    for value in (0, 1, 1.0, "yes", None, np.ones(2, bool)):
        with pytest.raises(TypeError, match=re.escape(f"{name}={value!r} must be True or False")):
            Recipe(**{name: value})


IN_PLACE = {"update": "in_place", "momentum": 0, "repulsion_mass": "strength"}


@pytest.mark.parametrize(
    ("switches", "named", "remedy"),
    [
        ({"affinity": "gaussian"}, "distance", "distance='plain'"),
        (IN_PLACE | {"normalized": True}, "normalized", "update='batch'"),
        (IN_PLACE | {"optimizer": "gains"}, "optimizer", "optimizer='step'"),
        (IN_PLACE | {"momentum": 0.5}, "momentum=0.5", "momentum=0"),
        (IN_PLACE | {"repulsion_mass": "per_edge"}, "update", "repulsion_mass='strength'"),
        (
            {"repulsion": "exact", "repulsion_mass": "per_edge"},
            "repulsion='exact'",
            "repulsion_mass='degree'",
        ),
        ({"affinity": "multiscale", "distance": "plain"}, "multiscale", "give e.g. (30, 300)"),
        ({"affinity": "fixed_sigma", "distance": "plain"}, "fixed_sigma", "needs sigma"),
        ({"affinity": "fixed_sigma", "sigma": 1}, "fixed_sigma", "distance='plain'"),
        ({"dof": 0.5}, "dof=0.5", "normalized=True"),
        ({"partition": 0.5}, "partition=0.5", "normalized=True"),
        ({"partition": 0.5, "normalized": True, "loss": "frobenius"}, "partition=0.5", "loss='kl'"),
        (
            {"partition": 0.5, "normalized": True, "repulsion_mass": "per_edge"},
            "partition=0.5",
            "repulsion_mass='degree'",
        ),
        ({"a": 1.0}, "b=None", "give both"),
        ({"b": 1.0}, "a=None", "give both"),
        ({"min_dist": 2.0}, "min_dist=2.0", "at most spread=1.0"),
    ],
)
def test_contradictions_are_rejected_with_a_remedy(switches, named, remedy):
    with pytest.raises(ValueError) as caught:
        Recipe(**switches)
    assert named in str(caught.value)
    assert remedy in str(caught.value)


def test_but_changes_one_switch_and_rejects_unknown_ones():
    recipe = preset("gdr_umap")
    changed = recipe.but(sampling="scalar")
    assert changed.sampling is Sampling.SCALAR
    assert recipe.sampling is Sampling.EXHAUSTIVE
    assert changed.but(sampling=recipe.sampling) == recipe
    with pytest.raises(TypeError, match=r"'smapling' is not a switch of Recipe: did you mean 'sampling'"):
        recipe.but(smapling="scalar")
    with pytest.raises(TypeError, match=r"'nonsense' is not a switch of Recipe; the switches are .*sampling"):
        recipe.but(nonsense="scalar")
    with pytest.raises(ValueError, match="epochs=-1 must be at least 0"):
        recipe.but(epochs=-1)


def test_a_recipe_is_a_frozen_value():
    recipe = Recipe()
    with pytest.raises(FrozenInstanceError):
        recipe.epochs = 3
    assert recipe == Recipe(metric="euclidean", momentum=np.float64(0.5))
    assert len({recipe, Recipe(), Recipe(epochs=3), Recipe(epochs=3.0)}) == 2
    assert switches() == [field.name for field in fields(Recipe)]


@pytest.mark.parametrize("name", presets())
def test_presets_are_complete_and_valid(name):
    recipe = preset(name)
    a, b = recipe.kernel()
    assert a > 0
    assert b > 0
    assert Recipe(**{field.name: getattr(recipe, field.name) for field in fields(Recipe)}) == recipe
    assert recipe.n_epochs(100_000) > 0


def test_an_unknown_preset_is_rejected_with_the_known_ones():
    with pytest.raises(ValueError, match="preset='umpa' is not known: did you mean 'umap'"):
        preset("umpa")


def test_the_number_of_epochs_and_of_neighbours():
    assert Recipe(epochs=7).n_epochs(10) == 7
    assert Recipe().n_epochs(10_000) > Recipe().n_epochs(10_001)
    assert Recipe(n_neighbors=15).neighbors_searched(1000) == 14  # n_neighbors counts the point itself
    assert Recipe(n_neighbors=15).neighbors_searched(10) == 9
    assert preset("tsne").but(perplexity=20.5).neighbors_searched(1000) == 61
    assert Recipe().neighbors_searched(1) == 0
    assert (Recipe().neighbors_per_row(), preset("tsne").neighbors_per_row()) == (14, 90)


# min_dist, spread: a, b of umap-learn 0.5.12's find_ab_params, where that converges
UMAP_LEARN = {
    (0.0, 1.0): (1.932808, 0.790495),
    (0.1, 1.0): (1.576943, 0.8950609),
    (0.25, 1.0): (1.121436, 1.0575),
    (0.5, 1.0): (0.58303, 1.334167),
    (0.99, 1.0): (0.1193053, 1.91639),
    (0.1, 0.5): (5.069309, 1.003005),
    (0.5, 2.0): (0.2588787, 1.0575),
    (1.0, 10.0): (0.02556788, 0.8950607),
}


@pytest.mark.parametrize(("distances", "expected"), UMAP_LEARN.items())
def test_fitted_kernels_are_those_of_umap_learn(distances, expected):
    assert fit_kernel(*distances) == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("relative", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("spread", [1e-3, 0.1, 7.0, 1e3])
def test_fitted_kernels_scale_with_the_distances(relative, spread):
    """q(spread d) at spread is q(d) at spread 1: there is one shape, whatever the unit."""
    a, b = fit_kernel(relative * spread, spread)
    unit_a, unit_b = fit_kernel(relative, 1.0)
    assert b == pytest.approx(unit_b, rel=1e-6)
    assert a * spread ** (2 * b) == pytest.approx(unit_a, rel=1e-6)


def test_metrics_are_names_or_functions():
    assert Recipe(metric="l1").metric == "manhattan"
    assert Recipe(metric=np.dot).metric is np.dot
    with pytest.raises(ValueError, match=r"^metric='nonsense' is not one of 'euclidean', 'manhattan'"):
        Recipe(metric="nonsense")
    with pytest.raises(TypeError, match=r"^metric=3 must be a name or a function"):
        Recipe(metric=3)


def test_parameters_of_a_metric_become_a_value():
    first = Recipe(metric="minkowski", metric_kwds={"w": np.array([1.0, 2.0]), "p": 3})
    assert first == Recipe(metric="minkowski", metric_kwds={"p": 3, "w": [1.0, 2.0]})
    assert hash(first) == hash(first.but(epochs=first.epochs))
    with pytest.raises(TypeError, match=r"^metric_kwds=3 must be a dict"):
        Recipe(metric_kwds=3)


@pytest.mark.parametrize(
    ("changes", "points", "resolved"),
    [
        ({}, 500, "exact"),
        ({}, 501, "mesh"),
        ({"normalized": True}, 4_000, "exact"),
        ({"normalized": True}, 4_001, "mesh"),
        ({"n_components": 3}, 4_000, "exact"),
        ({"n_components": 3}, 4_001, "barnes_hut"),
        ({"n_components": 4}, 4_001, "sampled"),
        ({"repulsion": "exact"}, 10_000, "exact"),
    ],
)
def test_the_repulsion_that_auto_resolves_to(changes, points, resolved):
    assert Recipe(**{"repulsion": "auto", **changes}).repulsion_for(points) == resolved
