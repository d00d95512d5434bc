"""Schedules: lengths, bounds and what happens at the edges of phases."""

from __future__ import annotations

import numpy as np
import pytest

from actup.recipe._presets import preset, presets
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import settling_recipe

ARRAYS = ("learning_rate", "momentum", "exaggeration", "step_cap", "stiffness_floor", "dilation")


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("n", [1, 100, 50_000, 2_000_000])
def test_arrays_have_one_finite_value_per_epoch(name, n):
    recipe = preset(name)
    schedule = recipe.schedule(n)
    assert len(schedule) == recipe.n_epochs(n)
    for array in (getattr(schedule, name) for name in ARRAYS):
        assert array.shape == (len(schedule),)
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
    assert (schedule.learning_rate > 0).all()
    assert (schedule.exaggeration > 0).all()


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("epochs", [0, 1, 2, 7, 1000])
def test_any_number_of_epochs_can_be_asked_for(name, epochs):
    assert len(preset(name).but(epochs=epochs).schedule(5_000)) == epochs


def test_rate_stays_until_the_decay_begins_and_then_falls_to_zero():
    recipe = Recipe(epochs=10, learning_rate=2.0, decay_start=0.5, decay_power=1.0, step_cap=3.0)
    schedule = recipe.schedule(100)
    np.testing.assert_allclose(schedule.learning_rate, [2, 2, 2, 2, 2, 2, 1.6, 1.2, 0.8, 0.4], rtol=1e-6)
    np.testing.assert_allclose(schedule.step_cap, 1.5 * schedule.learning_rate, rtol=1e-6)
    constant = recipe.but(decay_start=1.0).schedule(100)
    assert (constant.learning_rate == 2).all()


def test_exaggeration_lasts_its_share_of_the_epochs():
    recipe = Recipe(epochs=8, exaggeration=4.0, exaggeration_share=0.25, late_exaggeration=1.5)
    assert recipe.schedule(10).exaggeration.tolist() == [4, 4, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]


def test_phases_follow_each_other():
    schedule = preset("tsne").schedule(20_000)
    begin, end = schedule.expansion
    assert (schedule.exaggeration[:30] == 12).all()
    assert (np.diff(schedule.exaggeration[30:60]) < 0).all()
    assert schedule.exaggeration[59] == pytest.approx(1.2)
    assert (begin, end) == (60, 145)
    assert (schedule.exaggeration[begin:] == 1).all()
    assert (schedule.momentum[begin:end] == np.float32(0.998)).all()


def test_more_points_expand_longer_and_few_settle_longer():
    recipe = preset("tsne").but(loss="frobenius")  # its expansion is not watched, so that it is not dilated
    lengths = [recipe.n_epochs(n) for n in (20_000, 60_000, 240_000, 1_000_000)]
    assert lengths[0] == lengths[1] < lengths[2] < lengths[3]
    assert (recipe.schedule(1_000_000).dilation == 0).all()
    assert recipe.n_epochs(4_000) == lengths[0] + 30  # a slower annealing
    assert recipe.n_epochs(1_000) == lengths[0] + 30 + 185


@pytest.mark.parametrize("name", ["tsne", "gdr_tsne"])
def test_more_points_of_a_watched_map_are_dilated(name):
    recipe = preset(name)
    whole = {}
    for n in (1_000, 60_000, 90_000, 200_000, 1_000_000):
        schedule = recipe.schedule(n)
        begin, end = schedule.expansion
        assert (np.delete(schedule.dilation, range(begin, end)) == 0).all()
        assert (schedule.dilation <= np.float32(0.03)).all()
        whole[n] = np.prod(1 + np.float64(schedule.dilation))
    wanted = [1, 1, 1.5**1.2, (10 / 3) ** 1.2, 12]
    np.testing.assert_allclose(list(whole.values()), wanted, rtol=1e-4)
    assert recipe.n_epochs(60_000) == recipe.n_epochs(20_000)
    assert recipe.n_epochs(1_000_000) <= 190


@pytest.mark.parametrize("name", ["umap", "gdr_umap"])
def test_more_points_of_an_unnormalised_map_expand_with_more_momentum(name):
    recipe = preset(name)
    schedules = {n: recipe.schedule(n) for n in (1_000, 60_000, 90_000, 135_000, 540_000, 10**8)}
    assert [len(schedule) for schedule in schedules.values()] == [87, 87, 87, 87, 119, 119]
    momenta = [schedule.momentum[slice(*schedule.expansion)] for schedule in schedules.values()]
    assert all((momentum == momentum[0]).all() for momentum in momenta)
    wanted = [0.95, 0.95, 1 - 0.05 / 1.5 ** (2 / 3), 1 - 0.05 / 2.25 ** (2 / 3), 1 - 0.05 / 3, 1 - 0.05 / 3]
    np.testing.assert_allclose([momentum[0] for momentum in momenta], wanted, rtol=1e-6)
    others = [np.delete(schedule.momentum, range(*schedule.expansion)) for schedule in schedules.values()]
    assert all(np.isin(momentum, np.float32([0.9, 0.8])).all() for momentum in others)


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("epochs", [None, 0, 1, 40, 1000])
def test_settling_is_the_end_of_the_descent(name, epochs):
    recipe = preset(name).but(epochs=epochs)
    whole, end = recipe.schedule(5_000), settling_recipe(recipe, 5_000).schedule(5_000)
    assert len(end) < max(len(whole), 1) or not len(end)
    for array in ARRAYS:
        tail = getattr(whole, array)[len(whole) - len(end) :]
        np.testing.assert_allclose(getattr(end, array), tail, rtol=1e-5)
